package question_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

// fixture holds the state that survives a restart of the hub.
type fixture struct {
	t         testing.TB
	store     task.Store
	itemStore inbox.Memory
	// unreliable drops settlements while lose is set.
	unreliable lossyStore
	trust      trust.Registry
	responder  question.PolicyResponder
	all        agents
	// drain is the time that the hub gives running tasks at shutdown; zero means none.
	drain time.Duration

	*hub
	in *inbox.Inbox
}

// newFixture returns a fixture with an agent main that asks n questions, and an answering agent
// clerk.
func newFixture(t testing.TB, n int) *fixture {
	return &fixture{
		t: t, store: new(memstore.Store), responder: question.PolicyResponder{Answerer: "clerk"},
		all: agents{"main": asker(n, numbered), "clerk": clerk(t)},
	}
}

// open starts a hub, or restarts it.
func (o *fixture) open() {
	o.t.Helper()
	o.unreliable.Store = &o.itemStore
	o.in = &inbox.Inbox{Store: &o.unreliable}
	responder := o.responder
	responder.Inbox, responder.Trust = o.in, &o.trust
	o.hub = startConfigured(o.t, engine.Config{Store: o.store, Questions: &responder, Limits: limits.Limits{DrainTimeout: cmp.Or(o.drain, -1)}}, o.all)
}

func (o *fixture) set(level trust.Level, skills ...string) {
	o.t.Helper()
	if _, err := o.trust.Set(o.t.Context(), "main", &trust.Change{Level: level, Approve: skills}); err != nil {
		o.t.Fatal(err)
	}
}

// begin sends a message to main without waiting for the task.
func (o *fixture) begin() a2a.TaskID {
	o.t.Helper()
	r := messageTo("main", "go")
	r.ReturnImmediately = true
	return o.send(r).Head.ID
}

// items returns the items of the inbox, oldest first.
func (o *fixture) items() []inbox.Item {
	o.t.Helper()
	all, err := o.in.List(o.t.Context(), new(inbox.Query))
	if err != nil {
		o.t.Fatal(err)
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// asked returns the only open item after all goroutines are idle. It must run in a bubble.
func (o *fixture) asked() inbox.Item {
	o.t.Helper()
	settle()
	all, err := o.in.List(o.t.Context(), &inbox.Query{State: inbox.Open})
	if err != nil || len(all) != 1 || all[0].Kind != inbox.Question {
		o.t.Fatalf("open items = %+v, %v; want one question", all, err)
	}
	return all[0]
}

// settle waits until all goroutines are idle. It must run in a bubble.
func settle() { pass(20 * time.Millisecond) }

// pass advances the fake time, and waits until all goroutines are idle. It must run in a
// bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (o *fixture) answer(id inbox.ID, text string) {
	o.t.Helper()
	if _, err := o.in.Answer(o.t.Context(), id, "me", text); err != nil {
		o.t.Fatalf("Answer: %v", err)
	}
}

// inFixture runs f in a bubble.
func inFixture(t *testing.T, questions int, f func(*fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newFixture(t, questions)
		f(o)
		if o.hub != nil {
			o.stop()
		}
	})
}

// An agent that is trusted to act gets its answers from the answering agent for the approved
// skills, and from a person otherwise. That is the default policy.
func TestTrust(t *testing.T) {
	for name, tt := range map[string]struct {
		level    trust.Level
		approved []string
		skill    string
		person   bool
	}{
		"nobody knows it":        {0, nil, "", true},
		"observe":                {trust.Observe, []string{"main"}, "", true},
		"learn":                  {trust.Learn, []string{"main"}, "", true},
		"propose":                {trust.Propose, []string{"main"}, "", true},
		"act without the skill":  {trust.Act, []string{"other"}, "", true},
		"act with another skill": {trust.Act, []string{"other"}, "main", true},
		"act with its one skill": {trust.Act, []string{"MAIN"}, "", false},
		"act with the skill":     {trust.Act, []string{"Main"}, "main", false},
	} {
		t.Run(name, func(t *testing.T) {
			inFixture(t, 2, func(o *fixture) {
				if tt.level != 0 {
					o.set(tt.level, tt.approved...)
				}
				o.open()
				r := messageTo("main", "go")
				r.ReturnImmediately, r.Message.Skill = true, tt.skill
				id := o.send(r).Head.ID
				settle()
				if tt.person {
					it := o.asked()
					if it.Draft != "a1" {
						o.t.Errorf("the draft is %q, want that of the answering agent", it.Draft)
					}
					o.answer(it.ID, "mine")
					o.answer(o.asked().ID, "too")
					settle()
				}
				want := "TASK_STATE_COMPLETED a1,a2"
				if tt.person {
					want = "TASK_STATE_COMPLETED mine,too"
				}
				if got := describe(o.now(id)); got != want {
					o.t.Errorf("the task is %q, want %q", got, want)
				}
				if n := len(o.items()); (n != 0) != tt.person {
					o.t.Errorf("%d items in the inbox", n)
				}
				if e := o.trust.Level(o.t.Context(), "main"); e.Contacts == 0 || e.LastSeen.IsZero() {
					o.t.Errorf("the entry is %+v, want contacts", e)
				}
			})
		})
	}
}

// Checks the item for the person and the status for the caller.
func TestAskWaitsForAPerson(t *testing.T) {
	inFixture(t, 2, func(o *fixture) {
		drafts := make(chan *a2a.Message, 10)
		script := clerk(o.t)
		o.all["clerk"] = agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			drafts <- ec.Message
			for ev, err := range script.Execute(ctx, ec) {
				yield(ev, err)
			}
		}), agent.Traits{AfterCrash: agent.Repeat})
		o.open()
		id := o.begin()
		it := o.asked()
		if it.Text != "main asks for alice:\n\nQuestion 1?" || it.Task != id || it.Agent != "main" || it.Caller != "alice" || it.Skill != "main" || it.Owner != "alice" ||
			time.Until(it.Expires) < 6*24*time.Hour {
			o.t.Errorf("the item is %+v", it)
		}
		m := <-drafts
		if text := agent.Text(m); !strings.Contains(text, "nothing is sent without them") || !strings.HasSuffix(text, "Question 1?") {
			o.t.Errorf("the answering agent receives %q", text)
		}
		if asked, _ := m.Metadata[question.QuestionKey].(map[string]any); asked["draft"] != true || asked["text"] != "Question 1?" {
			o.t.Errorf("its metadata is %v", m.Metadata)
		}
		a := o.now(id)
		if got := describe(a); a.Head.State != task.Working || !strings.Contains(got, "waits for the owner of this hub") || !strings.HasSuffix(got, "Question 1?") {
			o.t.Errorf("the caller sees %q", got)
		}
		if whole := string(a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{})); !strings.Contains(whole, `"parley.question":{"number":1,"kind":"input"`) {
			o.t.Errorf("the task is %s, want metadata about the question", whole)
		}
		if _, err := o.in.Approve(o.t.Context(), it.ID, "me", ""); err != nil {
			o.t.Fatalf("Approve: %v", err)
		}
		var late *inbox.Settled
		if _, err := o.in.Answer(o.t.Context(), it.ID, "you", "no"); !errors.As(err, &late) || late.Item.By != "me" || late.Item.Answer != "a1" {
			o.t.Errorf("a second answer = %v, want the first answer", err)
		}
		it = o.asked()
		if want := "main asks for alice:\n\nQuestion 2?\n\nBefore that:\n\nQ: Question 1?\nA: a1"; it.Text != want {
			o.t.Errorf("the item says %q, want %q", it.Text, want)
		}
		o.answer(it.ID, "mine")
		settle()
		if got := describe(o.now(id)); got != "TASK_STATE_COMPLETED a1,mine" {
			o.t.Errorf("the task is %q", got)
		}
	})
}

// A message of the caller counts as an answer, and a person whose answer comes second is
// notified.
func TestTheCallerMayAnswer(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.open()
		id := o.begin()
		it := o.asked()
		own := messageTo("", "mine")
		own.Message.TaskID = id
		if got := describe(o.send(own)); got != "TASK_STATE_COMPLETED mine" {
			o.t.Errorf("the task is %q, want the caller's answer", got)
		}
		settle()
		got, err := o.in.Answer(o.t.Context(), it.ID, "me", "late")
		if !errors.Is(err, inbox.ErrSettled) || got.State != inbox.Expired || !strings.Contains(err.Error(), "the caller has answered") {
			o.t.Errorf("Answer = %+v, %v; want that the caller has answered", got, err)
		}
		id = o.begin()
		it = o.asked()
		if _, err := o.Cancel(o.t.Context(), alice, &op.Cancel{ID: id}); err != nil {
			o.t.Fatal(err)
		}
		settle()
		if _, err := o.in.Answer(o.t.Context(), it.ID, "me", "late"); !errors.Is(err, inbox.ErrSettled) || !strings.Contains(err.Error(), "the task has ended") {
			o.t.Errorf("Answer = %v; want that the task has ended", err)
		}
	})
}

// An item left over from a crash accepts no answer.
func TestStaleItems(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.open()
		id := o.begin()
		it := o.asked()
		it.ID, it.Expires = "stale", time.Time{}
		if _, err := o.in.Put(o.t.Context(), &it); err != nil {
			o.t.Fatal(err)
		}
		own := messageTo("", "mine")
		own.Message.TaskID = id
		o.send(own)
		for range 2 {
			if _, err := o.in.Answer(o.t.Context(), "stale", "me", "late"); !errors.Is(err, inbox.ErrSettled) || !strings.Contains(err.Error(), "already answered") {
				o.t.Errorf("Answer = %v; want that it was already answered", err)
			}
		}
	})
}

// People and the caller answer concurrently.
func TestOneOfManyAnswersWins(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.open()
		for i := range 30 {
			id := o.begin()
			it := o.asked()
			var mu sync.Mutex
			var won []string
			var all sync.WaitGroup
			for k := range 4 {
				all.Go(func() {
					by := fmt.Sprint("person ", k)
					_, err := o.in.Answer(o.t.Context(), it.ID, by, by)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won = append(won, by)
					} else if !errors.Is(err, inbox.ErrSettled) {
						o.t.Errorf("Answer: %v", err)
					}
				})
			}
			all.Go(func() {
				own := messageTo("", "caller")
				own.Message.TaskID = id
				_, _ = o.Send(o.t.Context(), alice, own)
			})
			all.Wait()
			settle()
			// If the caller was first, no answer has won at the inbox. A caller's message that
			// comes second is one more message, which the agent reads or which is too late.
			want := "TASK_STATE_COMPLETED caller"
			if len(won) > 0 {
				want = "TASK_STATE_COMPLETED " + won[0]
			}
			if got := describe(o.now(id)); len(won) > 1 || !strings.HasPrefix(got, want) {
				o.t.Errorf("round %d: %q have won, and the task is %q", i, won, got)
			}
		}
	})
}

// A refusal or an expiry ends the task.
func TestUnansweredItems(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.responder.AskTime = time.Hour
		o.open()
		id := o.begin()
		if _, err := o.in.Refuse(o.t.Context(), o.asked().ID, "me", "none of its business"); err != nil {
			o.t.Fatal(err)
		}
		settle()
		if got, want := describe(o.now(id)), `FAILED agent "main" asks, and the owner of this hub does not answer (none of its business)`; !strings.HasSuffix(got, want) {
			o.t.Errorf("the task is %q, want %q", got, want)
		}
		id = o.begin()
		o.asked()
		pass(time.Hour)
		settle()
		if got, want := describe(o.now(id)), `FAILED agent "main" asks, and the owner of this hub has not answered in time: Question 1?`; !strings.HasSuffix(got, want) {
			o.t.Errorf("the task is %q, want %q", got, want)
		}
	})
}

// A question waits for a person even if its draft fails.
func TestDraftsMayFail(t *testing.T) {
	for name, x := range map[string]a2asrv.AgentExecutor{
		"it is not there": nil,
		"it asks back":    asker(1, numbered),
		"it takes hours": agent.Func(func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
			<-ctx.Done()
		}),
	} {
		t.Run(name, func(t *testing.T) {
			inFixture(t, 1, func(o *fixture) {
				if delete(o.all, "clerk"); x != nil {
					o.all["clerk"] = x
				}
				o.open()
				id := o.begin()
				pass(2 * time.Minute)
				it := o.asked()
				if it.Draft != "" {
					o.t.Errorf("the draft is %q", it.Draft)
				}
				if _, err := o.in.Approve(o.t.Context(), it.ID, "me", ""); !errors.Is(err, inbox.ErrInvalid) {
					o.t.Errorf("Approve without a draft: %v, want ErrInvalid", err)
				}
				o.answer(it.ID, "mine")
				settle()
				if got := describe(o.now(id)); got != "TASK_STATE_COMPLETED mine" {
					o.t.Errorf("the task is %q", got)
				}
			})
		})
	}
}

// Ask works without an answering agent.
func TestAskWithoutAnAnsweringAgent(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.responder = question.PolicyResponder{Default: question.Ask}
		o.open()
		id := o.begin()
		o.answer(o.asked().ID, "mine")
		settle()
		if got := describe(o.now(id)); got != "TASK_STATE_COMPLETED mine" {
			o.t.Errorf("the task is %q", got)
		}
	})
}

// The limits of loops apply to questions for a person, too.
func TestLimitsForPeople(t *testing.T) {
	for name, tt := range map[string]struct {
		ask  func(int) string
		most int
		want string
	}{
		"rounds":     {numbered, question.DefaultRounds, "more than 20 questions in a row, the last one: Question 21?"},
		"repetition": {func(i int) string { return []string{"Which  one?", "which ONE", " Which... one!"}[i%3] }, 3, "same answer 3 times in a row; put all that it needs into the request"},
	} {
		t.Run(name, func(t *testing.T) {
			inFixture(t, 1000, func(o *fixture) {
				o.all["main"] = asker(1000, tt.ask)
				o.open()
				id := o.begin()
				for i := range tt.most {
					it := o.asked()
					o.answer(it.ID, []string{"the red one", " The RED one. "}[i%2])
				}
				settle()
				if got := describe(o.now(id)); !strings.Contains(got, tt.want) {
					o.t.Errorf("the task is %q, want %q", got, tt.want)
				}
				if n := len(o.items()); n != tt.most {
					o.t.Errorf("%d items, want %d", n, tt.most)
				}
			})
		})
	}
}

// A question in the inbox remains with the person if the agent's trust level rises.
func TestTrustThatRises(t *testing.T) {
	inFixture(t, 2, func(o *fixture) {
		o.open()
		id := o.begin()
		first := o.asked()
		o.set(trust.Act, "main")
		o.stop()
		o.open()
		if it := o.asked(); it.ID != first.ID {
			o.t.Errorf("after a restart the item is %s, want %s", it.ID, first.ID)
		}
		o.answer(first.ID, "mine")
		settle()
		if got := describe(o.now(id)); got != "TASK_STATE_COMPLETED mine,a2" {
			o.t.Errorf("the task is %q, want the second answer from the agent", got)
		}
	})
}

// Kills a hub before each change of a dialogue with a person, and lets the restarted hub
// continue.
func TestAskSurvivesKills(t *testing.T) {
	t.Parallel()
	kills := 0
	for cut := int64(1); ; cut++ {
		killed := false
		synctest.Test(t, func(t *testing.T) {
			o := newFixture(t, 3)
			disk := new(memstore.Store)
			store := newKillableStore(disk, cut)
			o.store = store
			o.open()
			id := o.begin()
			people := func() {
				for range 10 {
					settle()
					for _, it := range o.items() {
						if it.State == inbox.Open {
							_, _ = o.in.Answer(t.Context(), it.ID, "me", "mine "+strings.Fields(it.Text)[5])
						}
					}
				}
			}
			people()
			select {
			case <-store.dead:
				killed = true
			default:
			}
			o.stop()
			if !killed {
				return
			}
			kills++
			o.store = disk
			o.open()
			people()
			if got := describe(o.now(id)); got != "TASK_STATE_COMPLETED mine 1?,mine 2?,mine 3?" {
				t.Errorf("after a kill before change %d the task is %q", cut+1, got)
			}
			if all := o.items(); len(all) != 3 {
				t.Errorf("after a kill before change %d there are %d items, want 3: %+v", cut+1, len(all), all)
			}
			o.stop()
		})
		if !killed || t.Failed() {
			break
		}
	}
	if kills < 15 {
		t.Errorf("%d kills, want one before each change", kills)
	}
}

// A restarted hub finds answers that were given while no hub was running.
func TestAnswersWhileNoHubRuns(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.open()
		id := o.begin()
		it := o.asked()
		o.stop()
		if _, err := (&inbox.Inbox{Store: &o.itemStore}).Answer(o.t.Context(), it.ID, "me", "mine"); err != nil {
			o.t.Fatal(err)
		}
		o.open()
		settle()
		if got := describe(o.now(id)); got != "TASK_STATE_COMPLETED mine" {
			o.t.Errorf("the task is %q", got)
		}
	})
}

// Questions that wait for a person do not delay a shutdown.
func TestWaitingForPeopleDoesNotDelayADrain(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		o.drain = time.Hour
		o.open()
		o.begin()
		o.asked()
		began := time.Now()
		o.stop()
		if took := time.Since(began); took != 0 {
			o.t.Errorf("the drain took %v", took)
		}
	})
}

// An agent that continues gets its task with its own question, not with the hub's status for
// the caller.
func TestContinuingAgentsSeeTheirQuestion(t *testing.T) {
	inFixture(t, 1, func(o *fixture) {
		seen := make(chan string, 10)
		inner := asker(1, numbered)
		o.all["main"] = agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			c := agent.CallFrom(ctx)
			seen <- fmt.Sprint(c.Attempt, " ", cmp.Or(string(c.Task), "nothing"))
			for ev, err := range inner.Execute(ctx, ec) {
				yield(ev, err)
			}
		}), agent.Traits{AfterCrash: agent.Resume})
		o.open()
		o.begin()
		o.answer(o.asked().ID, "mine")
		settle()
		if got := <-seen; got != "1 nothing" {
			o.t.Errorf("at first the agent sees %s", got)
		}
		if got := <-seen; !strings.HasPrefix(got, `1 {"id":`) || !strings.Contains(got, `"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{`) ||
			!strings.Contains(got, `"parts":[{"text":"Question 1?"}]`) {
			o.t.Errorf("with the answer the agent sees %s", got)
		}
	})
}

// lossyStore is a store that drops settlements, like a hub killed before it could store them.
type lossyStore struct {
	inbox.Store
	lose bool
}

var errKilled = errors.New("killed")

// SettleItem implements inbox.Store.
func (f *lossyStore) SettleItem(ctx context.Context, id inbox.ID, s *inbox.Settlement) (inbox.Item, error) {
	if f.lose {
		return inbox.Item{}, errKilled
	}
	return f.Store.SettleItem(ctx, id, s)
}

// The agent has got an answer, and the hub was killed before the inbox stored it. A repeated
// equal answer is accepted. A different answer gets the first one in the error. Without a
// further answer, Reconcile settles the item.
func TestAnswersThatWereNotStored(t *testing.T) {
	for name, again := range map[string]string{"the same": "blue", "another": "red", "nothing": "", "the caller": "caller"} {
		t.Run(name, func(t *testing.T) {
			inFixture(t, 1, func(o *fixture) {
				o.responder.Default = question.Ask
				o.open()
				id := o.begin()
				it := o.asked()
				o.unreliable.lose = true
				if again == "caller" {
					r := messageTo("main", "green")
					r.Message.TaskID = id
					o.send(r)
				} else if _, err := o.in.Answer(t.Context(), it.ID, "me", "blue"); !errors.Is(err, errKilled) {
					t.Fatalf("Answer = %v", err)
				}
				settle()
				o.unreliable.lose = false
				o.stop()
				o.open()
				want := inbox.Item{State: inbox.Answered, Answer: "blue"}
				var err error
				switch again {
				case "blue":
					want.By = "me"
					_, err = o.in.Answer(t.Context(), it.ID, "me", again)
				case "red":
					if _, err = o.in.Answer(t.Context(), it.ID, "me", again); errors.Is(err, inbox.ErrSettled) {
						err = nil
					} else {
						t.Errorf("Answer = %v, want ErrSettled", err)
					}
				case "caller":
					want = inbox.Item{State: inbox.Expired, Answer: "it was already answered, or its task has ended"}
					fallthrough
				default:
					err = question.Reconcile(t.Context(), o.in, o.hub.Engine)
				}
				got, getErr := o.in.Get(t.Context(), it.ID)
				if err != nil || getErr != nil || got.State != want.State || got.Answer != want.Answer || got.By != want.By {
					t.Errorf("the inbox has %+v, %v, %v; want %s %q by %q", got, err, getErr, want.State, want.Answer, want.By)
				}
			})
		})
	}
}
