package browser_test

import (
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestActions opens the dialogs of actions, of which one that is closed does nothing. The second of two
// operators reads about the action of the first. The title of a tab names the state and the agent.
func TestActions(t *testing.T) {
	need(t)
	axe := axeCore(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	ada, bob := h.key(t, "--agent", "ada", "--role", "admin", "--owner", "local"), h.key(t, "--agent", "bob", "--role", "admin", "--owner", "local")
	h.serve(t)
	first, second := open(t, h), open(t, h)
	first.enter(ada)
	second.enter(bob)
	first.send("interview", "plan the week")
	first.shows("#head .badge", "input required")
	first.holds(`document.title.endsWith("input required · interview · Parley")`)
	id := first.task()
	second.run(chromedp.Navigate(h.url + "/console/task?id=" + id))
	second.asks("main", "Fail") // the dialog of the second person stays open while the task changes

	first.asks("main", "Fail")
	first.shows("dialog[open]", "of agent interview: “plan the week”")
	first.shows("dialog[open]", "This cannot be undone.")
	first.accessible("a dialog", axe)
	first.shot("a-dialog")
	first.run(chromedp.KeyEvent(kb.Escape))
	first.holds(`!document.querySelector("dialog[open]") && document.activeElement.tagName === "SUMMARY" && document.querySelector("#head .badge").textContent === "input required"`)
	first.confirms("Fail", "the week is over")
	first.shows("#head .badge", "failed")
	first.shows("#timeline", "the week is over")
	first.holds(`document.title.endsWith("failed · interview · Parley")`)

	second.answers("too late")
	second.shows(".alert", "the task has changed (now failed")
	second.shows("#timeline", "ada")
	second.holds(`!document.body.textContent.includes("too late")`)

	first.send("slow", "600s")
	first.shows("#head .badge", "working")
	first.confirms("Redrive", "")
	first.shows("dialog[open]", "Run it again in ")
	first.accessible("a held action", axe)
	first.run(chromedp.Click("dialog[open] .close"))
	first.holds(`!document.querySelector("dialog[open]") && !document.querySelector("#timeline").textContent.includes("redrive")`)
	first.confirms("Redrive", "")
	first.shows("#timeline", "redrive")

	first.run(chromedp.Navigate(h.url+"/console/agents"), chromedp.WaitVisible(".cards"))
	first.confirms("Pause", "a new model")
	first.shows(".news", "is paused")
	first.confirms("Resume", "")
	first.shows(".news", "receives messages again")
	first.run(chromedp.KeyEvent("?"))
	first.shows("dialog[open]", "dead letters")
	first.accessible("keys", axe)
	first.shot("keys")
	first.run(chromedp.KeyEvent(kb.Escape))
	first.holds(`!document.querySelector("dialog[open]")`)
}

// TestActionsWithoutScript fails a task in a browser that runs no script.
func TestActionsWithoutScript(t *testing.T) {
	b := open(t, start(t))
	b.send("interview", "plan the week")
	b.shows("#head .badge", "input required")
	id := b.task()
	b.run(emulation.SetScriptExecutionDisabled(true))
	b.run(chromedp.Navigate(b.hub.url+"/console/task?id="+id), chromedp.Click(`//summary[contains(., "Fail")]`, chromedp.BySearch),
		chromedp.WaitVisible(`details.action input[name="reason"]`), chromedp.SendKeys(`details.action input[name="reason"]`, "it is over"))
	b.shot("a-form-without-script")
	b.run(chromedp.Click(`details.action[open] form button:not(.close)`), chromedp.WaitNotPresent(`details.action input[name="reason"]`), chromedp.WaitVisible("#timeline"))
	b.run(emulation.SetScriptExecutionDisabled(false), chromedp.Reload())
	b.shows("#timeline", "it is over")
}
