package console_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
	"github.com/parley-a2a/parley/task"
)

// agentOf returns the name of the agent of a hostile text.
func agentOf(i int) task.Agent { return task.Agent(fmt.Sprint("agent", i)) }

// hostileWorld has an agent for each hostile text, whose card is made of it.
func hostileWorld(t *testing.T) *world {
	t.Helper()
	var all []engine.Agent
	for i, s := range hostiletest.Texts {
		all = append(all, engine.Agent{Name: agentOf(i), Card: hostiletest.Card(s), Executor: hostiletest.Executor(s)})
	}
	return newWorld(t, false, all...)
}

// TestHostile checks for each hostile text, in every field that others fill, that no page makes
// an element, an attribute or an address of it.
func TestHostile(t *testing.T) {
	t.Parallel()
	if len(hostiletest.Texts) < 80 {
		t.Errorf("the table has %d texts", len(hostiletest.Texts))
	}
	w := hostileWorld(t)
	p := w.person()
	check(t, "agents", p.get("/console/agents").body)
	check(t, "overview", p.get("/console/").body)
	check(t, "webhooks", p.get("/console/webhooks").body)
	for i, s := range hostiletest.Texts {
		name := fmt.Sprintf("%q", s)
		check(t, name+" as a card", p.get("/console/try?agent="+url.QueryEscape(string(agentOf(i)))).body)
		check(t, name+" in addresses", p.get("/console/try?agent="+url.QueryEscape(s)+"&text="+url.QueryEscape(s)+"&context="+url.QueryEscape(s)).body)
		check(t, name+" in filters", p.get("/console/tasks?agent="+url.QueryEscape(s)+"&context="+url.QueryEscape(s)+"&state="+url.QueryEscape(s)+"&page="+url.QueryEscape(s)).body)
		check(t, name+" as a search", p.get("/console/tasks?q="+url.QueryEscape(s)+"&cols="+url.QueryEscape(s)+"&sort="+url.QueryEscape(s)+"&n="+url.QueryEscape(s)+"&scope="+url.QueryEscape(s)).body)
		check(t, name+" as an id", p.get("/console/tasks?id="+url.QueryEscape(s)).body)
		check(t, name+" as a task", p.get("/console/task?id="+url.QueryEscape(s)+"&owner="+url.QueryEscape(s)).body)
		check(t, name+" in the filters of the audit log", p.get("/console/audit?actor="+url.QueryEscape(s)+"&since="+url.QueryEscape(s)).body)
		check(t, name+" in the filters of letters", p.get("/console/dead?queue="+url.QueryEscape(s)).body)
		check(t, name+" in the inbox", p.get("/console/inbox?state="+url.QueryEscape(s)).body)
		check(t, name+" after signing in", p.get("/console/sign-in?next="+url.QueryEscape(s)).body)
		id := p.send(string(agentOf(i)), s)
		stream, _ := p.events("/console/task/events?id="+id+"&after=0", "input required")
		checkPieces(t, name, stream)
		a := p.get("/console/task?id=" + id)
		check(t, name+" on the page of a task", a.body)
		if !strings.Contains(a.body, hostiletest.Mark) {
			t.Errorf("%s: the page of the task does not show it", name)
		}
		for _, as := range []string{"", "v0.3"} {
			check(t, name+" as bytes", p.get("/console/task/raw?id="+id+"&v=3&as="+url.QueryEscape(as)).body)
		}
		for n := range 9 {
			checkFile(t, p.get(fmt.Sprintf("/console/task/part?id=%s&v=3&part=%d", id, n)))
		}
		w.letter(&bus.Envelope{ID: fmt.Sprint("letter", i), Queue: s, Reason: s, Task: s})
		item := &inbox.Item{ID: inbox.ID(fmt.Sprint("item", i)), Kind: inbox.Question, Owner: "local", Agent: agentOf(i), Text: s, Draft: s, CallerName: s, Skill: s}
		if _, err := w.inbox.Put(t.Context(), item); err != nil {
			continue // the inbox refuses it itself
		}
		check(t, name+" as a question", p.get("/console/inbox").body)
	}
	list := p.get("/console/tasks")
	check(t, "tasks", list.body)
	if n := strings.Count(list.body, hostiletest.Mark); n < 20 { // those at the beginning of long texts
		t.Errorf("the list of tasks shows the mark %d times", n)
	}
	a := p.get("/console/dead")
	check(t, "dead letters", a.body)
	if n := strings.Count(a.body, hostiletest.Mark); n < 2*len(hostiletest.Texts) {
		t.Errorf("the page of dead letters shows the mark %d times", n)
	}
}

// check fails if a page has elements, attributes or addresses that the templates do not have.
func check(t *testing.T, name, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for n := range doc.Descendants() {
		switch n.Type {
		case html.ElementNode:
			checkElement(t, name, n)
			if n.Data == "script" {
				scripts = append(scripts, n.Attr[0].Val)
			}
		case html.CommentNode:
			t.Errorf("%s: comment %q", name, n.Data)
		case html.TextNode:
			if strings.ContainsFunc(n.Data, forbidden) {
				t.Errorf("%s: text %q has characters that change how it is shown", name, n.Data)
			}
		}
	}
	own := []string{"/console/assets/live.js"}
	if name == "overview" {
		own = append(own, "/console/assets/uplot/uPlot.iife.min.js", "/console/assets/curves.js")
	}
	if strings.Contains(page, "<html") && !slices.Equal(scripts, own) {
		t.Errorf("%s has the scripts %q", name, scripts)
	}
}

// forbidden reports whether a page must not have a character in a text.
func forbidden(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || slices.Contains([]rune{0x200e, 0x200f, 0x61c, 0x2028, 0x2029, 0xfeff}, r)
}

func checkElement(t *testing.T, name string, n *html.Node) {
	t.Helper()
	allowed, ok := hostiletest.Elements[n.Data]
	if !ok {
		t.Errorf("%s: element <%s>", name, n.Data)
		return
	}
	for _, a := range n.Attr {
		if !slices.Contains(strings.Fields(allowed), strings.ToLower(a.Key)) {
			t.Errorf("%s: <%s> has the attribute %s=%q", name, n.Data, a.Key, a.Val)
		}
		switch a.Key {
		case "href", "src", "action", "data-live", "data-source", "data-counts", "data-curves":
			if a.Val != "" && !strings.HasPrefix(a.Val, "/console/") && a.Val != "#main" {
				t.Errorf("%s: <%s> leads to %s", name, n.Data, a.Val)
			}
		case "class", "id", "data-key":
			if strings.Contains(a.Val, hostiletest.Mark) {
				t.Errorf("%s: <%s> has %s=%q", name, n.Data, a.Key, a.Val)
			}
		}
	}
}

// checkPieces checks the pieces that a stream sends, and that no content ends or begins an event.
func checkPieces(t *testing.T, name, stream string) {
	t.Helper()
	for event := range strings.SplitSeq(stream[:strings.LastIndex(stream, "\n\n")], "\n\n") {
		var piece strings.Builder
		kind := ""
		for line := range strings.Lines(event) {
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "event":
				kind = value
			case "data":
				piece.WriteString(value + "\n")
			case "id", "retry", "":
			default:
				t.Errorf("%s: the stream has the line %q", name, line)
			}
		}
		if !slices.Contains([]string{"", "entry", "head", "operate", "tree", "end"}, kind) {
			t.Errorf("%s: the stream has the event %q", name, kind)
		}
		check(t, name+" in a stream", piece.String())
	}
}

// checkFile checks that a browser saves a file of others, or shows it as an image of a known type.
func checkFile(t *testing.T, a page) {
	t.Helper()
	kind, how := a.header.Get("Content-Type"), a.header.Get("Content-Disposition")
	if a.code == 200 && kind != "image/png" && kind != "audio/wav" && (kind != "application/octet-stream" || !strings.HasPrefix(how, "attachment")) {
		t.Errorf("%s is served as %s, %s", a.path, kind, how)
	}
	if a.code == 200 && (a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox")) {
		t.Errorf("%s: headers %v", a.path, a.header)
	}
	if strings.ContainsAny(how, "/\\\r\n") || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%s: disposition %q", a.path, how)
	}
}
