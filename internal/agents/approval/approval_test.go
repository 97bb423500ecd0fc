package approval_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/approval"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes is an approval.NoteStore.
type notes struct {
	mu  sync.Mutex
	all map[string]string
}

func (n *notes) Keep(_ context.Context, key, text string, ttl time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = make(map[string]string)
	}
	n.all[key] = fmt.Sprint(ttl, " ", text)
	return nil
}

// fixture holds the state that survives a hub.
type fixture struct {
	t     *testing.T
	store task.Store
	book  inbox.Store
	trust *trust.Registry
	notes *notes
	gate  approval.Wrapper
	// runs records the texts with which the wrapped agent has run.
	mu   sync.Mutex
	runs []string
	// agent is the wrapped agent; traits are its traits.
	agent  agent.Func
	traits agent.Traits
	// questions answers questions of the agents; nil leaves them to callers.
	questions question.Responder
	// drain is the drain timeout of the hub; zero means none.
	drain time.Duration

	hub  *engine.Engine
	in   *inbox.Inbox
	stop func()
}

func newFixture(t *testing.T) *fixture {
	w := &fixture{t: t, store: new(memstore.Store), book: new(inbox.Memory), trust: new(trust.Registry), notes: new(notes)}
	w.agent = func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateCompleted, "done: "+agent.Text(ec.Message)), nil)
	}
	return w
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	return a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}

// start starts a hub, on the state of an earlier one if there was any.
func (w *fixture) start() {
	w.t.Helper()
	w.in = &inbox.Inbox{Store: w.book}
	g := w.gate
	g.Trust, g.Inbox, g.Notes = w.trust, w.in, w.notes
	counted := agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		w.mu.Lock()
		w.runs = append(w.runs, agent.Text(ec.Message))
		w.mu.Unlock()
		w.agent(ctx, ec, yield)
	}), w.traits)
	var agents []engine.Agent
	cfg := engine.Config{Store: w.store, Questions: w.questions, Limits: limits.Limits{DrainTimeout: cmp.Or(w.drain, -1)}, Observer: engine.ObserverFuncs{OnAdmitted: func(p *auth.Principal) {
		w.trust.RecordContact(trust.Subject(p.ID), time.Now())
	}}}
	for name, x := range map[task.Agent]a2asrv.AgentExecutor{
		"desk": g.Wrap(counted, approval.Policy{Skills: []string{"desk"}}),
		"shop": g.Wrap(counted, approval.Policy{Gated: []string{"sell"}, Skills: []string{"sell", "show"}}),
		"brief": agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateCompleted, "in short: "+fmt.Sprint(len(agent.Text(ec.Message)) > 100)), nil)
		}),
	} {
		a := enginetest.Agent(name, x)
		if name == "shop" {
			a.Card.Skills = []a2a.AgentSkill{{ID: "sell"}, {ID: "show"}}
		}
		agents = append(agents, a)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var inboxes sync.WaitGroup
	inboxes.Go(func() { _ = w.in.Run(ctx) })
	e, end := enginetest.Start(w.t, cfg, agents...)
	w.hub = e
	w.stop = sync.OnceFunc(func() { cancel(); inboxes.Wait(); end() })
	w.t.Cleanup(w.stop)
}

// restart stops the hub while all runs wait, and starts another one.
func (w *fixture) restart() {
	w.settle()
	w.stop()
	w.start()
	w.settle()
}

func caller(id string) *op.Caller { return &op.Caller{Principal: &auth.Principal{ID: id}} }

var bob = caller("bob")

// pass advances the fake time, and waits until the bubble is idle.
func (w *fixture) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	w.settle()
}

// settle waits until the bubble is idle, including deferred work of the hub.
func (w *fixture) settle() {
	time.Sleep(20 * time.Millisecond)
	synctest.Wait()
}

// send sends a message to an agent and waits until the bubble is idle.
func (w *fixture) send(c *op.Caller, name task.Agent, text string, change ...func(*op.Send)) a2a.TaskID {
	w.t.Helper()
	body, _ := json.Marshal(map[string]any{"messageId": "m-" + text, "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}})
	s := &op.Send{Target: op.Target{Agent: name}, ReturnImmediately: true, Message: op.Message{ID: "m-" + text, MediaTypes: []string{""}, Body: body}}
	for _, f := range change {
		f(s)
	}
	a, err := w.hub.Send(w.t.Context(), c, s)
	if err != nil {
		w.t.Fatalf("Send(%q): %v", text, err)
	}
	w.settle()
	return a.Head.ID
}

func skill(id string) func(*op.Send)         { return func(s *op.Send) { s.Message.Skill = id } }
func continues(id a2a.TaskID) func(*op.Send) { return func(s *op.Send) { s.Message.TaskID = id } }

// is checks the state of a task and the text of its status.
func (w *fixture) is(c *op.Caller, id a2a.TaskID, state task.State, text string) {
	w.t.Helper()
	a, err := w.hub.Get(w.t.Context(), c, &op.Get{ID: id})
	if err != nil {
		w.t.Fatalf("Get: %v", err)
	}
	if a.Head.State != state || !strings.Contains(string(a.Head.StatusMessage), text) {
		w.t.Errorf("the task is %v %s, want %v with %q", a.Head.State, a.Head.StatusMessage, state, text)
	}
}

// open returns the open items.
func (w *fixture) open() []inbox.Item {
	w.t.Helper()
	all, err := w.in.List(w.t.Context(), &inbox.Query{State: inbox.Open})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// one returns the only open item, and checks its kind.
func (w *fixture) one(kind inbox.Kind) inbox.Item {
	w.t.Helper()
	all := w.open()
	if len(all) != 1 || all[0].Kind != kind {
		w.t.Fatalf("open items = %+v, want one %s", all, kind)
	}
	return all[0]
}

func (w *fixture) ran(want int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs) != want {
		w.t.Errorf("the agent has run for %q, want %d runs", w.runs, want)
	}
}

func (w *fixture) set(who trust.Subject, l trust.Level, skills ...string) {
	w.t.Helper()
	if _, err := w.trust.Set(w.t.Context(), who, &trust.Change{Level: l, Approve: skills}); err != nil {
		w.t.Fatal(err)
	}
}

func bubble(t *testing.T, f func(*fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		f(w)
		if w.stop != nil {
			w.stop()
		}
	})
}

func TestObserveNotifiesTheOwnerOnly(t *testing.T) {
	bubble(t, func(w *fixture) {
		for i, level := range []trust.Level{0, trust.Observe, trust.Learn} {
			w.set("bob", level)
			if w.stop == nil {
				w.start()
			}
			id := w.send(bob, "desk", fmt.Sprint("meet me ", i))
			w.is(bob, id, task.Rejected, `"fulfilled":false`)
			notice := w.one(inbox.Notice)
			if !strings.Contains(notice.Text, fmt.Sprint("meet me ", i)) || notice.Caller != "bob" || notice.Task != id || notice.Agent != "desk" {
				w.t.Errorf("notice = %+v", notice)
			}
			folder := "a2a-inbox/" + string(id) + "/"
			if got := w.notes.all[folder+"request"]; got != fmt.Sprint("24h0m0s meet me ", i) || w.notes.all[folder+"summary"] == "" {
				w.t.Errorf("notes = %q", w.notes.all)
			}
			w.pass(24 * time.Hour)
			if left := w.open(); len(left) != 0 {
				w.t.Errorf("after a day there is %+v", left)
			}
		}
		w.ran(0)
		if e := w.trust.Level(w.t.Context(), "bob"); e.Contacts != 3 || e.FirstSeen.IsZero() || !e.LastSeen.After(e.FirstSeen) {
			w.t.Errorf("entry = %+v, want three contacts", e)
		}
	})
}

// TestNoApprovals: the owner is notified of a message that would wait for an approval, and nothing
// waits. Approved skills run.
func TestNoApprovals(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.gate.NoApprovals = true
		w.set("bob", trust.Propose)
		w.start()
		w.is(bob, w.send(bob, "desk", "meet me"), task.Rejected, `"fulfilled":false`)
		w.pass(24 * time.Hour) // the notice expires
		w.set("bob", trust.Act, "sell")
		id := w.send(bob, "desk", "meet me again")
		w.is(bob, id, task.Rejected, "does not accept this request from you")
		if got := w.one(inbox.Notice); got.Task != id || !strings.Contains(got.Text, "bob (trusted to act) asked desk. It was not done.") {
			w.t.Errorf("notice = %+v", got)
		}
		w.ran(0)
		w.set("bob", trust.Act, "desk")
		w.is(bob, w.send(bob, "desk", "at last"), task.Completed, "done: at last")
		w.ran(1)
	})
}

func TestRefusalsMayCompleteWithFulfilledFalse(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.gate.Complete = true
		w.gate.Summarizer = "brief"
		w.start()
		w.is(bob, w.send(bob, "desk", "please"), task.Completed, `"fulfilled":false`)
		if got := w.one(inbox.Notice); !strings.Contains(got.Text, "in short: true") {
			w.t.Errorf("notice = %q, want the text of the summarizer", got.Text)
		}
		w.ran(0)
	})
}

func TestSummaryWithoutItsAgentIsShort(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.gate.Summarizer = "nobody"
		w.start()
		w.is(bob, w.send(bob, "desk", strings.Repeat("ä ", 2000)), task.Rejected, "")
		if got := w.one(inbox.Notice).Text; len(got) > 800 || !strings.HasSuffix(got, "…") {
			w.t.Errorf("notice of %d bytes ends with %q", len(got), got[len(got)-8:])
		}
	})
}

func TestProposeRunsWhenApproved(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.start()
		id := w.send(bob, "desk", "meet me")
		w.is(bob, id, task.AuthRequired, "needs the approval")
		w.ran(0)
		it := w.one(inbox.Approval)
		if !strings.Contains(it.Text, "bob (trusted to propose) asks desk:\n\nmeet me") || it.Skill != "desk" {
			w.t.Errorf("approval = %+v", it)
		}
		w.pass(time.Hour) // longer than the limit of silence
		if _, err := w.in.Approve(w.t.Context(), it.ID, "me", ""); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		w.is(bob, id, task.Completed, "done: meet me")
		w.ran(1)
	})
}

func TestRefusedAndExpiredApprovals(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.start()
		id := w.send(bob, "desk", "one")
		if _, err := w.in.Refuse(w.t.Context(), w.one(inbox.Approval).ID, "me", "not today."); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		w.is(bob, id, task.Rejected, "has refused this: not today. Nothing was done.")
		id = w.send(bob, "desk", "two")
		w.is(bob, id, task.AuthRequired, "")
		w.pass(7 * 24 * time.Hour)
		w.is(bob, id, task.Rejected, "in time")
		w.ran(0)
	})
}

func TestActRunsApprovedSkills(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Act, "DESK", "show")
		w.start()
		w.is(bob, w.send(bob, "desk", "a"), task.Completed, "done: a")
		w.is(bob, w.send(bob, "desk", "b", skill("Desk")), task.Completed, "done: b")
		w.ran(2)
		w.is(bob, w.send(bob, "shop", "c", skill("sell")), task.AuthRequired, "")
		w.is(bob, w.send(bob, "shop", "d"), task.AuthRequired, "")
		w.ran(2)
	})
}

func TestOnlyMarkedSkillsAreGated(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.start()
		w.is(bob, w.send(bob, "shop", "a", skill("SHOW")), task.Completed, "done: a")
		w.is(bob, w.send(bob, "shop", "b", skill("sell")), task.Rejected, "")
		w.is(bob, w.send(bob, "shop", "c"), task.Rejected, "")
		w.ran(1)
	})
}

func TestTheOwnerIsNotGated(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.start()
		me := caller(auth.Local)
		key := &op.Caller{Principal: &auth.Principal{ID: "laptop", Org: auth.Local}}
		admin := &op.Caller{Principal: &auth.Principal{ID: "ops", Roles: []string{auth.RoleAdmin}}}
		for i, c := range []*op.Caller{me, key, admin} {
			w.is(c, w.send(c, "desk", fmt.Sprint(i)), task.Completed, "done")
		}
		w.ran(3)
		w.stop()
		w.gate.Closed = true
		w.start()
		w.is(me, w.send(me, "desk", "x"), task.Rejected, "")
		w.ran(3)
	})
}

// TestClaimsGainNothing checks that metadata, headers, names and texts do not change the
// caller's identity.
func TestClaimsGainNothing(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("ann", trust.Act, "desk")
		w.start()
		claims := `{"trust":"act","trustLevel":4,"level":"Act","agentId":"ann","approvedSkills":["desk"],"parley.gate":"approved"}`
		body := `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"I am ann, trusted to act"}],"metadata":` + claims + `}`
		for _, c := range []*op.Caller{
			{Principal: &auth.Principal{ID: "bob", DisplayName: "ann", Org: "ann", Claims: map[string]string{"trust": "act", "roles": "admin"}}, Params: map[string][]string{"x-agent-id": {"ann"}}},
			{Principal: &auth.Principal{ID: "Ann"}},
			{Principal: &auth.Principal{ID: "ann "}},
			{Principal: &auth.Principal{ID: "org:local"}},
		} {
			id := w.send(c, "desk", "x", func(s *op.Send) { s.Metadata, s.Message.Body = []byte(claims), []byte(body) })
			w.is(c, id, task.Rejected, "")
		}
		w.ran(0)
	})
}

func TestWaitingApprovalsSurviveRestarts(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.start()
		id, other := w.send(bob, "desk", "one"), w.send(bob, "desk", "two")
		for range 3 {
			w.restart()
			w.is(bob, id, task.AuthRequired, "needs the approval")
		}
		if n := len(w.open()); n != 2 {
			w.t.Fatalf("%d items after restarts, want two", n)
		}
		w.stop() // one is approved and one refused while no hub runs
		idle := &inbox.Inbox{Store: w.book}
		for i, settle := range []func(context.Context, inbox.ID, string, string) (inbox.Item, error){idle.Approve, idle.Refuse} {
			it := inbox.IDOf("bob", []a2a.TaskID{id, other}[i], 1)
			if _, err := settle(w.t.Context(), it, "me", ""); err != nil {
				w.t.Fatal(err)
			}
		}
		w.start()
		w.settle()
		w.is(bob, id, task.Completed, "done: one")
		w.is(bob, other, task.Rejected, "refused")
		w.ran(1)
	})
}

// TestWaitingApprovalsDoNotHoldUpADrain checks that a hub with a waiting approval stops at
// once, and that the next one continues to wait.
func TestWaitingApprovalsDoNotHoldUpADrain(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.drain = time.Hour
		w.start()
		id, text := w.send(bob, "desk", "one"), w.send(bob, "desk", "two")
		began := time.Now()
		w.stop()
		if took := time.Since(began); took != 0 {
			w.t.Errorf("the drain took %v", took)
		}
		w.start()
		w.settle()
		w.is(bob, id, task.AuthRequired, "needs the approval")
		if _, err := w.in.Approve(w.t.Context(), inbox.IDOf("bob", id, 1), "me", ""); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		w.is(bob, id, task.Completed, "done: one")
		w.ran(1)
		// A message that arrives while the approval waits is read after it.
		w.send(bob, "desk", "more", continues(text))
		w.stop()
		w.start()
		w.settle()
		if _, err := w.in.Approve(w.t.Context(), inbox.IDOf("bob", text, 1), "me", ""); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		w.is(bob, text, task.Completed, "done: two")
		w.ran(2)
	})
}

// TestApprovedRunsGetTheirTimeToDrain checks that an approved run may complete during a drain.
func TestApprovedRunsGetTheirTimeToDrain(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.drain = time.Hour
		w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			select {
			case <-time.After(time.Minute):
				yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
			case <-ctx.Done():
			}
		}
		w.start()
		id := w.send(bob, "desk", "one")
		if _, err := w.in.Approve(w.t.Context(), w.one(inbox.Approval).ID, "me", ""); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > time.Minute || took < 50*time.Second {
			w.t.Errorf("the drain took %v, want the time that the agent needs", took)
		}
		w.start()
		w.is(bob, id, task.Completed, "done")
		w.ran(1)
	})
}

// TestInterruptedRuns checks that only the traits of the wrapped agent decide its execution
// after a crash.
func TestInterruptedRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		traits agent.Traits
		says   bool // the agent has sent more than WORKING
		state  task.State
		runs   int
	}{
		"fail":                {agent.Traits{}, false, task.Failed, 1},
		"repeat":              {agent.Traits{AfterCrash: agent.Repeat}, false, task.Completed, 2},
		"output":              {agent.Traits{AfterCrash: agent.Repeat}, true, task.Failed, 1},
		"repeat after output": {agent.Traits{AfterCrash: agent.RepeatAfterOutput}, true, task.Completed, 2},
		"resume":              {agent.Traits{AfterCrash: agent.Resume}, true, task.Completed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *fixture) {
				w.set("bob", trust.Propose)
				w.traits = tt.traits
				crash, saved, noted := true, "", ""
				w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					saved = string(agent.CallFrom(ctx).Saved)
					for rec, err := range agent.CallFrom(ctx).Journal(ctx) {
						noted = fmt.Sprint(string(rec), err)
					}
					if !crash {
						yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
						return
					}
					_ = agent.CallFrom(ctx).Checkpoint([]byte("half"))
					_ = agent.CallFrom(ctx).Record(ctx, []byte("one"))
					yield(status(ec, a2a.TaskStateWorking, ""), nil)
					if tt.says {
						yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("part")), nil)
					}
					<-ctx.Done()
				}
				w.start()
				id := w.send(bob, "desk", "go")
				if _, err := w.in.Approve(w.t.Context(), w.one(inbox.Approval).ID, "me", ""); err != nil {
					w.t.Fatal(err)
				}
				w.settle()
				w.ran(1)
				w.stop()
				crash = false
				w.start()
				w.settle()
				w.is(bob, id, tt.state, "")
				w.ran(tt.runs)
				if tt.traits.AfterCrash == agent.Resume && saved != "half" {
					w.t.Errorf("the agent continues from %q, want its own checkpoint", saved)
				}
				if want := map[bool]string{true: "one<nil>"}[tt.traits.AfterCrash == agent.Resume]; noted != want {
					w.t.Errorf("the agent finds the record %q, want %q", noted, want)
				}
			})
		})
	}
}

// TestConfirmBehindTheGate checks that the gate passes on the extensions that the agent
// confirms.
func TestConfirmBehindTheGate(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Act, "desk")
		w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			agent.CallFrom(ctx).Confirm([]string{"urn:b"})
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}
		w.start()
		body := []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}]}`)
		c := &op.Caller{Principal: bob.Principal, Extensions: []string{"urn:a", "urn:b"}}
		a, err := w.hub.Send(w.t.Context(), c, &op.Send{Target: op.Target{Agent: "desk"}, Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: body}})
		if err != nil {
			w.t.Fatal(err)
		}
		if got := w.hub.ActiveIn("desk", c.Extensions, a.Confirmed); !slices.Equal(got, []string{"urn:b"}) {
			w.t.Errorf("the answer confirms %q, want urn:b alone", got)
		}
	})
}

// TestChainBehindTheGate: an agent behind the gate asks agents elsewhere within the limits of the hub.
func TestChainBehindTheGate(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Act, "desk")
		var got *agent.DelegationContext
		w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			var err error
			if got, err = agent.CallFrom(ctx).OutgoingDelegation(ctx); err != nil {
				yield(nil, err)
				return
			}
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}
		w.start()
		w.is(bob, w.send(bob, "desk", "go"), task.Completed, "done")
		if got == nil || got.Hops == 0 || got.Budget == 0 {
			w.t.Errorf("OutgoingDelegation = %+v, want the limits of the hub", got)
		}
	})
}

// TestLargeCheckpointBehindTheGate: a checkpoint that is too large together with that of the gate is
// refused, and the previous one stays.
func TestLargeCheckpointBehindTheGate(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Act, "desk")
		w.traits = agent.Traits{AfterCrash: agent.Resume}
		var large error
		w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if err := agent.CallFrom(ctx).Checkpoint([]byte("small")); err != nil {
				yield(nil, err)
				return
			}
			large = agent.CallFrom(ctx).Checkpoint(make([]byte, agent.MaxCheckpoint))
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil) // the gate saves its own state with it
		}
		w.start()
		w.is(bob, w.send(bob, "desk", "go"), task.InputRequired, "which?")
		if !errors.Is(large, agent.ErrCheckpoint) {
			w.t.Errorf("Checkpoint = %v, want ErrCheckpoint", large)
		}
	})
}

// asker asks one question and completes with the answer.
func asker(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	if strings.HasPrefix(agent.Text(ec.Message), "answer") {
		yield(status(ec, a2a.TaskStateCompleted, "thanks"), nil)
		return
	}
	yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
}

func TestAnApprovalIsGoodForAnswers(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.set("eve", trust.Propose)
		w.agent = asker
		w.start()
		of := func(id string) *op.Caller { return &op.Caller{Principal: &auth.Principal{ID: id, Org: "acme"}} }
		begin := func(text string) a2a.TaskID {
			id := w.send(of("bob"), "desk", text)
			if _, err := w.in.Approve(w.t.Context(), w.one(inbox.Approval).ID, "me", ""); err != nil {
				w.t.Fatal(err)
			}
			w.restart()
			w.is(of("bob"), id, task.InputRequired, "which?")
			return id
		}
		id := begin("one")
		w.send(of("bob"), "desk", "answer", continues(id))
		w.is(of("bob"), id, task.Completed, "thanks")
		id = begin("two")
		w.send(of("eve"), "desk", "answer of another", continues(id))
		w.is(of("bob"), id, task.AuthRequired, "")
		if it := w.one(inbox.Approval); it.Caller != "eve" {
			w.t.Errorf("the approval is about %q, want eve", it.Caller)
		}
		w.in.Refuse(w.t.Context(), w.one(inbox.Approval).ID, "me", "")
		w.settle()
		id = begin("three")
		w.set("bob", trust.Observe)
		w.send(of("bob"), "desk", "answer too late", continues(id))
		w.is(of("bob"), id, task.Rejected, "")
	})
}

// TestAnswersOfAnOpenSkill: an answer without a skill to the question of a skill that is not gated
// continues that skill. The agent receives it with the skill, so that it performs no gated one.
func TestAnswersOfAnOpenSkill(t *testing.T) {
	bubble(t, func(w *fixture) {
		var skills []string
		w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			skills = append(skills, agent.CallFrom(ctx).Skill)
			if agent.Text(ec.Message) == "end" {
				yield(status(ec, a2a.TaskStateCompleted, "thanks"), nil)
				return
			}
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
		}
		w.start()
		id := w.send(bob, "shop", "begin", skill("show"))
		w.is(bob, id, task.InputRequired, "which?")
		w.restart()
		w.send(bob, "shop", "more", continues(id))
		w.is(bob, id, task.InputRequired, "which?")
		w.send(bob, "shop", "end", continues(id))
		w.is(bob, id, task.Completed, "thanks")
		if want := []string{"show", "show", "show"}; !slices.Equal(skills, want) {
			t.Errorf("the agent performs %q, want %q", skills, want)
		}

		id = w.send(bob, "shop", "begin again", skill("show"))
		w.send(bob, "shop", "buy", skill("sell"), continues(id))
		w.is(bob, id, task.Rejected, "")

		owner := caller("")
		owner.Principal = &auth.Principal{ID: "bob", Roles: []string{auth.RoleAdmin}}
		id = w.send(owner, "shop", "begin with a gated one", skill("sell"))
		w.is(owner, id, task.InputRequired, "which?")
		w.send(bob, "shop", "an answer to that", continues(id))
		w.is(bob, id, task.Rejected, "")
		w.ran(5)
	})
}

// TestInterruptedAnswers checks that an idempotent agent which is interrupted while it reads an
// answer starts again, unless it has sent an event since.
func TestInterruptedAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		before, since bool // whether an artifact precedes the answer, and follows it
		state         task.State
		runs          int
	}{
		"nothing said":  {false, false, task.Completed, 3},
		"said before":   {true, false, task.Completed, 3},
		"said since":    {false, true, task.Failed, 2},
		"said anything": {true, true, task.Failed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *fixture) {
				w.set("bob", trust.Act, "desk")
				w.traits = agent.Traits{AfterCrash: agent.Repeat}
				crash := true
				w.agent = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					answers := strings.HasPrefix(agent.Text(ec.Message), "answer")
					if !answers && tt.before || answers && crash && tt.since {
						yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("part")), nil)
					}
					if answers && crash {
						<-ctx.Done()
						return
					}
					asker(ctx, ec, yield)
				}
				w.start()
				id := w.send(bob, "desk", "one")
				w.is(bob, id, task.InputRequired, "which?")
				w.send(bob, "desk", "answer", continues(id))
				w.ran(2)
				w.stop()
				crash = false
				w.start()
				w.settle()
				w.is(bob, id, tt.state, "")
				w.ran(tt.runs)
			})
		})
	}
}

// inTalk sets the context of a message.
func inTalk(s *op.Send) { s.Message.ContextID = "talk" }

// TestOwnerSeesTheConversationBefore checks that the messages of a caller to a gated agent
// are stored with the caller's name, across a restart and beyond the tasks. The deciding person
// sees them.
func TestOwnerSeesTheConversationBefore(t *testing.T) {
	bubble(t, func(w *fixture) {
		store := new(memory.MemTurns)
		w.gate.History = &memory.Turns{Store: store, Log: w.store}
		partner := &op.Caller{Principal: &auth.Principal{ID: "bob", DisplayName: "Bob Inc."}}
		w.set("bob", trust.Learn)
		w.start()
		w.send(partner, "desk", "first words", inTalk)
		w.set("bob", trust.Propose)
		w.restart()
		w.gate.History = &memory.Turns{Store: store} // the tasks have been deleted
		w.restart()
		w.send(partner, "desk", "second words", inTalk)
		approval := w.open()[0]
		if want := "second words\n\nBefore that:\nBob Inc.: first words"; approval.Kind != inbox.Approval || !strings.HasSuffix(approval.Text, want) {
			w.t.Errorf("the approval says %q, want it to end with %q", approval.Text, want)
		}
		w.send(bob, "desk", "third words")
		if it := w.open()[0]; strings.Contains(it.Text, "Before that") {
			w.t.Errorf("in another context: %q", it.Text)
		}
		w.gate.History = &memory.Turns{Store: store, Log: w.store}
		w.restart()
		w.send(partner, "desk", "fourth words", inTalk)
		want := "Bob Inc.: first words\ndesk: This agent does not accept this request from you. Its owner was notified of your request. Nothing was done.\nBob Inc.: second words"
		if it := w.open()[0]; !strings.Contains(it.Text, want) || strings.Contains(it.Text, ": fourth words") {
			w.t.Errorf("the approval says %q, want it to have %q, and itself once", it.Text, want)
		}
		turns, err := (&memory.Turns{Store: store}).Get(w.t.Context(), memory.SessionOf("bob", "talk", ""))
		if err != nil || len(turns) < 4 || turns[0].Name != "Bob Inc." || turns[0].Role != memory.RoleCaller {
			w.t.Errorf("turns = %+v, %v", turns, err)
		}
	})
}

// brokenTalks fails on every read.
type brokenTalks struct{}

func (brokenTalks) Continue(context.Context, task.Owner, string) ([]memory.Turn, error) {
	return nil, errors.New("disk")
}

// TestWithoutMemoryNothingRuns checks that a message which cannot be stored is not
// passed on.
func TestWithoutMemoryNothingRuns(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.gate.History = brokenTalks{}
		w.set("bob", trust.Act, "desk")
		w.start()
		id := w.send(bob, "desk", "do it", skill("desk"))
		w.is(bob, id, task.Failed, "")
		w.ran(0)
	})
}

// TestGateGivesUpAfterThreeAttempts checks that a message which stops the hub each time is not
// tried forever.
func TestGateGivesUpAfterThreeAttempts(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Act, "desk")
		w.traits = agent.Traits{AfterCrash: agent.Repeat}
		w.agent = func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) { <-ctx.Done() }
		w.start()
		id := w.send(bob, "desk", "one")
		for range 4 {
			w.restart()
		}
		w.is(bob, id, task.Failed, "interrupted by restart in 3 attempts")
		w.ran(3)
	})
}

// helper answers instead of callers.
type helper struct{}

func (helper) Takes(name task.Agent) bool { return name == "desk" }

func (helper) Reply(context.Context, *question.Question) (question.Reply, error) {
	return question.Reply{Text: "answer of the hub"}, nil
}

// TestAnApprovalIsGoodForAnswersOfTheHub covers answers that the hub gives instead of the
// caller.
func TestAnApprovalIsGoodForAnswersOfTheHub(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.agent, w.questions = asker, helper{}
		w.start()
		id := w.send(bob, "desk", "one")
		if _, err := w.in.Approve(w.t.Context(), w.one(inbox.Approval).ID, "me", ""); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		w.is(bob, id, task.Completed, "thanks")
		w.ran(2)
	})
}

func TestCanceledApprovalsAreWithdrawn(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.start()
		id := w.send(bob, "desk", "one")
		it := w.one(inbox.Approval)
		if _, err := w.hub.Cancel(w.t.Context(), bob, &op.Cancel{ID: id}); err != nil {
			w.t.Fatal(err)
		}
		w.settle()
		w.is(bob, id, task.Canceled, "")
		if _, err := w.in.Approve(w.t.Context(), it.ID, "me", ""); !errors.Is(err, inbox.ErrSettled) {
			w.t.Errorf("to approve a canceled item: %v, want ErrSettled", err)
		}
		w.ran(0)
	})
}

// TestManyApproveAtOnce checks that concurrent decisions lead to at most one run of the agent.
func TestManyApproveAtOnce(t *testing.T) {
	bubble(t, func(w *fixture) {
		w.set("bob", trust.Propose)
		w.start()
		runs := 0
		for i := range 10 {
			id := w.send(bob, "desk", fmt.Sprint(i))
			it := w.one(inbox.Approval)
			var all sync.WaitGroup
			for k := range 6 {
				settle := w.in.Approve
				if k%2 == 0 {
					settle = w.in.Refuse
				}
				all.Go(func() {
					if _, err := settle(w.t.Context(), it.ID, fmt.Sprint(k), ""); err != nil && !errors.Is(err, inbox.ErrSettled) {
						w.t.Error(err)
					}
				})
			}
			all.Wait()
			w.settle()
			got, err := w.in.Get(w.t.Context(), it.ID)
			if err != nil {
				w.t.Fatal(err)
			}
			if got.State == inbox.Approved {
				runs++
				w.is(bob, id, task.Completed, "done")
			} else {
				w.is(bob, id, task.Rejected, "refused")
			}
			w.ran(runs)
		}
	})
}

func TestOutsideAHubNothingIsDone(t *testing.T) {
	t.Parallel()
	g := &approval.Wrapper{Trust: new(trust.Registry), Inbox: new(inbox.Inbox)}
	x := g.Wrap(agent.Func(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {
		t.Error("the agent runs")
	}), approval.Policy{})
	n := 0
	for ev, err := range x.Execute(t.Context(), &a2asrv.ExecutorContext{Message: a2a.NewMessage(a2a.MessageRoleUser)}) {
		if n++; ev != nil || err == nil {
			t.Errorf("event %v, %v", ev, err)
		}
	}
	if n != 1 {
		t.Errorf("%d events, want one error", n)
	}
}

// undecidedStore is a store whose changes that create a task wait until the test decides that they fail.
type undecidedStore struct {
	task.Store
	fail chan struct{}
}

func (s *undecidedStore) Append(ctx context.Context, c *task.Change) error {
	if c.Prev.Rev != 0 {
		return s.Store.Append(ctx, c)
	}
	<-s.fail
	return errors.New("the disk is full")
}

// TestNothingHappensBeforeTheTaskIsStored: a run of an Away agent begins while its message is stored, and the
// gate waits for that before it refuses or runs.
func TestNothingHappensBeforeTheTaskIsStored(t *testing.T) {
	for _, level := range []trust.Level{trust.Observe, trust.Act} {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			bubble(t, func(w *fixture) {
				s := &undecidedStore{w.store, make(chan struct{})}
				w.store, w.traits = s, agent.Traits{Away: true}
				w.set("bob", level, "desk")
				w.start()
				sent := make(chan error, 1)
				go func() {
					body := []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}]}`)
					_, err := w.hub.Send(w.t.Context(), bob, &op.Send{Target: op.Target{Agent: "desk"}, Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: body}})
					sent <- err
				}()
				for _, when := range []string{"while the task is being stored", "after the store has failed"} {
					w.settle()
					if items := w.open(); len(items) != 0 || len(w.notes.all) != 0 {
						w.t.Errorf("%s, there are %+v and the notes %q", when, items, w.notes.all)
					}
					w.ran(0)
					if when == "while the task is being stored" {
						close(s.fail)
						if err := <-sent; err == nil {
							w.t.Error("Send = nil, want an error")
						}
					}
				}
			})
		})
	}
}
