package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestNeedsAttention reads on the overview which tasks need a person, resumes an agent there, stops chosen tasks, and
// sends the message of a failed one again. A list says that it is out of date only if it is.
func TestNeedsAttention(t *testing.T) {
	need(t)
	axe := axeCore(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.yaml")
	if err := os.WriteFile(config, []byte("agents:\n  - {name: queued, queue: queued}\n  - {name: broken, command: [sh, -c, 'echo no such table: orders >&2; exit 1']}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hub{data: filepath.Join(dir, "data")}
	h.serve(t, "--config", config)
	b := open(t, h)
	overview := func() { b.run(chromedp.Navigate(h.url+"/console/"), chromedp.WaitVisible("#attention")) }
	b.run(chromedp.Navigate(h.url + "/console/"))
	b.send("echo", "hello")
	b.shows("#head .badge", "completed")
	overview()
	b.shows("#attention .empty", "Nothing waits for a person.")
	b.shot("attention-empty")

	// The open page follows what happens.
	second := open(t, h)
	second.run(chromedp.Navigate(h.url+"/console/agents"), chromedp.WaitVisible(".cards"))
	second.asks(`.card:has(a[href*="agent=clock"])`, "Pause")
	second.answers("a new model until 18:00")
	second.shows(".news", "is paused")
	second.shows(".card", "Paused now by local: a new model until 18:00")
	second.shot("agents-paused")
	second.send("queued", "count the orders of the week")
	second.send("broken", "load the orders")
	second.shows("#head .badge", "failed")
	second.shows("#head .reason", "no such table")
	second.accessible("a failed task", axe)
	second.shot("task-failed")
	b.shows("#attention", "no worker is connected for agent")
	b.shows("#attention", "no such table: orders")
	b.accessible("attention", axe)
	b.shot("attention")

	second.asks("main", "Send again")
	second.shows("dialog[open]", "as a new task in the same conversation")
	second.shot("send-again")
	failed := second.task()
	second.run(chromedp.Click(`dialog[open] form button:not(.close)`))
	second.holds(`new URLSearchParams(location.search).get("id") !== "` + failed + `" && !!document.querySelector("#timeline")`)
	second.shows("#timeline", "refers to task")
	b.shows("#attention", "2 tasks of broken")

	// The list is out of date once a task has come, and not before.
	b.run(chromedp.Navigate(h.url+"/console/tasks?state=TASK_STATE_SUBMITTED"), chromedp.WaitVisible("table.tasks"), chromedp.Evaluate(`window.stayed = true`, nil))
	second.send("echo", "nothing to see")
	b.holds(`Number(document.querySelector('#counts [data-state="TASK_STATE_COMPLETED"]').dataset.n) + Number(document.querySelector('#counts [data-state="TASK_STATE_SUBMITTED"]').dataset.n) >= 3 && document.querySelector("#news").hidden`)
	second.send("queued", "count them again")
	b.shows("#news:not([hidden])", "Tasks have changed.")

	b.run(chromedp.Navigate(h.url+"/console/tasks?agent=queued"), chromedp.WaitVisible("table.tasks"))
	b.holds(`document.querySelector("#stop button").disabled`)
	b.run(chromedp.Click(`input[form="stop"]`))
	b.shows("#stop button", "Stop 1 chosen…")
	b.accessible("chosen tasks", axe)
	b.shot("tasks-chosen")
	b.run(chromedp.Click(`#stop button[value="all"]`), chromedp.WaitVisible(`form[data-busy]`))
	b.shows("h1", "Stop 2 tasks?")
	b.accessible("stop", axe)
	b.shot("stop")
	b.run(chromedp.Click(`form[data-busy] button`))
	b.shows("h1", "2 of 2 tasks canceled")
	b.accessible("stopped", axe)
	b.shot("stopped")
}
