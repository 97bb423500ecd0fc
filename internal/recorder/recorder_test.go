package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var alice = &op.Caller{Principal: &auth.Principal{ID: "alice", DisplayName: "Alice"}}

// echo answers with an artifact: with data to "data", with a failure to "fail", and with a long
// text to "long".
func echo() a2asrv.AgentExecutor {
	return agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		text := agent.Text(x.Message)
		parts := []*a2a.Part{a2a.NewTextPart("answer to " + text)}
		state := a2a.TaskStateCompleted
		switch text {
		case "message":
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("answer to message")), nil)
			return
		case "data":
			parts = append(parts, a2a.NewDataPart(map[string]any{"n": 1}))
		case "nothing":
			ev := a2a.NewStatusUpdateEvent(x, state, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Nothing was done.")))
			ev.Metadata = map[string]any{"fulfilled": false}
			yield(ev, nil)
			return
		case "fail":
			state = a2a.TaskStateFailed
		case "long":
			parts = []*a2a.Part{a2a.NewTextPart("long " + strings.Repeat("answer ", 20_000))}
		}
		if yield(a2a.NewArtifactEvent(x, parts...), nil) {
			yield(a2a.NewStatusUpdateEvent(x, state, nil), nil)
		}
	})
}

// hub is an engine with a recorder.
type hub struct {
	*engine.Engine
	*recorder.Recorder
	t     *testing.T
	notes *memory.Notes
	stop  func()
}

// changed passes a change to the recorder.
func (h *hub) changed(c engine.Change) {
	if c.Moved || c.Requested {
		h.Moved(c.Head, c.Requested)
	}
}

// start runs a hub until the test ends or stop is called. Nothing is written unless works is
// set.
func start(t *testing.T, tasks task.Store, notes memory.Store, o recorder.Options, works bool) *hub {
	t.Helper()
	h := &hub{t: t, notes: &memory.Notes{Store: notes, Fetch: recorder.Fetch(tasks)}}
	h.Recorder = recorder.New(recorder.Config{Options: o, Notes: h.notes, Store: tasks})
	h.Engine = engine.New(engine.Config{Store: tasks, Recorder: h.Recorder, Observer: engine.ObserverFuncs{OnChanged: h.changed}, Limits: limits.Limits{DrainTimeout: -1}})
	for _, name := range []task.Agent{"echo", "other"} {
		card := &a2a.AgentCard{Name: string(name), Skills: []a2a.AgentSkill{{ID: string(name), Name: string(name)}}}
		if err := h.Register(engine.Agent{Name: name, Card: card, Executor: echo()}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		work := h.Engine.Run
		if works {
			work = func(ctx context.Context) error { return h.Around(ctx, nil, h.Engine.Run) }
		}
		if err := work(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	}()
	h.stop = func() { cancel(); <-done }
	t.Cleanup(h.stop)
	<-h.Recovered()
	return h
}

// send sends a message to an agent and returns the task.
func (h *hub) send(name task.Agent, text, metadata string) *task.Head {
	h.t.Helper()
	s := &op.Send{Target: op.Target{Agent: name}, Message: op.Message{
		ID: a2a.NewMessageID(), ContextID: "ctx", Skill: string(name),
		Body: fmt.Appendf(nil, `{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}`, text),
	}}
	if metadata != "" {
		s.Metadata = []byte(metadata)
	}
	a, err := h.Send(h.t.Context(), alice, s)
	if err != nil {
		h.t.Fatalf("Send(%s) = %v", text, err)
	}
	return &a.Head
}

// await waits for the note with a key, and returns it.
func (h *hub) await(owner task.Owner, key string) memory.Note {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	for e, err := range h.notes.Watch(ctx, owner, key) {
		if err != nil {
			h.t.Fatalf("Watch = %v", err)
		}
		if e.Key == key {
			n, err := h.notes.Get(ctx, owner, key)
			if err != nil {
				h.t.Fatalf("Get(%s) = %v", key, err)
			}
			return n
		}
	}
	h.t.Fatalf("there is no note %s", key)
	return memory.Note{}
}

const inSession = `{"sessionId":"s/1"}`

func resultKey(h *task.Head) string {
	return "session/s%2F1/a2a/" + string(h.Agent) + "/" + string(h.ID) + "/result"
}

func TestResults(t *testing.T) {
	t.Parallel()
	tasks := new(memstore.Store)
	h := start(t, tasks, new(memory.MemNotes), recorder.Options{}, true)
	first := h.send("echo", "hello", inSession)
	n := h.await("alice", resultKey(first))
	if n.Value != "answer to hello" || n.Category != "a2a-result" || n.ExpiresAt.Sub(n.UpdatedAt) != time.Hour {
		t.Errorf("the result is %+v", n)
	}
	if diff := cmp.Diff([]string{"echo", string(first.ID), "completed"}, n.Tags); diff != "" {
		t.Errorf("tags of the result (-want +got):\n%s", diff)
	}
	other := h.send("other", "hello", `{"parley.session":"s/1"}`)
	h.await("alice", resultKey(other))
	second := h.send("echo", "data", inSession)
	h.await("alice", resultKey(second))
	if n := h.await("alice", resultKey(second)+".data"); n.Value != `{"n":1}` || n.Category != "a2a-result-data" {
		t.Errorf("the data are %+v", n)
	}
	if n := h.await("alice", resultKey(other)); n.Value != "answer to hello" {
		t.Errorf("the result of the other agent is %+v", n)
	}
	failed := h.send("echo", "fail", inSession)
	if n := h.await("alice", resultKey(failed)); !strings.HasPrefix(n.Value, "The task was not completed; it ended as failed.") {
		t.Errorf("the result of a failed task is %q", n.Value)
	}
	h.stop() // stop also drops older results before it returns
	entries, _, err := h.notes.List(t.Context(), &memory.List{Owner: "alice"})
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	want := []string{resultKey(failed), resultKey(other)}
	if diff := cmp.Diff(want, keys); diff != "" || err != nil {
		t.Errorf("notes: %v (-want +got):\n%s", err, diff)
	}
	if left, err := tasks.Sidecars(t.Context(), allRequests); len(left) > 0 || err != nil {
		t.Errorf("%d record requests are left, %v", len(left), err)
	}
}

// TestMessagesBecomeTasks checks that a request with a session gets a task instead of a bare
// message, which the log would not contain, and that its result is stored.
func TestMessagesBecomeTasks(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), new(memory.MemNotes), recorder.Options{}, true)
	if head := h.send("echo", "message", ""); head.Visibility != task.Replied {
		t.Fatalf("without a session the answer is a task: %+v", head)
	}
	head := h.send("echo", "message", inSession)
	if n := h.await("alice", resultKey(head)); n.Value != "answer to message" {
		t.Errorf("the result is %+v", n)
	}
}

// TestLongResult checks that the note of a long text has a reference, and that Get returns the
// whole text.
func TestLongResult(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), new(memory.MemNotes), recorder.Options{}, true)
	long := h.send("echo", "long", inSession)
	want := "long " + strings.Repeat("answer ", 20_000)
	if n := h.await("alice", resultKey(long)); n.Value != want || n.Size != int64(len(want)) {
		t.Errorf("the result has %d bytes, and says %d, want %d", len(n.Value), n.Size, len(want))
	}
	entries, _, err := h.notes.List(t.Context(), &memory.List{Owner: "alice"})
	if err != nil || len(entries) != 1 || entries[0].Size != int64(len(want)) || !strings.HasPrefix(entries[0].Preview, "long answer") {
		t.Errorf("List = %+v, %v", entries, err)
	}
}

// TestOrdinaryTasks checks that other tasks leave neither a note nor a record request.
func TestOrdinaryTasks(t *testing.T) {
	t.Parallel()
	tasks := new(memstore.Store)
	h := start(t, tasks, new(memory.MemNotes), recorder.Options{}, true)
	for _, meta := range []string{"", "{}", `{"sessionId":7}`, `{"sessionId":""}`, `{"session":"x"}`} {
		h.send("echo", "hello", meta)
	}
	if left, err := tasks.Sidecars(t.Context(), allRequests); len(left) > 0 || err != nil {
		t.Errorf("%d tasks have a record request, %v", len(left), err)
	}
	h.stop()
	if entries, _, err := h.notes.List(t.Context(), &memory.List{Owner: "alice"}); len(entries) > 0 || err != nil {
		t.Errorf("notes = %+v, %v", entries, err)
	}
}

func ofEcho(a task.Agent) bool { return a == "echo" }

// TestOutcomes checks that only completed tasks of remembered agents have an outcome.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), new(memory.MemNotes), recorder.Options{Outcomes: ofEcho}, true)
	h.send("echo", "meeting about harvest", "")
	h.send("other", "hello", "")
	h.send("echo", "fail", "") // in the same context
	n := h.await("local", "session/primary/a2a-outcomes/echo/ctx")
	if n.Category != "a2a-outcome" || n.ExpiresAt.Sub(n.UpdatedAt) != 8*time.Hour {
		t.Errorf("the outcome is %+v", n)
	}
	for _, want := range []string{"Alice asked echo", "meeting about harvest", "Outcome: answer to meeting", time.Now().UTC().Format("2006-01-02")} {
		if !strings.Contains(n.Value, want) {
			t.Errorf("the outcome %q does not say %q", n.Value, want)
		}
	}
	for _, want := range []string{"Alice", "meeting", "harvest"} {
		if !slices.Contains(n.Tags, want) {
			t.Errorf("the outcome has the tags %q, without %q", n.Tags, want)
		}
	}
	h.stop()
	entries, _, err := h.notes.List(t.Context(), &memory.List{Owner: "local"})
	if len(entries) != 1 || err != nil || !strings.Contains(entries[0].Preview, "harvest") {
		t.Errorf("outcomes %+v, %v, want that of the task that was completed", entries, err)
	}
	if hits, err := h.notes.Search(t.Context(), &memory.Search{Owner: "alice", Text: "harvest"}); len(hits) > 0 || err != nil {
		t.Errorf("the caller finds %+v, %v", hits, err)
	}
}

// TestUnfulfilledTaskIsNoSuccess checks a completed task that is marked as not fulfilled. It
// has no outcome, and its result states that.
func TestUnfulfilledTaskIsNoSuccess(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), new(memory.MemNotes), recorder.Options{Outcomes: ofEcho}, true)
	head := h.send("echo", "nothing", `{"sessionId":"s"}`)
	n := h.await("alice", "session/s/a2a/echo/"+string(head.ID)+"/result")
	if n.Value != "The task was not fulfilled. Nothing was done." || !slices.Contains(n.Tags, "unfulfilled") || slices.Contains(n.Tags, "completed") {
		t.Errorf("the result is %+v", n)
	}
	h.stop()
	if entries, _, err := h.notes.List(t.Context(), &memory.List{Owner: "local"}); len(entries) != 0 || err != nil {
		t.Errorf("outcomes %+v, %v, want none", entries, err)
	}
}

// TestLateResults checks that the result of an ended session becomes a notification.
func TestLateResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks, notes := new(memstore.Store), new(memory.MemNotes)
		h := start(t, tasks, notes, recorder.Options{}, false) // ends tasks and writes no notes
		late := h.send("echo", "late", inSession)
		time.Sleep(time.Second)
		synctest.Wait()
		if n, err := h.CloseSession(t.Context(), "alice", "s/1"); n != 0 || err != nil {
			t.Errorf("CloseSession = %d, %v", n, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		again := h.send("echo", "again", inSession)
		silent := h.send("echo", "silent", `{"sessionId":"s2"}`)
		h.stop()

		h = start(t, tasks, notes, recorder.Options{}, true)
		n := h.await("alice", "primary/notifications/a2a/echo/"+string(late.ID))
		if n.Value != "answer to late" || n.Category != "a2a-notification" {
			t.Errorf("the notification is %+v", n)
		}
		if n := h.await("alice", resultKey(again)); n.Value != "answer to again" {
			t.Errorf("the result after the session began again is %+v", n)
		}
		h.await("alice", "session/s2/a2a/echo/"+string(silent.ID)+"/result")
		h.stop()

		h = start(t, tasks, notes, recorder.Options{}, false)
		forgotten := h.send("echo", "forgotten", `{"sessionId":"s2"}`)
		h.stop()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		h = start(t, tasks, notes, recorder.Options{}, true)
		h.await("alice", "primary/notifications/a2a/echo/"+string(forgotten.ID))
		if _, err := h.CloseSession(t.Context(), "alice", ""); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("CloseSession of none = %v", err)
		}
		h.stop()
	})
}

// allRequests selects the requests that are left.
var allRequests = &task.SidecarQuery{Kind: task.SidecarRecordRequest, Limit: 9}

// crash fails at one of the calls that write notes, and at all later ones.
type crash struct {
	left   int
	failed chan struct{}
}

var errCrash = fmt.Errorf("crash: %w", task.ErrUnavailable)

func (c *crash) step() error {
	if c.left--; c.left >= 0 {
		return nil
	}
	if c.left == -1 {
		close(c.failed)
	}
	return errCrash
}

type crashTasks struct {
	task.Store
	*crash
}

func (c crashTasks) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	return c.Store.Sidecars(ctx, q)
}

func (c crashTasks) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.Store.DropSidecar(ctx, key, kind)
}

type crashNotes struct {
	memory.Store
	*crash
}

func (c crashNotes) Put(ctx context.Context, n *memory.Note, room memory.Quota) (int, error) {
	if err := c.step(); err != nil {
		return 0, err
	}
	return c.Store.Put(ctx, n, room)
}

// TestKilledBetweenSteps checks that after a crash between any two steps the next process
// writes the missing notes. All notes are found by key, category, tag and words, and expire in
// time.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	const steps = 7 // the list in two pages, the request, data, result, outcome, the deletion
	for step := range steps {
		t.Run(fmt.Sprint("step ", step), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			db, err := sqlitestore.Open(path, sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := recorder.Options{Outcomes: ofEcho}
			h := start(t, db.Tasks(), db.Notes(), o, false)
			head := h.send("echo", "data", inSession)
			h.stop()
			c := &crash{step, make(chan struct{})}
			r := recorder.New(recorder.Config{
				Options: o, Notes: &memory.Notes{Store: crashNotes{db.Notes(), c}}, Store: crashTasks{db.Tasks(), c},
			})
			ctx, kill := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { r.Run(ctx); close(ended) }()
			<-c.failed
			kill()
			<-ended
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			if db, err = sqlitestore.Open(path, sqlitestore.Options{}); err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			h = start(t, db.Tasks(), db.Notes(), o, true)
			defer h.stop()
			h.await("local", "session/primary/a2a-outcomes/echo/ctx")
			checkFound(t, h.notes, head)
			checkGone(t, db.Notes())
			h.stop()
			if left, err := db.Tasks().Sidecars(t.Context(), allRequests); len(left) > 0 || err != nil {
				t.Errorf("%d record requests are left, %v", len(left), err)
			}
		})
	}
}

func checkFound(t *testing.T, n *memory.Notes, head *task.Head) {
	t.Helper()
	key := resultKey(head)
	if note, err := n.Get(t.Context(), "alice", key); note.Value != "answer to data" || err != nil {
		t.Errorf("by key: %+v, %v", note, err)
	}
	for name, c := range map[string]struct {
		q    memory.Search
		want string
	}{
		"category": {memory.Search{Owner: "alice", Category: "a2a-result-data"}, key + ".data"},
		"tag":      {memory.Search{Owner: "alice", Tags: []string{string(head.ID)}, Text: "answer"}, key},
		"words":    {memory.Search{Owner: "local", Text: "Alice data answer"}, "session/primary/a2a-outcomes/echo/ctx"},
		"caller":   {memory.Search{Owner: "local", Tags: []string{"alice"}, Category: "a2a-outcome"}, "session/primary/a2a-outcomes/echo/ctx"},
	} {
		hits, err := n.Search(t.Context(), &c.q)
		if err != nil || len(hits) == 0 || hits[0].Key != c.want {
			t.Errorf("by %s: %+v, %v, want %s", name, hits, err, c.want)
		}
	}
}

// checkGone checks the notes of the store at later times.
func checkGone(t *testing.T, s memory.Store) {
	t.Helper()
	for _, c := range []struct {
		owner task.Owner
		after time.Duration
		want  int
	}{{"alice", 59 * time.Minute, 2}, {"alice", 61 * time.Minute, 0}, {"local", 7 * time.Hour, 1}, {"local", 8*time.Hour + time.Minute, 0}} {
		got, err := s.Read(t.Context(), &memory.Range{Owner: c.owner, At: time.Now().Add(c.after), Limit: 9})
		if len(got) != c.want || err != nil {
			t.Errorf("after %v %s has %d notes, %v, want %d", c.after, c.owner, len(got), err, c.want)
		}
	}
}

// once fails at the first note.
type once struct {
	memory.Store
	failed bool
}

func (o *once) Put(ctx context.Context, n *memory.Note, room memory.Quota) (int, error) {
	if !o.failed {
		o.failed = true
		return 0, errCrash
	}
	return o.Store.Put(ctx, n, room)
}

// TestRetry checks that a temporary failure of the store loses no note.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		notes := &once{Store: new(memory.MemNotes)}
		h := start(t, new(memstore.Store), notes, recorder.Options{}, true)
		head := h.send("echo", "hello", inSession)
		if n := h.await("alice", resultKey(head)); n.Value != "answer to hello" || !notes.failed {
			t.Errorf("the result is %+v", n)
		}
		h.stop()
	})
}

// racing ends a task while the recorder reads the requests.
type racing struct {
	*memstore.Store
	end func()
}

func (r *racing) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	page, err := r.Store.Sidecars(ctx, q)
	if r.end != nil {
		r.end()
		r.end = nil
	}
	return page, err
}

// TestEndsWhileLoading checks that a task of an earlier process which ends while the requests
// are read is not missed.
func TestEndsWhileLoading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, notes := &racing{Store: new(memstore.Store)}, new(memory.Notes)
		r := recorder.New(recorder.Config{Notes: notes, Store: store})
		c := tasktest.Step(t, tasktest.NewHead("alice", "t1"), tasktest.Created(task.MillisOf(time.Now()), "hello"))
		c.Sidecars[task.SidecarRecordRequest] = fmt.Appendf(nil, `{"session":"s/1","caller":"Alice","at":%d}`, time.Now().UnixMilli())
		if err := store.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		store.end = func() {
			h := tasktest.Append(t, store, c.Next, tasktest.Status(task.MillisOf(time.Now()), task.Completed, "done"))
			r.Moved(&h, false)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		synctest.Wait()
		if n, err := notes.Get(t.Context(), "alice", resultKey(&c.Next)); n.Value != "done" || err != nil {
			t.Errorf("Get = %+v, %v", n, err)
		}
		cancel()
		<-done
	})
}

// TestConversationIsRebuilt checks that missing turns are read from the log, with the caller's
// name.
func TestConversationIsRebuilt(t *testing.T) {
	t.Parallel()
	tasks := new(memstore.Store)
	h := start(t, tasks, new(memory.MemNotes), recorder.Options{}, true)
	first := h.send("echo", "one", "")
	if first.ContextID == "" {
		t.Fatal("the task has no context")
	}
	h.send("echo", "two", inSession)
	h.stop()
	turns := &memory.Turns{Log: tasks}
	var got []string
	for range 2 {
		all, err := turns.Continue(t.Context(), "alice", "ctx")
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, turn := range all {
			got = append(got, turn.Role+" "+turn.Name+": "+turn.Text)
		}
		turns.Log = nil // they are stored by now
	}
	want := []string{"caller Alice: one", "agent echo: answer to one", "caller Alice: two", "agent echo: answer to two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
	if all, err := turns.Continue(t.Context(), "bob", "ctx"); len(all) > 0 || err != nil {
		t.Errorf("another owner has the turns %v, %v", all, err)
	}
}

// TestReasonsOfFailures checks that the result of a task that was not completed has the reason
// and the earlier output.
func TestReasonsOfFailures(t *testing.T) {
	t.Parallel()
	tasks := new(memstore.Store)
	at := task.MillisOf(time.Now())
	for id, tt := range map[a2a.TaskID]struct {
		entries []task.Entry
		want    string
	}{
		"reason":  {[]task.Entry{tasktest.Status(at, task.Failed, "it broke")}, "failed. it broke"},
		"partial": {[]task.Entry{tasktest.Chunk(at, "a", "half"), tasktest.Status(at, task.Failed, "it broke")}, "failed. it broke\n\nUntil then it said:\nhalf"},
		"silent":  {[]task.Entry{tasktest.Chunk(at, "a", "half"), tasktest.Status(at, task.Canceled, "")}, "canceled. half"},
	} {
		c := tasktest.Step(t, tasktest.NewHead("alice", id), append([]task.Entry{tasktest.Created(at, "hello")}, tt.entries...)...)
		c.Sidecars[task.SidecarRecordRequest] = fmt.Appendf(nil, `{"session":"%s","caller":"Alice","at":%d}`, id, time.Now().UnixMilli())
		if err := tasks.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		h := start(t, tasks, new(memory.MemNotes), recorder.Options{}, true)
		n := h.await("alice", "session/"+string(id)+"/a2a/echo/"+string(id)+"/result")
		if want := "The task was not completed; it ended as " + tt.want; n.Value != want {
			t.Errorf("%s: the result is %q, want %q", id, n.Value, want)
		}
		h.stop()
	}
}
