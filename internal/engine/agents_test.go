package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// skilled returns an agent whose card lists skills.
func skilled(name string, x a2asrv.AgentExecutor, skills ...string) engine.Agent {
	card := &a2a.AgentCard{Name: name}
	for _, id := range skills {
		card.Skills = append(card.Skills, a2a.AgentSkill{ID: id})
	}
	return engine.Agent{Name: task.Agent(name), Card: card, Executor: x}
}

func (b *bench) names() []string {
	var names []string
	for _, a := range b.Agents() {
		names = append(names, string(a.Name))
	}
	return names
}

// asked sends a message for a skill and returns the agent that answered.
func (b *bench) asked(id string) (string, error) {
	r := text("for " + id)
	r.Message.Skill = id
	a, err := b.Send(b.t.Context(), alice, r)
	if err != nil {
		return "", err
	}
	return statusText(b.t, a), nil
}

// Update with a new card changes the extended card, too.
func TestUpdateExtendsTheNewCard(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	a := skilled("one", named("one"), "stub")
	a.More = &a2a.AgentCard{Skills: []a2a.AgentSkill{{ID: "closed"}}}
	if err := b.Register(a); err != nil {
		t.Fatal(err)
	}
	fresh := skilled("one", named("one"), "sing")
	fresh.More = a.More
	if err := b.Update(fresh); err != nil {
		t.Fatal(err)
	}
	got, ok := b.Agent("one")
	if !ok || got.Extended == nil {
		t.Fatalf("Agent = %+v, %v; want one with an extended card", got, ok)
	}
	var ids []string
	for _, s := range got.Extended.Skills {
		ids = append(ids, s.ID)
	}
	if diff := cmp.Diff([]string{"sing", "closed"}, ids); diff != "" {
		t.Errorf("skills of the extended card (-want +got):\n%s", diff)
	}
}

func TestUpdateReplacesAnAgent(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	for _, name := range []string{"one", "two"} {
		if err := b.Register(skilled(name, named(name), "sing", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Update(skilled("one", named("new one"), "dance", "Sing")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"main", "one", "two"}, b.names()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	for id, want := range map[string]string{"dance": "new one", "sing": "new one", "two": "two"} {
		if got, err := b.asked(id); got != want || err != nil {
			t.Errorf("skill %q: %q answered, %v; want %q", id, got, err, want)
		}
	}
	if _, err := b.asked("one"); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("a skill that is gone: %v, want ErrInvalidParams", err)
	}
	if err := b.Update(skilled("main", named("new main"))); err != nil {
		t.Fatal(err)
	}
	if got := statusText(t, b.send(text("x"))); got != "new main" {
		t.Errorf("%q answered in place of the new default agent", got)
	}
	for what, err := range map[string]error{
		"update of an unknown agent":     b.Update(skilled("three", named("three"))),
		"unregister of an unknown agent": b.Unregister("three"),
	} {
		if !errors.Is(err, engine.ErrNoAgent) {
			t.Errorf("%s: %v, want ErrNoAgent", what, err)
		}
	}
	if err := b.Update(engine.Agent{Name: "one"}); err == nil || errors.Is(err, engine.ErrNoAgent) {
		t.Errorf("update without a card: %v", err)
	}
}

// relay returns an agent that asks a question, and states in its answer which agent received
// the reply.
func relay(name string) *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, name), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, name), nil)
	}}
}

// A task continues with the agent that has its name at that time. Without one it accepts no
// answer until one is registered again.
func TestFollowUpUsesTheCurrentAgent(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	if err := b.Register(skilled("one", relay("first"), "ask")); err != nil {
		t.Fatal(err)
	}
	r := text("begin")
	r.Agent = "one"
	id := b.send(r).Head.ID
	if err := b.Unregister("one"); err != nil {
		t.Fatal(err)
	}
	_, err := b.Send(t.Context(), alice, reply(id, "answer"))
	if !errors.Is(err, a2a.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("answer to an agent that is gone: %v", err)
	}
	if got := b.get(id).Head.State; got != task.InputRequired {
		t.Errorf("the task is %v, want input required still", got)
	}
	if err := b.Register(skilled("one", relay("second"), "ask")); err != nil {
		t.Fatal(err)
	}
	if got := statusText(t, b.send(reply(id, "again"))); got != "second" {
		t.Errorf("%q got the answer, want the new agent", got)
	}
}

// A run that has begun ends with its agent, even if another agent takes over the name. Messages
// that wait behind it go to the new agent, or fail without one.
func TestRunsOutliveTheirRegistration(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*bench) error
		want   string
		state  task.State
	}{
		{"updated", func(b *bench) error { return b.Update(skilled("one", relay("second"), "ask")) }, "second", task.Completed},
		{"unregistered", func(b *bench) error { return b.Unregister("one") }, "the agent of this task no longer exists", task.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			began, proceed := make(chan struct{}), make(chan struct{})
			slow := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if !yield(status(ec, a2a.TaskStateWorking, ""), nil) || agent.CallFrom(ctx).Flush(ctx) != nil {
					return
				}
				close(began)
				<-proceed
				yield(status(ec, a2a.TaskStateInputRequired, "first"), nil)
			}}
			b := start(t, engine.Config{}, named("main"))
			if err := b.Register(skilled("one", agent.With(slow, agent.Traits{Serial: true}), "ask")); err != nil {
				t.Fatal(err)
			}
			r := now(text("begin"))
			r.Agent = "one"
			id := b.send(r).Head.ID
			<-began
			b.send(now(reply(id, "waits")))
			if err := tt.change(b); err != nil {
				t.Fatal(err)
			}
			close(proceed)
			b.wait(id, tt.state)
			if got := statusText(t, b.get(id)); got != tt.want {
				t.Errorf("the task ended with %q, want %q", got, tt.want)
			}
			var states []task.State
			s, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: id, LastEventID: "1"})
			if err == nil {
				for _, ev := range follow(t, s) {
					if ev.Kind == task.Status {
						states = append(states, ev.State)
					}
				}
			}
			if len(states) < 2 || states[1] != task.InputRequired {
				t.Errorf("states %v, %v; want the first run to come to its end", states, err)
			}
		})
	}
}

// The agent that runs a task receives its cancel request, even if it was unregistered.
func TestCancelReachesAnUnregisteredAgent(t *testing.T) {
	t.Parallel()
	began, canceled := make(chan context.Context, 1), make(chan struct{}, 1)
	x := untilStopped(began)
	x.cancel = func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		canceled <- struct{}{}
		yield(status(ec, a2a.TaskStateCanceled, "as you wish"), nil)
	}
	b := start(t, engine.Config{}, named("main"))
	if err := b.Register(skilled("one", x, "wait")); err != nil {
		t.Fatal(err)
	}
	r := now(text("begin"))
	r.Agent = "one"
	id := b.send(r).Head.ID
	<-began
	if err := b.Unregister("one"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: id}); err != nil || got.Head.State != task.Canceled {
		t.Fatalf("Cancel = %+v, %v", got, err)
	}
	select {
	case <-canceled:
	default:
		t.Error("the agent was not asked")
	}
}

// chooser chooses as the test prescribes, and records the questions.
type chooser struct {
	mu    sync.Mutex
	takes func(n int) int
	asked []string
}

func (c *chooser) Choose(skill string, among []task.Agent) task.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.takes(len(c.asked))
	c.asked = append(c.asked, fmt.Sprint(skill, " ", among))
	if i < 0 || i >= len(among) {
		return "unknown"
	}
	return among[i]
}

func TestChooser(t *testing.T) {
	t.Parallel()
	c := &chooser{takes: func(n int) int { return []int{1, 0, 7}[n] }}
	b := start(t, engine.Config{Chooser: c}, named("main"))
	for _, a := range []engine.Agent{
		skilled("one", named("one"), "sing", "alone"), skilled("two", named("two"), "SING"),
		skilled("any", named("any")),
	} {
		if err := b.Register(a); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"two", "one", "one"} {
		if got, err := b.asked("sing"); got != want || err != nil {
			t.Errorf("%q answered, %v; want %q", got, err, want)
		}
	}
	for id, want := range map[string]string{"alone": "one", "something else": "any"} {
		if got, err := b.asked(id); got != want || err != nil {
			t.Errorf("skill %q: %q answered, %v; want %q", id, got, err, want)
		}
	}
	if diff := cmp.Diff([]string{"sing [one two]", "sing [one two]", "sing [one two]"}, c.asked); diff != "" {
		t.Errorf("the chooser was asked (-want +got):\n%s", diff)
	}
}

// A message that names only a skill goes to the hub's own agent first, whenever others come.
func TestOwnAgentsComeFirst(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	ranked := func(name string, rank engine.Rank, skills ...string) engine.Agent {
		a := skilled(name, named(name), skills...)
		a.Rank = rank
		return a
	}
	put := func(a engine.Agent) {
		t.Helper()
		if err := b.Update(a); errors.Is(err, engine.ErrNoAgent) {
			err = b.Register(a)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(when, want string) {
		t.Helper()
		if got, err := b.asked("sing"); got != want || err != nil {
			t.Errorf("%s: %q answered, %v; want %q", when, got, err, want)
		}
	}
	put(ranked("found", engine.RankFound, "sing"))
	check("alone", "found")
	put(ranked("configured", engine.RankConfigured, "SING"))
	check("beside a configured one", "configured")
	if b.Offers("", "sing") {
		t.Error("the hub itself offers what only others have")
	}
	put(ranked("own", engine.RankOwn, "Sing"))
	put(ranked("second", engine.RankOwn, "sing"))
	check("beside own ones", "own")
	put(ranked("found", engine.RankFound, "sing", "dance"))
	put(ranked("own", engine.RankOwn, "sing", "whistle"))
	check("after their cards have changed", "own")
	if !b.Offers("", "SING") {
		t.Error("the hub does not offer the skill of its agent")
	}
	for i, want := range []string{"second", "configured", "found"} {
		if err := b.Unregister(task.Agent([]string{"own", "second", "configured"}[i])); err != nil {
			t.Fatal(err)
		}
		check("without it", want)
	}
}

// A hidden agent is in no list and has no skill; it takes messages for unknown skills of callers
// that want that.
func TestUnknownSkillsAreObserved(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	hidden := engine.Agent{Name: engine.ObserverName, Card: skilled("x", nil).Card, Executor: named("observer"), ListedSkills: true, Hidden: true}
	for _, a := range []engine.Agent{hidden, skilled("one", named("one"), "sing")} {
		if err := b.Register(a); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range b.Agents() {
		if a.Name == engine.ObserverName {
			t.Error("the hidden agent is listed")
		}
	}
	for _, tt := range []struct {
		agent   task.Agent
		skill   string
		observe bool
		want    string
	}{
		{"", "sing", true, "one"},
		{"one", "SING", true, "one"},
		{"", "", true, "main"},
		{"", "brew", true, "observer"},
		{"one", "brew", true, "observer"},
		{"", "brew", false, ""},
		{"one", "brew", false, ""},
	} {
		r := text("x")
		r.Agent, r.Message.Skill, r.Observe = tt.agent, tt.skill, tt.observe
		a, err := b.Send(t.Context(), alice, r)
		switch {
		case tt.want == "":
			if !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("%+v: %v, want ErrInvalidParams", tt, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", tt, err)
		case statusText(t, a) != tt.want:
			t.Errorf("%+v: %q answered", tt, statusText(t, a))
		}
	}
}

// A repeated message with a key goes to the agent that received it the first time.
func TestChooserAndKeys(t *testing.T) {
	t.Parallel()
	c := &chooser{takes: func(n int) int { return n % 2 }}
	b := start(t, engine.Config{Chooser: c, Idempotency: engine.Idempotency{Header: true}}, named("main"))
	for _, name := range []string{"one", "two"} {
		if err := b.Register(skilled(name, named(name), "sing")); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			r := text("once")
			r.Key, r.Message.Skill = "k", "sing"
			if a, err := b.Send(t.Context(), alice, r); err == nil {
				ids[i] = string(a.Head.ID)
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the message became task %s and task %s", ids[0], id)
		}
	}
}

// A message that names only a context finds the task that waits in it, whichever agent it
// belongs to.
func TestChooserAndContexts(t *testing.T) {
	t.Parallel()
	c := &chooser{takes: func(n int) int { return 1 - n%2 }}
	b := start(t, engine.Config{Chooser: c}, named("main"))
	for _, name := range []string{"one", "two"} {
		if err := b.Register(skilled(name, relay(name), "ask")); err != nil {
			t.Fatal(err)
		}
	}
	r := text("begin")
	r.Message.Skill = "ask"
	first := b.send(r)
	r = text("answer")
	r.Message.Skill, r.Message.ContextID, r.Resume = "ask", first.Head.ContextID, true
	if second := b.send(r); second.Head.ID != first.Head.ID || statusText(t, second) != "two" {
		t.Errorf("the answer went to task %s of %s, want %s of two", second.Head.ID, second.Head.Agent, first.Head.ID)
	}
}

func TestUnknownSkillNamesTheNearest(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("skill-%02d", i))
	}
	for _, a := range []engine.Agent{skilled("one", named("one"), "pr_review", "bug_triage"), skilled("two", named("two"), many...)} {
		if err := b.Register(a); err != nil {
			t.Fatal(err)
		}
	}
	skeleton := skilled("skeleton", named("skeleton"))
	skeleton.ListedSkills = true
	if err := b.Register(skeleton); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"pr_reviw":                 `"pr_reviw"; did you mean "pr_review"?`,
		"Bug-Triage":               "", // the id in another spelling is another id
		"weather":                  `no agent here has the skill "weather"; there are: main, pr_review, bug_triage, skill-00`,
		"other":                    "and 23 more",
		strings.Repeat("long", 99): "…",
	} {
		if _, err := b.asked(id); !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("skill %.20q: %v, want ErrInvalidParams with %q", id, err, want)
		}
	}
	r := text("x")
	r.Agent, r.Message.Skill = "skeleton", "anything"
	if got := statusText(t, b.send(r)); got != "skeleton" {
		t.Errorf("an agent that is named takes any skill while it lists none; %q answered", got)
	}
}

// Each message finds a complete agent while agents are registered and unregistered
// concurrently.
func TestConcurrentRegistration(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			name := fmt.Sprint("agent-", i)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = b.Register(skilled(name, named(name), "sing", fmt.Sprint("s", n%3)))
				_ = b.Update(skilled(name, named(name), "sing"))
				_ = b.Unregister(task.Agent(name))
			}
		})
	}
	for range 200 {
		got, err := b.asked("sing")
		if err == nil && !strings.HasPrefix(got, "agent-") && got != "the agent of this task no longer exists" {
			t.Errorf("%q answered", got)
		}
		if err != nil && !errors.Is(err, a2a.ErrInvalidParams) {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if diff := cmp.Diff([]string{"main"}, b.names()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

// A message that names no skill continues that of the message before it, also after a restart.
func TestFollowUpsKeepTheSkill(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	skills := func() engine.Agent {
		return skilled("desk", &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			state := a2a.TaskStateInputRequired
			if agent.Text(ec.Message) == "done" {
				state = a2a.TaskStateCompleted
			}
			yield(status(ec, state, agent.CallFrom(ctx).Skill), nil)
		}}, "sing", "dance")
	}
	b := start(t, engine.Config{Store: store}, named("main"))
	if err := b.Register(skills()); err != nil {
		t.Fatal(err)
	}
	r := text("go")
	r.Message.Skill = "dance"
	id := b.send(r).Head.ID
	open, err := b.Open(t.Context(), &question.Question{Owner: "alice", Task: id})
	if err != nil || open.Skill != "dance" {
		t.Errorf("the question is for %+v, %v", open, err)
	}
	if got := statusText(t, b.send(reply(id, "more"))); got != "dance" {
		t.Errorf("the answer is for %q", got)
	}
	b.stop()
	b = start(t, engine.Config{Store: store}, named("main"))
	if err := b.Register(skills()); err != nil {
		t.Fatal(err)
	}
	if open, err = b.Open(t.Context(), &question.Question{Owner: "alice", Task: id}); err != nil || open.Skill != "dance" {
		t.Errorf("after a restart the question is for %+v, %v", open, err)
	}
	other := reply(id, "more")
	other.Message.Skill = "sing"
	for _, step := range []struct {
		r    *op.Send
		want string
	}{{reply(id, "more"), "dance"}, {other, "sing"}, {reply(id, "done"), "sing"}} {
		if got := statusText(t, b.send(step.r)); got != step.want {
			t.Errorf("a later answer is for %q, want %q", got, step.want)
		}
	}
}
