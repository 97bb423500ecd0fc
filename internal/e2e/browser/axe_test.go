package browser_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// rules are the rules of axe-core for WCAG 2.2 A and AA.
const rules = `["wcag2a","wcag2aa","wcag21a","wcag21aa","wcag22aa"]`

// violation is a rule that a page breaks.
type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string
		FailureSummary string
	}
}

// accessible checks the page against the rules, in light and dark colours and on a narrow screen.
func (b *tab) accessible(page string, axe string) {
	b.t.Helper()
	for _, v := range []struct {
		kind, scheme string
		wide         int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 390}} {
		var report string
		b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}),
			chromedp.EmulateViewport(v.wide, 900), chromedp.Evaluate(axe, nil),
			// Texts that fade in have less contrast until they have arrived.
			chromedp.Evaluate(`Promise.allSettled(document.getAnimations().map(a => a.finished)).then(() => axe.run(document, {runOnly: {type: "tag", values: `+rules+`}})).then(r => JSON.stringify(r.violations))`, &report,
				func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		var all []violation
		if err := json.Unmarshal([]byte(report), &all); err != nil {
			b.t.Fatal(err)
		}
		for _, w := range all {
			for _, n := range w.Nodes {
				b.t.Errorf("%s, %s: %s: %s\n%s\n%s", page, v.kind, w.ID, w.Help, n.HTML, n.FailureSummary)
			}
		}
		var wide int64
		b.run(chromedp.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide))
		if wide > 0 {
			b.t.Errorf("%s, %s: the page is %d pixels wider than the window", page, v.kind, wide)
		}
	}
}

// axeCore returns the program of axe-core.
func axeCore(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testenv.Made(t, "internal/e2e/browser/node_modules"), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAccessible checks every page of a hub with tasks, questions and keys.
func TestAccessible(t *testing.T) {
	need(t)
	axe := axeCore(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	key := h.key(t, "--agent", "ann", "--role", "admin")
	h.serve(t)
	b := open(t, h)
	b.run(chromedp.Navigate(h.url+"/console/tasks"), chromedp.WaitVisible("#key"))
	b.accessible("sign-in", axe)
	b.run(chromedp.SendKeys("#key", key), chromedp.Click("main button"), chromedp.WaitVisible(".filters"))
	b.send("echo", "hello <b>world</b>")
	b.shows("#head .badge", "completed")
	echo := b.task()
	b.send("interview", "start")
	b.run(chromedp.WaitVisible("#answer"))
	interview := b.task()
	b.send("report", "the week of the **team**")
	b.shows("#head .badge", "completed")
	report := b.task()
	for page, path := range map[string]string{
		"a report": "task?id=" + report, "texts as written": "task?as=text&id=" + report,
		"overview": "", "tasks": "tasks", "no tasks": "tasks?state=TASK_STATE_FAILED", "a finished task": "task?id=" + echo, "a question": "task?id=" + interview,
		"bytes": "task/raw?as=v0.3&v=3&id=" + echo, "try": "try?agent=interview", "agents": "agents", "inbox": "inbox", "webhooks": "webhooks", "dead letters": "dead",
		"audit": "audit", "keys": "keys", "queues": "queues", "compare": "compare?a=" + echo + "&b=" + report, "compare one": "compare?a=" + echo, "policy": "policy", "calls": "calls", "costs": "costs", "no calls": "calls?find=none", "why": "policy?op=send&row=1&of=ann&column=echo", "a check": "conformance", "verify": "audit/verify", "missing": "none", "no task": "task?id=none",
	} {
		b.run(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(h.url+"/console/"+path), chromedp.WaitVisible("h1, .headline"))
		b.accessible(page, axe)
		b.shot(strings.ReplaceAll(page, " ", "-"))
	}
}

// TestAccessibleTree checks the page of a task whose tree reaches another hub, while it works and
// when it has ended.
func TestAccessibleTree(t *testing.T) {
	need(t)
	axe := axeCore(t)
	here, _, gate := twoHubs(t)
	b := open(t, here)
	b.run(chromedp.Navigate(here.url + "/console/"))
	b.send("lead", "begin")
	b.shows("#tree li.d3", "at far")
	b.still()
	b.accessible("a tree of two hubs", axe)
	if err := os.WriteFile(gate, []byte("done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.holds(`[...document.querySelectorAll("#tree .badge")].filter(e => e.textContent === "completed").length === 4`)
	b.shows("#timeline", "It has been led.")
	b.still()
	b.accessible("a tree of two hubs that has ended", axe)
}

// still waits until new entries have their final colours.
func (b *tab) still() {
	b.t.Helper()
	b.holds(`document.getAnimations().every(a => a.effect.getComputedTiming().iterations === Infinity)`)
}

// send sends a message by the page for it, and waits for the page of the task.
func (b *tab) send(agent, text string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.hub.url+"/console/try?agent="+agent+"&text="+url.QueryEscape(text)), chromedp.WaitVisible("textarea#text"),
		chromedp.Click("main .stack button"), chromedp.WaitVisible("#timeline"))
}

// task returns the id of the task whose page is open.
func (b *tab) task() string {
	b.t.Helper()
	var address string
	b.run(chromedp.Location(&address))
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("id") == "" {
		b.t.Fatalf("%s is not the page of a task", address)
	}
	return u.Query().Get("id")
}
