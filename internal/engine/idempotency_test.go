package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// byHeader accepts the keys that come beside payloads.
var byHeader = engine.Config{Idempotency: engine.Idempotency{Header: true}}

func key(k string, r *op.Send) *op.Send {
	r.Key = k
	return r
}

// counted completes each task, and counts the messages. If it has a gate, it waits for it.
type counted struct {
	executor
	n     atomic.Int64
	began chan struct{}
	gate  chan struct{}
}

func newCounted(gate bool) *counted {
	x := &counted{began: make(chan struct{}, 100)}
	if gate {
		x.gate = make(chan struct{})
	}
	x.run = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		x.n.Add(1)
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		x.began <- struct{}{}
		if x.gate != nil {
			select {
			case <-x.gate:
			case <-ctx.Done():
				return
			}
		}
		if ec.StoredTask == nil {
			yield(chunk(ec, "made", false), nil)
			if strings.HasPrefix(ec.Message.Parts[0].Text(), "ask") {
				yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}
	return x
}

func (b *bench) tasks(owner string) int {
	b.t.Helper()
	p, err := b.List(b.t.Context(), caller(owner), &op.List{PageSize: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	return p.TotalSize
}

// taken refuses the first change with a key, as if another message had used the key.
type taken struct {
	memstore.Store
	done atomic.Bool
}

func (s *taken) Append(ctx context.Context, c *task.Change) error {
	if c.Request != nil && !s.done.Swap(true) {
		return task.ErrKeyUsed
	}
	return s.Store.Append(ctx, c)
}

// TestKeyIsFreeAgain makes the first attempt to store a message fail after its run has begun:
// the second attempt starts another run, and no trace of the first run is left.
func TestKeyIsFreeAgain(t *testing.T) {
	t.Parallel()
	cfg := byHeader
	cfg.Store, cfg.TasksPerCaller = new(taken), 1
	b := start(t, cfg, agent.With(newCounted(false), agent.Traits{Away: true}))
	if got := b.send(key("k", text("hello"))).Head.State; got != task.Completed {
		t.Errorf("state = %v, want COMPLETED", got)
	}
	b.stopsEmpty()
}

// TestRepeatedFollowUpHoldsNothing repeats a message to a task that waits for its caller.
func TestRepeatedFollowUpHoldsNothing(t *testing.T) {
	t.Parallel()
	b := start(t, byHeader, newCounted(false))
	id := b.send(text("ask")).Head.ID
	for range 2 {
		b.send(key("k", reply(id, "red")))
	}
	b.stopsEmpty()
}

func TestRepeatedMessageGetsTheSameTask(t *testing.T) {
	t.Parallel()
	x := newCounted(false)
	b := start(t, byHeader, x)
	first := b.send(key("k", text("a")))
	again := b.send(key("k", text("a")))
	if again.Head.ID != first.Head.ID || again.Head.State != task.Completed {
		t.Errorf("the repeated message gets %s, %v, want %s, completed", again.Head.ID, again.Head.State, first.Head.ID)
	}
	if d := cmp.Diff(sdkTask(t, first), sdkTask(t, again)); d != "" {
		t.Errorf("answers differ (-first +again):\n%s", d)
	}
	renamed := key("k", text("a"))
	renamed.Message.ID = "another"
	renamed.Message.Body = []byte(strings.Replace(string(renamed.Message.Body), `"m-a"`, `"another"`, 1))
	if got := b.send(now(renamed)); got.Head.ID != first.Head.ID {
		t.Errorf("the message with a new id gets %s, want %s", got.Head.ID, first.Head.ID)
	}
	if other := b.send(key("other", text("a"))); other.Head.ID == first.Head.ID {
		t.Error("another key gets the same task")
	}
	if none := b.send(text("a")); none.Head.ID == first.Head.ID {
		t.Error("no key gets the same task")
	}
	if n := x.n.Load(); n != 3 {
		t.Errorf("%d messages were executed, want 3", n)
	}
}

// Without the configuration, keys have no effect.
func TestKeysAreOffByDefault(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, newCounted(false))
	r := key("k", text("a"))
	if first, again := b.send(r), b.send(r); first.Head.ID == again.Head.ID {
		t.Error("a key counts although keys are off")
	}
	if b.TakesKeys() {
		t.Error("TakesKeys() = true")
	}
}

// Where the message id is the key, a key beside it does not count.
func TestKeyBesideMessageIDs(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Idempotency: engine.Idempotency{MessageID: true}}, newCounted(false))
	if one, two := b.send(key("k", text("a"))), b.send(key("k", text("b"))); one.Head.ID == two.Head.ID {
		t.Error("a key counts although only message ids do")
	}
}

// A key belongs to the owner and the agent.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	b := start(t, byHeader, newCounted(false))
	b.register("other", newCounted(false))
	ids := map[a2a.TaskID]bool{}
	for _, user := range []string{"alice", "bob"} {
		for _, tenant := range []string{"main", "other"} {
			a, err := b.Send(t.Context(), caller(user), to(tenant, key("k", text("a"))))
			if err != nil {
				t.Fatalf("Send of %s to %s: %v", user, tenant, err)
			}
			ids[a.Head.ID] = true
		}
	}
	if len(ids) != 4 {
		t.Errorf("there are %d tasks, want 4", len(ids))
	}
}

// Content that affects the outcome must be equal; settings that affect only the form of the
// answer need not be.
func TestOtherContentUnderTheSameKey(t *testing.T) {
	t.Parallel()
	cfg := byHeader
	cfg.Push = new(enginetest.Pusher)
	b := start(t, cfg, newCounted(false))
	first := b.send(key("k", text("a")))
	five := 5
	same := map[string]func(r *op.Send){
		"return immediately": func(r *op.Send) { r.ReturnImmediately = true },
		"history length":     func(r *op.Send) { r.HistoryLength = &five },
		"target by path":     func(r *op.Send) { r.Agent = "main" },
		"order of members": func(r *op.Send) {
			r.Message.Body = []byte(`{"role":"ROLE_USER","parts":[{"text":"\u0061"}],"messageId":"m-a"}`)
		},
	}
	for name, change := range same {
		r := key("k", text("a"))
		change(r)
		if a, err := b.Send(t.Context(), alice, r); err != nil || a.Head.ID != first.Head.ID {
			t.Errorf("%s: Send = %+v, %v, want the first task", name, a, err)
		}
	}
	other := map[string]func(r *op.Send){
		"text":         func(r *op.Send) { r.Message.Body = text("b").Message.Body },
		"context":      func(r *op.Send) { r.Message.ContextID = "c" },
		"task":         func(r *op.Send) { r.Message.TaskID = first.Head.ID },
		"metadata":     func(r *op.Send) { r.Metadata = []byte(`{"x":1}`) },
		"output modes": func(r *op.Send) { r.AcceptedOutputModes = []string{"text/plain"} },
		"push config":  func(r *op.Send) { r.Push = &op.PushConfig{URL: "https://x"} },
	}
	for name, change := range other {
		r := key("k", text("a"))
		change(r)
		_, err := b.Send(t.Context(), alice, r)
		if !errors.Is(err, apierror.ErrKeyReused) {
			t.Errorf("%s: Send = %v, want ErrKeyReused", name, err)
		}
		if _, err := b.Stream(t.Context(), alice, r); !errors.Is(err, apierror.ErrKeyReused) {
			t.Errorf("%s: Stream = %v, want ErrKeyReused", name, err)
		}
	}
	if n := b.tasks("alice"); n != 1 {
		t.Errorf("there are %d tasks, want 1", n)
	}
}

// A caller that repeats a message while the first one is being processed joins its caller.
func TestRepeatedMessageJoins(t *testing.T) {
	t.Parallel()
	x := newCounted(true)
	b := start(t, byHeader, x)
	const callers = 8
	ids := make(chan a2a.TaskID, 2*callers)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			a, err := b.Send(t.Context(), alice, key("k", text("a")))
			if err != nil || a.Head.State != task.Completed {
				t.Errorf("Send = %+v, %v, want the completed task", a, err)
				return
			}
			ids <- a.Head.ID
		})
		wg.Go(func() {
			s, err := b.Stream(t.Context(), alice, key("k", text("a")))
			if err != nil {
				t.Errorf("Stream: %v", err)
				return
			}
			ids <- s.Task.ID
			if got := kinds(s.First, follow(t, s)); got != "task v1, status v2, artifact v3, status v4" {
				t.Errorf("stream = %s", got)
			}
		})
	}
	<-x.began
	close(x.gate)
	wg.Wait()
	close(ids)
	all := map[a2a.TaskID]bool{}
	for id := range ids {
		all[id] = true
	}
	if len(all) != 1 || x.n.Load() != 1 || b.tasks("alice") != 1 {
		t.Errorf("%d tasks, %d runs, want one of each", len(all), x.n.Load())
	}
}

// kinds returns the items shown to a reader as text.
func kinds(first *engine.Answer, events []engine.Event) string {
	var all []string
	if first != nil {
		all = append(all, fmt.Sprintf("task v%d", first.Head.Version))
	}
	for _, ev := range events {
		name := map[task.Kind]string{task.Status: "status", task.Artifact: "artifact", task.Message: "message"}[ev.Kind]
		all = append(all, fmt.Sprintf("%s v%d", name, ev.Version))
	}
	return strings.Join(all, ", ")
}

// The stream of a repeated message begins with the first frame. It ends at the same event as
// the first stream, regardless of later events and in any process.
func TestRepeatedStream(t *testing.T) {
	t.Parallel()
	cfg := byHeader
	cfg.Store = new(memstore.Store)
	b := start(t, cfg, newCounted(false))
	read := func(b *bench, r *op.Send) string {
		t.Helper()
		s, err := b.Stream(t.Context(), alice, r)
		if err != nil {
			t.Fatal(err)
		}
		return kinds(s.First, follow(t, s))
	}
	const want = "task v1, status v2, artifact v3, status v4"
	if got := read(b, key("k", text("ask"))); got != want {
		t.Fatalf("stream = %s, want %s", got, want)
	}
	id := b.send(now(key("k", text("ask")))).Head.ID
	if got := b.send(key("k2", reply(id, "b"))); got.Head.State != task.Completed {
		t.Fatalf("answer = %v, want completed", got.Head.State)
	}
	for _, process := range []string{"the same process", "the next process"} {
		if got := read(b, key("k", text("ask"))); got != want {
			t.Errorf("%s: repeated stream = %s, want %s", process, got, want)
		}
		if got := read(b, key("k2", reply(id, "b"))); got != "task v7" {
			t.Errorf("%s: repeated stream of the answer = %s, want the current task", process, got)
		}
		if got := b.send(key("k", text("ask"))); got.Head.State != task.Completed {
			t.Errorf("%s: repeated message = %v, want the current task", process, got.Head.State)
		}
		b.stop()
		b = start(t, cfg, newCounted(false))
	}
}

// A repeated message does not wait for a task that waits for its caller.
func TestRepeatedMessageOfATaskThatAsks(t *testing.T) {
	t.Parallel()
	cfg := byHeader
	cfg.Store = new(memstore.Store)
	b := start(t, cfg, newCounted(false))
	first := b.send(key("k", text("ask")))
	b.stop()
	b = start(t, cfg, newCounted(false))
	again := b.send(key("k", text("ask")))
	if again.Head.ID != first.Head.ID || again.Head.State != task.InputRequired {
		t.Errorf("repeated message = %s, %v, want %s, input required", again.Head.ID, again.Head.State, first.Head.ID)
	}
}

// A bare message cannot be shown to a later caller.
func TestMessageWithAKeyMakesATask(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("good day")), nil)
	}}
	b := start(t, byHeader, x)
	for range 2 {
		a := b.send(key("k", text("a")))
		if a.Message != nil || a.Head.State != task.Completed || statusText(t, a) != "good day" {
			t.Errorf("answer = %+v, want a completed task with the text good day", a)
		}
	}
	if a := b.send(text("a")); a.Message == nil {
		t.Errorf("answer without a key = %+v, want a message", a.Head)
	}
}

func TestMessageIDAsKey(t *testing.T) {
	t.Parallel()
	x := newCounted(false)
	b := start(t, engine.Config{Idempotency: engine.Idempotency{MessageID: true}}, x)
	first := b.send(text("a"))
	if again := b.send(key("ignored", text("a"))); again.Head.ID != first.Head.ID {
		t.Error("the same message id makes another task")
	}
	if other := b.send(text("b")); other.Head.ID == first.Head.ID {
		t.Error("another message id gets the same task")
	}
	bad := text("c")
	bad.Message.ID = "m-a"
	if _, err := b.Send(t.Context(), alice, bad); !errors.Is(err, apierror.ErrKeyReused) {
		t.Errorf("Send of another text with the id = %v, want ErrKeyReused", err)
	}
	long := text("d")
	long.Message.ID = strings.Repeat("x", 1000)
	if one, two := b.send(long), b.send(long); one.Head.ID != two.Head.ID {
		t.Error("a long message id makes two tasks")
	}
	if b.TakesKeys() {
		t.Error("TakesKeys() = true")
	}
}

// A key and a message id with the same text are two keys.
func TestKeyIsNoMessageID(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Idempotency: engine.Idempotency{Header: true, MessageID: true}}, newCounted(false))
	if byKey, byID := b.send(key("m-a", text("a"))), b.send(text("a")); byKey.Head.ID == byID.Head.ID {
		t.Error("a key names the message with this id")
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	b := start(t, byHeader, newCounted(false))
	for _, k := range []string{strings.Repeat("k", 257), "a\x00b", "a\nb", "\xff"} {
		_, err := b.Send(t.Context(), alice, key(k, text("a")))
		var f *apierror.Error
		if !errors.Is(err, a2a.ErrInvalidParams) || !errors.As(err, &f) || len(f.Violations) != 1 || f.Violations[0].Field != "Idempotency-Key" {
			t.Errorf("Send with the key %q = %v, want ErrInvalidParams of Idempotency-Key", k, err)
		}
	}
	b.send(key(strings.Repeat("k", 256), text("a")))
}

// A refused message leaves its key free.
func TestRefusedMessageKeepsNoKey(t *testing.T) {
	t.Parallel()
	b := start(t, byHeader, newCounted(false))
	r := key("k", text("a"))
	r.Tenant = "unknown"
	if _, err := b.Send(t.Context(), alice, r); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Send to an unknown task = %v, want ErrTaskNotFound", err)
	}
	if _, err := b.Send(t.Context(), alice, key("k", reply("missing", "a"))); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Send to a missing task = %v, want ErrTaskNotFound", err)
	}
	b.send(key("k", text("b")))
}

// A client that chooses the id of the task may repeat its message, too.
func TestRepeatedMessageWithItsOwnTaskID(t *testing.T) {
	t.Parallel()
	b := start(t, byHeader, newCounted(false))
	for range 2 {
		r := key("k", reply("mine", "a"))
		r.NewIDs = true
		if a := b.send(r); a.Head.ID != "mine" || a.Head.State != task.Completed {
			t.Errorf("answer = %s, %v, want the completed task mine", a.Head.ID, a.Head.State)
		}
	}
}

// A key expires at the end of its time, even before it is swept, and is swept then.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(memstore.Store)
		cfg := engine.Config{Store: store, Idempotency: engine.Idempotency{Header: true, TTL: 10 * time.Second}}
		b := start(t, cfg, newCounted(false))
		first := b.send(key("k", text("a")))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if again := b.send(key("k", text("a"))); again.Head.ID != first.Head.ID {
			t.Error("the key is forgotten too early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if again := b.send(key("k", text("b"))); again.Head.ID == first.Head.ID {
			t.Error("the key is not forgotten")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, err := store.Request(t.Context(), "alice", "main", "key k"); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Request after its time = %v, want ErrNotFound", err)
		}
		b.stop()
	})
}

// A caller whose message was possibly not stored retries with the key. It gets the one task,
// whether or not the message was stored.
func TestRetryWithAKeyAfterAnUncertainChange(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		for _, match := range map[string]func(*task.Change) bool{"create": creates, "follow up": followsUp} {
			synctest.Test(t, func(t *testing.T) {
				store := &failingStore{keep: keep}
				x := newScriptedAgent()
				cfg := byHeader
				cfg.Store = store
				b := start(t, cfg, x)
				id := b.send(text("ask")).Head.ID
				r := func() *op.Send {
					if match(&task.Change{}) {
						return key("k", text("a"))
					}
					return key("k", reply(id, "a"))
				}
				store.arm(match)
				if _, err := b.Send(t.Context(), alice, r()); !errors.Is(err, apierror.ErrUnavailable) {
					t.Errorf("keep %v: Send = %v, want ErrUnavailable", keep, err)
				}
				one, two := b.send(r()), b.send(r())
				if one.Head.ID != two.Head.ID || one.Head.State != task.Completed {
					t.Errorf("keep %v: answers are %s %v and %s, want one completed task", keep, one.Head.ID, one.Head.State, two.Head.ID)
				}
				if again := x.repeated(); len(again) > 0 {
					t.Errorf("keep %v: %v were executed twice", keep, again)
				}
				if n := x.executed(); n != 2 {
					t.Errorf("keep %v: %d messages were executed, want 2", keep, n)
				}
				b.stop()
			})
		}
	}
}
