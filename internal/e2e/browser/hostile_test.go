package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/front/console"
	internalhub "github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
	"github.com/parley-a2a/parley/task"
)

// hostileHub is a hub in the process of the test, with hostile texts in every field that others
// fill: in the cards of agents, in items of the inbox and in dead letters. The agent "all" answers
// with all of them. It has further agents.
func hostileHub(t *testing.T, further ...engine.Agent) *hub {
	t.Helper()
	need(t)
	box := new(inbox.Inbox)
	store := new(memstore.Store)
	h, err := internalhub.New(internalhub.Parts{Store: store, Inbox: box}, internalhub.Settings{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	dead := &queue.DeadLetters{Bus: new(bus.Memory), Store: new(queue.MemLetters)}
	valid := slices.DeleteFunc(slices.Clone(hostiletest.Texts), func(s string) bool { return !utf8.ValidString(s) }) // the hub refuses others
	agents := []engine.Agent{{Name: "all", Card: hostiletest.Card("all"), Executor: hostiletest.Executor(valid...)}}
	for i, s := range hostiletest.Texts {
		name := task.Agent(fmt.Sprint("agent", i))
		agents = append(agents, engine.Agent{Name: name, Card: hostiletest.Card(s), Executor: hostiletest.Executor(s)})
		l, err := queue.LetterOf(&bus.Envelope{ID: fmt.Sprint("letter", i), Type: "work", Source: "hub/h", Queue: s, Reason: s, Task: s}, time.Now())
		if err == nil {
			err = dead.Store.PutLetter(t.Context(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
		item := &inbox.Item{ID: inbox.ID(fmt.Sprint("item", i)), Kind: inbox.Question, Owner: "local", Agent: name, Text: s, Draft: s, CallerName: s, Skill: s}
		_, _ = box.Put(t.Context(), item) // it refuses some texts itself
	}
	agents = append(agents, further...)
	for i := range agents {
		if err := h.Engine().Register(agents[i]); err != nil {
			t.Fatal(err)
		}
	}
	api := h.API()
	api.Control, api.Dead, api.Reach = &operator.Operator{Engine: h.Engine(), Tasks: store}, dead, h.Reach("http://hub.test", "")
	c := &console.Handler{Hub: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Handler().ServeHTTP(w, r) }), Version: "test"}
	h.Mount(internalhub.Front{API: api, Console: c, Loopback: true})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- h.Run(ctx, internalhub.Work{Ready: func() { close(ready) }}) }()
	srv := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		cancel()
		srv.CloseClientConnections()
		srv.Close()
		c.Close()
		if err := <-ended; err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	<-ready
	return &hub{url: srv.URL}
}

// trap runs in each page before its own script: it counts the effects of a text.
const trap = `window.ran = 0;
for (const name of ["zq7", "alert", "confirm", "prompt", "print", "open"]) { window[name] = () => { window.ran++; }; }
document.addEventListener("securitypolicyviolation", () => { window.ran++; });`

// look returns the state of a page: the number of effects, elements and attributes that the
// templates do not have, and its text.
const look = `(() => {
  const odd = [];
  for (const e of document.querySelectorAll("*")) {
    const allowed = elements[e.localName];
    if (e.closest(".plot")) { continue; } // curves
    if (allowed === undefined) { odd.push("<" + e.localName + ">"); continue; }
    for (const a of e.attributes) {
      if (!allowed.split(" ").includes(a.name) && !(e.localName === "button" && ["type", "hidden"].includes(a.name))) { odd.push("<" + e.localName + " " + a.name + ">"); }
      if (["href", "src", "action"].includes(a.name) && !new URL(a.value, location.href).href.startsWith(location.origin + "/console/")) { odd.push("<" + e.localName + " to " + a.value + ">"); }
    }
    // Events that need a person or an animation.
    for (const kind of ["mouseover", "click", "focus", "toggle", "animationstart", "load", "error"]) {
      if (!["a", "button", "form", "input", "select", "textarea", "summary", "script", "link"].includes(e.localName)) { e.dispatchEvent(new Event(kind)); }
    }
  }
  const fields = [...document.querySelectorAll("input, textarea")].map(f => f.value);
  return JSON.stringify({Ran: window.ran, Odd: odd, Text: document.body.textContent + "\n" + fields.join("\n"), Marks: document.body.innerHTML.split("zq7").length - 1});
})()`

// seenPage is the answer of look.
type seenPage struct {
	Ran   int
	Odd   []string
	Text  string
	Marks int
}

// harmless checks the page that is open. It must have the mark at least a number of times.
func (b *tab) harmless(name string, marks int) seenPage {
	b.t.Helper()
	list, err := json.Marshal(hostiletest.Elements)
	if err != nil {
		b.t.Fatal(err)
	}
	var answer string
	b.run(chromedp.Evaluate(strings.Replace(look, "const odd", "const elements = "+string(list)+", odd", 1), &answer))
	var p seenPage
	if err := json.Unmarshal([]byte(answer), &p); err != nil {
		b.t.Fatal(err)
	}
	if p.Ran != 0 || len(p.Odd) > 0 {
		b.t.Errorf("%s: %d effects, and elements %q", name, p.Ran, p.Odd)
	}
	if p.Marks < marks {
		b.t.Errorf("%s shows the mark %d times, want %d", name, p.Marks, marks)
	}
	return p
}

// plain reports whether a page shows a text unchanged, without codes for some of its characters.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' || r >= 0x7f
	})
}

// TestHostile opens the pages of a hub whose texts try to become more than text, in a real browser.
// Nothing runs, nothing is requested, and the texts are shown.
func TestHostile(t *testing.T) {
	t.Parallel()
	b := open(t, hostileHub(t))
	chromedp.ListenTarget(b.ctx, func(ev any) {
		if d, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			t.Errorf("a dialog: %s", d.Message)
		}
	})
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(trap).Do(ctx)
		return err
	}))
	n := len(hostiletest.Texts)
	visit := func(path string, marks int) seenPage {
		t.Helper()
		b.run(chromedp.Navigate(b.hub.url+"/console/"+path), chromedp.WaitReady("footer"))
		return b.harmless(path, marks)
	}
	shows := func(name string, p seenPage) {
		t.Helper()
		for _, s := range hostiletest.Texts {
			if plain(s) && !strings.Contains(p.Text, s) {
				t.Errorf("%s does not show %q", name, s)
			}
		}
	}
	shows("agents", visit("agents", n))
	shows("dead letters", visit("dead", 2*n))
	visit("", 0)

	// The entries come while the page is open, by the script of the page.
	b.send("all", "begin")
	b.shows("#head .badge", "input required")
	shows("a live task", b.harmless("a live task", 4*n))
	id := b.task()
	shows("a task", visit("task?id="+id, 4*n))
	for _, v := range []string{"2", "3", "9", "100", "173"} {
		visit("task/raw?id="+id+"&v="+v, 1)
		visit("task/raw?as=v0.3&id="+id+"&v="+v, 1)
	}
	for next := "inbox"; next != ""; {
		visit(next, 1)
		b.run(chromedp.Evaluate(`(document.querySelector(".pager a") || {search: ""}).search`, &next))
		if next != "" {
			next = "inbox" + next
		}
	}
	visit("tasks", 0)
	for i, s := range hostiletest.Texts {
		q := url.QueryEscape(s)
		p := visit(fmt.Sprintf("try?agent=agent%d&text=%s&context=%s", i, q, q), 5)
		if plain(s) && !strings.Contains(p.Text, s) {
			t.Errorf("the card does not show %q", s)
		}
		if i%4 == 0 {
			visit("tasks?agent="+q+"&context="+q+"&state="+q+"&id="+q+"&since="+q, 0)
			visit("tasks?q="+q+"&cols="+q+"&sort="+q+"&n="+q+"&scope="+q, 0)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.IndexFunc(b.requests, func(address string) bool {
		return !strings.HasPrefix(address, b.hub.url+"/console/")
	}); i >= 0 {
		t.Errorf("the browser has requested %s", b.requests[i])
	}
}
