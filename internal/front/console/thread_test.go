package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

var contextLink = regexp.MustCompile(`href="/console/context\?context=([^"&#]+)`)

// context returns the context of a task, from the link on its page.
func (p *person) context(id string) string {
	p.t.Helper()
	a := p.get("/console/task?id=" + id)
	m := contextLink.FindStringSubmatch(a.body)
	if m == nil {
		p.t.Fatalf("the page of the task does not link to its context: %s", a.body)
	}
	return m[1]
}

// TestThread shows the tasks of a context as a conversation, sends the next message into it, and answers its
// question there. Other callers cannot read it.
func TestThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, bob, root := w.as(annsKey), w.as(bobsKey), w.as(rootKey)
	first := ann.send("echo", "the first words")
	ann.events("/console/task/events?id="+first+"&after=0", "completed")
	c := ann.context(first)
	page := "/console/context?context=" + c
	wants(t, ann.get(page), 200, "the first words", "Task "+first[:8], "Next message", "<title>Conversation · echo · Parley</title>")
	wants(t, ann.get("/console/tasks"), 200, "context?context="+c)
	a := ann.post("/console/context", "context", c, "agent", "interview", "text", "start")
	if a.code != 200 || !strings.HasPrefix(a.path, page) {
		t.Fatalf("the next message = %d at %s\n%s", a.code, a.path, a.body)
	}
	second := regexp.MustCompile(`task/events\?id=([^&"]+)`).FindStringSubmatch(a.body)
	if second == nil {
		t.Fatalf("the page does not follow the task: %s", a.body)
	}
	ann.events("/console/task/events?id="+second[1]+"&after=0", "input required")
	a = ann.get(page)
	wants(t, a, 200, "the first words", "start", "Your answer to interview", `name="id" value="`+second[1], `id="timeline"`)
	if strings.Index(a.body, "the first words") > strings.Index(a.body, `<div class="text">start`) {
		t.Error("the newest task comes first")
	}
	wants(t, ann.post("/console/context", "context", c, "id", second[1], "text", "my answer"), 200, "my answer")
	wants(t, ann.post("/console/context", "context", c, "agent", "echo", "text", ""), 422, "Write a message", "the first words")
	wants(t, ann.post("/console/context", "context", c, "agent", "none", "text", "kept words"), 404, `role="alert"`, "kept words")
	wants(t, ann.get("/console/context"), 404, "Name a context")
	ann.token = "wrong"
	wants(t, ann.post("/console/context", "context", c, "agent", "echo", "text", "forged"), 403, "Nothing was changed")

	missing := bob.get("/console/context?context=none")
	if a := bob.get(page); a.code != missing.code || strings.ReplaceAll(a.body, c, "none") != strings.ReplaceAll(missing.body, c, "none") {
		t.Errorf("bob's page of ann's context differs from that of none: %d %s", a.code, a.body)
	}
	if a := bob.get(page + "&owner=ann"); a.code != 403 || strings.Contains(a.body, "the first words") {
		t.Errorf("bob reads ann's context: %d %s", a.code, a.body)
	}
	wants(t, bob.post("/console/context", "context", c, "agent", "echo", "id", first, "text", "intrusion"), 404)
	a = root.get(page + "&owner=ann")
	wants(t, a, 200, "the first words", "my answer", "of ann", "Only its owner")
	if strings.Contains(a.body, "<textarea") || strings.Contains(a.body, "forged") || strings.Contains(a.body, "intrusion") {
		t.Errorf("an administrator sees a form or a forged message: %s", a.body)
	}
}

// TestThreadWithoutSession sends a message after the session has ended, which comes back with its words.
func TestThreadWithoutSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann := w.as(annsKey)
	c := ann.context(ann.send("echo", "the first words"))
	token := ann.token
	ann.post("/console/sign-out")
	ann.token = token
	a := ann.post("/console/context", "context", c, "agent", "echo", "text", "later words")
	if !strings.Contains(a.path, "/console/sign-in") || !strings.Contains(a.path, "later") {
		t.Errorf("a message without a session = %d at %s", a.code, a.path)
	}
}

// TestLongThread reads the newest tasks of a context with very many, and the others page by page.
func TestLongThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	p := w.person()
	c := p.context(p.send("echo", "message 0"))
	for i := 1; i < 45; i++ {
		p.post("/console/context", "context", c, "agent", "echo", "text", fmt.Sprint("message ", i, strings.Repeat(" long", 8_000)))
	}
	a := p.get("/console/context?context=" + c)
	wants(t, a, 200, "message 44", "Earlier tasks", "Next message")
	if n := strings.Count(a.body, `<div class="turn">`); n != 20 || len(a.body) > 1<<20 {
		t.Errorf("the page has %d tasks and %d bytes", n, len(a.body))
	}
	m := regexp.MustCompile(`href="(/console/context\?[^"]*page=[^"]+)"`).FindStringSubmatch(a.body)
	if m == nil {
		t.Fatal("no link to earlier tasks")
	}
	a = p.get(strings.ReplaceAll(m[1], "&amp;", "&"))
	wants(t, a, 200, "message 10", "Newest tasks")
	if strings.Contains(a.body, "Next message") || strings.Contains(a.body, "message 44") {
		t.Error("a page of earlier tasks has the form or the newest task")
	}
}

// TestHostileThread checks for each hostile text that a conversation makes nothing of it.
func TestHostileThread(t *testing.T) {
	t.Parallel()
	h := hostileWorld(t)
	p := h.person()
	for i, s := range hostiletest.Texts {
		q := url.QueryEscape(s)
		check(t, fmt.Sprintf("%q as a context", s), p.get("/console/context?context="+q+"&owner="+q+"&text="+q+"&page="+q).body)
		id := p.send(string(agentOf(i)), s)
		p.events("/console/task/events?id="+id+"&after=0", "input required")
		a := p.get("/console/context?context=" + p.context(id))
		check(t, fmt.Sprintf("%q in a conversation", s), a.body)
		if !strings.Contains(a.body, hostiletest.Mark) {
			t.Errorf("%q: the conversation does not show it", s)
		}
	}
}
