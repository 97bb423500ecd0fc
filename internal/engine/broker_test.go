package engine_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// observer records the outcomes of tasks.
type observer struct {
	mu  sync.Mutex
	all []engine.Outcome
}

func (o *observer) Wants(body []byte) bool { return bytes.Contains(body, []byte("wanted")) }

func (o *observer) Ended(out *engine.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, *out)
}

func (o *observer) take() []engine.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.all
	o.all = nil
	return all
}

// The observer is notified once of each task that has ended, with the entries that it wants.
func TestObserver(t *testing.T) {
	t.Parallel()
	o := new(observer)
	talk := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil && ec.Message.Parts[0].Text() == "ask" {
			yield(chunk(ec, "wanted early", true), nil)
			yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
			return
		}
		_ = yield(chunk(ec, "wanted late", true), nil) && yield(chunk(ec, "not", false), nil)
		yield(status(ec, a2a.TaskStateFailed, "wanted too"), nil)
	}}
	b := start(t, engine.Config{Observer: engine.ObserverFuncs{OnEnded: o.Ended}, Interest: engine.Interest{Ends: true, Bodies: o.Wants}}, named("main"))
	if err := b.Register(skilled("one", talk, "sing")); err != nil {
		t.Fatal(err)
	}
	r := text("ask")
	r.Message.Skill = "Sing"
	id := b.send(r).Head.ID
	if got := o.take(); len(got) != 0 {
		t.Fatalf("outcomes of a task that waits: %+v", got)
	}
	b.send(reply(id, "continue"))
	b.send(text("hello"))
	got := o.take()
	if len(got) != 2 {
		t.Fatalf("outcomes = %+v, want two", got)
	}
	first := got[0]
	if first.Agent != "one" || first.Skill != "Sing" || first.State != task.Failed || first.Took < 0 || first.Took > time.Minute {
		t.Errorf("outcome = %+v", first)
	}
	for i, part := range []string{"wanted early", "wanted late", "wanted too"} {
		if i >= len(first.Bodies) || !bytes.Contains(first.Bodies[i], []byte(part)) {
			t.Errorf("bodies %q, want the one with %q", first.Bodies, part)
		}
	}
	if second := got[1]; second.Agent != "main" || second.Skill != "" || second.State != task.Completed || len(second.Bodies) != 0 {
		t.Errorf("outcome = %+v", second)
	}
}

// The time of a task is that of its agent, not that of the people it waits for; also if the hub is
// restarted meanwhile. An operator's end is not the agent's.
func TestOutcomesAreTheAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := new(observer)
		asks := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			time.Sleep(time.Second)
			if agent.Text(ec.Message) == "ask" {
				yield(status(ec, a2a.TaskStateInputRequired, "?"), nil)
				return
			}
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		}}
		cfg := engine.Config{Store: new(memstore.Store), Observer: engine.ObserverFuncs{OnEnded: o.Ended}, Interest: engine.Interest{Ends: true}}
		b := start(t, cfg, asks)
		asked, failed := b.send(text("ask")).Head.ID, b.send(text("ask")).Head
		time.Sleep(time.Hour)
		synctest.Wait()
		b.send(reply(asked, "go on"))
		if _, err := b.Fail(t.Context(), engine.Target{Owner: failed.Owner, ID: failed.ID}, "no longer needed"); err != nil {
			t.Fatal(err)
		}
		late := b.send(text("ask")).Head.ID
		b.stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		b = start(t, cfg, asks)
		b.send(reply(late, "go on"))
		got := o.take()
		if len(got) != 3 || got[0].Took != 2*time.Second || got[0].ByHub || !got[1].ByHub || got[2].Took != 2*time.Second || got[2].ByHub {
			t.Errorf("outcomes %+v, want two of 2 s, and one by the hub between them", got)
		}
	})
}

// gate admits one message for each skill.
type gate struct {
	mu     sync.Mutex
	passed []string
}

func (g *gate) Admit(agent task.Agent, r *op.Send) (func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	skill := string(agent) + " " + r.Message.Skill
	if slices.Contains(g.passed, skill) {
		return nil, &apierror.Error{Err: apierror.ErrExhausted, Message: "not now", RetryAfter: time.Second}
	}
	g.passed = append(g.passed, skill)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.passed = slices.DeleteFunc(g.passed, func(s string) bool { return s == skill })
	}, nil
}

// The gate is called for each new task, and its undo when an admitted message created none.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := new(gate)
		b := start(t, engine.Config{Gate: g, Limits: limits.Limits{MaxRuns: 1, MaxQueued: -1, DrainTimeout: -1}}, relay("main"))
		began := make(chan context.Context, 1)
		b.register("busy", untilStopped(began))
		r := text("one")
		r.Message.Skill = "main"
		first := b.send(r)
		if _, err := b.Send(t.Context(), alice, r); !errors.Is(err, apierror.ErrExhausted) || err.Error() != "not now" {
			t.Errorf("a second message: %v, want the gate's error", err)
		}
		synctest.Wait() // the run has ended, not only the task
		b.send(reply(first.Head.ID, "a follow-up begins no task"))
		synctest.Wait()
		r = now(text("long"))
		r.Agent = "busy"
		b.send(r)
		<-began
		if _, err := b.Send(t.Context(), alice, text("no skill")); err == nil {
			t.Error("a message beyond the limit was admitted")
		}
		if diff := cmp.Diff([]string{"main main", "busy "}, g.passed); diff != "" {
			t.Errorf("passed (-want +got):\n%s", diff)
		}
		b.stop()
	})
}

// A message with the same content as an earlier one counts as the same message, if
// Idempotency.Same says so for its skill, and for that time.
func TestSameContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		same := func(skill string) time.Duration {
			if skill == "main" {
				return 10 * time.Second
			}
			return 0
		}
		b := start(t, engine.Config{Idempotency: engine.Idempotency{Same: same}}, named("main"))
		send := func(id, words, skill string) a2a.TaskID {
			r := text(words)
			r.Message.ID, r.Message.Skill = id, skill
			r.Message.Body = bytes.Replace(r.Message.Body, []byte("m-"+words), []byte(id), 1)
			return b.send(r).Head.ID
		}
		first := send("m1", "hello", "main")
		if again := send("m2", "hello", "main"); again != first {
			t.Error("the same message became another task")
		}
		if other := send("m3", "good bye", "main"); other == first {
			t.Error("another message became the same task")
		}
		if plain := send("m4", "hello", ""); plain == first {
			t.Error("a message without a skill was taken for one with it")
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if late := send("m5", "hello", "main"); late == first {
			t.Error("the same message much later is the same task")
		}
		b.stop()
	})
}
