package console_test

import (
	"context"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/engine"
)

// fails is an agent whose tasks fail with a text, and working one whose tasks do not end before they are canceled.
type (
	fails   string
	working struct{}
)

func (f fails) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateFailed, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(string(f)))), nil)
		}
	}
}

func (fails) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

func (working) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if yield(a2a.NewSubmittedTask(ec, ec.Message), nil) && yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil) {
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}
}

func (working) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// at returns a person who has signed in on the way to a page.
func (w *world) at(path, key string) *person {
	w.t.Helper()
	p := w.person()
	p.get("/console/sign-in")
	if a := p.post("/console/sign-in", "key", key, "next", path); a.code != 200 {
		w.t.Fatalf("sign in: %d at %s", a.code, a.path)
	}
	return p
}

func agentsOfNeeds() []engine.Agent {
	card := func(name string) *a2a.AgentCard { return &a2a.AgentCard{Name: name, Version: "1"} }
	return []engine.Agent{
		{Name: "failing", Card: card("failing"), Executor: fails("card of (address): no\u202eanswer\x1b[31m within 5 s")},
		{Name: "working", Card: card("working"), Executor: working{}},
	}
}

// TestNeedsAttention lists the tasks that need a person on the overview: for each caller only what is theirs.
func TestNeedsAttention(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, agentsOfNeeds()...)
	ann, bob, root := w.at("/console/inbox", annsKey), w.at("/console/inbox", bobsKey), w.at("/console/inbox", rootKey)
	bob.done(bob.send("echo", "hello"))
	for range 3 {
		ann.done(ann.send("failing", "hello"))
	}
	if a := root.post("/console/agents", "verb", "pause", "agent", "echo", "reason", "an upgrade"); a.code != 200 {
		t.Fatalf("pause = %d", a.code)
	}
	held := ann.send("echo", "held")
	for _, each := range []struct {
		by   *person
		want []string
	}{
		{ann, []string{">3 tasks<", "card of (address): no", "agent &#34;echo&#34; is paused for", "an upgrade", ">1 task<"}},
		{root, []string{">3 tasks<", "owner ann", "an upgrade", "parley agents resume echo", "Resume echo?", "owner=ann"}},
		{bob, []string{"Nothing waits for a person."}},
	} {
		a := each.by.get("/console/") // the first one: callers share an answer for a second
		wants(t, a, 200, each.want...)
		if strings.ContainsAny(a.body, "\u202e\x1b") {
			t.Error("the overview has control characters")
		}
		if each.by != root && (strings.Contains(a.body, "Resume echo?") || strings.Contains(a.body, "parley agents resume")) {
			t.Error("a caller is offered the operation of an administrator")
		}
		if each.by == bob && (strings.Contains(a.body, "no answer") || strings.Contains(a.body, held)) {
			t.Error("bob sees the tasks of ann")
		}
	}
	stream, _ := root.events("/console/counts/events?scope=all&attention=1", "event: attention")
	if !strings.Contains(stream, "Resume echo?") {
		t.Errorf("the stream has no list:\n%s", stream)
	}
	wants(t, root.get("/console/agents"), 200, "by <b>root</b>: an upgrade")
	if a := ann.get("/console/agents"); strings.Contains(a.body, "<b>root</b>") || !strings.Contains(a.body, "an upgrade") {
		t.Error("a caller reads who has paused an agent, or not why")
	}
}

var formKey = regexp.MustCompile(`name="key" value="([^"]+)"`)

// TestSendAgain sends the message of a failed task as a new task, once for each form, and as a task of the person who
// sends it.
func TestSendAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, agentsOfNeeds()...)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	id := ann.send("failing", "hello <b>\u202e")
	ann.done(id)
	page := ann.get("/console/task?id=" + id)
	wants(t, page, 200, `class="why reason">card of (address): no`, "Send this message again?", "as a new task in the same conversation")
	key := formKey.FindStringSubmatch(page.body)
	if key == nil {
		t.Fatal("the form has no key")
	}
	again := ann.post("/console/task/again", "id", id, "key", key[1])
	wants(t, again, 200, "refers to <a", id, "hello &lt;b&gt;")
	if a := ann.post("/console/task/again", "id", id, "key", key[1]); a.path != again.path {
		t.Errorf("the form was sent twice, and led to %s and %s", again.path, a.path)
	}
	wants(t, ann.post("/console/task/again", "id", id, "key", "none"), 409, "Nothing was sent")
	if a := bob.post("/console/task/again", "id", id, "key", key[1]); a.code != 404 || strings.Contains(a.body, "hello") {
		t.Errorf("bob sends the task of ann again: %d", a.code)
	}
	if a := bob.post("/console/task/again", "id", id, "owner", "ann", "key", key[1]); a.code != 403 {
		t.Errorf("bob sends the task of ann again: %d", a.code)
	}
	page = root.get("/console/task?id=" + id + "&owner=ann")
	wants(t, page, 200, "as a new task of yours, root", "conversation</a>")
	wants(t, root.get("/console/context?owner=ann&context="+contextOf(t, page)), 200, "hello &lt;b&gt;")
	a := root.post("/console/task/again", "id", id, "owner", "ann", "key", formKey.FindStringSubmatch(page.body)[1])
	wants(t, a, 200, "hello &lt;b&gt;")
	if strings.Contains(a.body, "refers to") || strings.Contains(a.path, "owner=") {
		t.Error("the task of root refers to the task of ann, or belongs to ann")
	}
	long := ann.send("failing", strings.Repeat("x", 3<<20))
	ann.done(long)
	a = ann.post("/console/task/again", "id", long, "key", uuid.NewString())
	if u, err := url.Parse(a.path); err != nil || a.code != 200 || u.Query().Get("id") == "" || u.Query().Get("id") == long {
		t.Errorf("a long message leads to %d at %s", a.code, a.path)
	}
	done := ann.send("echo", "hello")
	ann.done(done)
	if a := ann.get("/console/task?id=" + done); strings.Contains(a.body, "Send again") {
		t.Error("a completed task is offered to be sent again")
	}
}

var conversationLink = regexp.MustCompile(`/console/context\?([^"]+)" title="([^"]+)"`)

// contextOf returns the context that the page of a task links to.
func contextOf(t *testing.T, a page) string {
	t.Helper()
	m := conversationLink.FindStringSubmatch(a.body)
	if m == nil || !strings.Contains(m[1], "owner=ann") {
		t.Fatalf("the link to the conversation is %q", m)
	}
	return m[2]
}

// TestStop stops several tasks with one form: the chosen ones, or all that match a filter. An administrator cancels those
// of other owners.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, agentsOfNeeds()...)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	one, two, done := ann.send("working", "first"), ann.send("working", "second"), ann.send("echo", "hello")
	ann.done(done)
	other := bob.send("working", "of bob")
	wants(t, ann.get("/console/tasks"), 200, `form="stop"`, "Stop all that match…")
	wants(t, ann.post("/console/tasks/stop", "verb", "all", "state", ""), 200, "Stop 2 tasks?", "first", "second", "This cannot be undone.")
	wants(t, ann.post("/console/tasks/stop", "verb", "burn"), 400, "Choose the tasks")
	wants(t, ann.post("/console/tasks/stop", "verb", "chosen"), 200, "No task to stop")
	wants(t, ann.post("/console/tasks/stop", "verb", "stop", "task", "%zz"), 400, "The form is invalid")
	a := ann.post("/console/tasks/stop", "verb", "stop", "task", "id="+one, "task", "id="+done, "task", "id="+other, "task", "id=none")
	wants(t, a, 200, "1 of 4 tasks canceled", "has ended already", "not stopped")
	if strings.Contains(a.body, "of bob") {
		t.Error("ann reads the task of bob")
	}
	if a := ann.post("/console/tasks/stop", "verb", "stop", "task", "owner=bob&id="+other); strings.Contains(a.body, "1 of 1") {
		t.Error("ann stops the task of bob")
	}
	wants(t, root.post("/console/tasks/stop", "verb", "all", "agent", "working", "scope", "all"), 200, "Stop 2 tasks?", "second", "of bob")
	wants(t, root.post("/console/tasks/stop", "verb", "stop", "task", "id="+two+"&owner=ann", "task", "id="+other+"&owner=bob"), 200, "2 of 2 tasks canceled")
	for _, of := range []struct {
		by *person
		id string
	}{{ann, one}, {ann, two}, {bob, other}} {
		wants(t, of.by.get("/console/task?id="+of.id), 200, ">canceled<")
	}
	wants(t, bob.get("/console/task?id="+other), 200, ">root<", ">cancel<")
	wants(t, root.get("/console/audit?action=task.inspect"), 200, " earlier reads</summary>")
}
