package browser_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// files writes files into a new folder, and returns the path of parley.yaml there.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "parley.yaml")
}

// twoHubs starts a hub whose agent lead asks helper, which asks far. That is the agent foreman of the
// other hub, where it asks digger, which works until it can read from the file gate.
func twoHubs(t *testing.T) (here, there *hub, gate string) {
	t.Helper()
	gate = filepath.Join(t.TempDir(), "gate")
	there = &hub{data: filepath.Join(t.TempDir(), "data")}
	there.serve(t, "--config", files(t, map[string]string{
		"parley.yaml": `
model_providers:
  - {name: talk, script: talk.yaml}
agents:
  - {name: foreman, model: {system_prompt: You divide.}}
  - {name: digger, description: Digs., command: [./work.sh]}
`,
		"talk.yaml": `
turns:
  - {when: {system: you divide, role: user}, calls: [{name: chat_with_agent, arguments: {agent: digger, message: please dig}}]}
  - {when: {system: you divide, role: tool}, text: It has been dug.}
`,
		"work.sh": "#!/bin/sh\nmkfifo " + gate + "\nread -r line < " + gate + "\necho \"the work is $line\"\n",
	}))
	here = &hub{data: filepath.Join(t.TempDir(), "data")}
	here.serve(t, "--config", files(t, map[string]string{
		"parley.yaml": `
model_providers:
  - {name: talk, script: talk.yaml}
agents:
  - {name: lead, model: {system_prompt: You lead.}}
  - {name: helper, model: {system_prompt: You help.}}
  - {name: far, url: "` + there.url + `/a2a/foreman"}
`,
		"talk.yaml": `
turns:
  - {when: {system: you lead, role: user}, calls: [{name: chat_with_agent, arguments: {agent: helper, message: please help}}]}
  - {when: {system: you help, role: user}, calls: [{name: chat_with_agent, arguments: {agent: far, message: please work}}]}
  - {when: {system: you help, role: tool}, text: It has been helped.}
  - {when: {system: you lead, role: tool}, text: It has been led.}
`,
	}))
	return here, there, gate
}

// TestTree watches a tree of four agents over two hubs on the page of its first task. The page shows
// digger, whose task this hub reads over A2A, with the tokens and the cost of all.
func TestTree(t *testing.T) {
	t.Parallel()
	need(t)
	here, there, gate := twoHubs(t)
	b := open(t, here)
	b.run(chromedp.Navigate(here.url + "/console/"))
	b.send("lead", "begin")
	b.run(chromedp.Evaluate(`window.stayed = true`, nil))
	for _, agent := range []string{"lead", "helper", "far", "digger"} {
		b.shows("#tree", agent)
	}
	b.holds(`[...document.querySelectorAll("#tree .badge")].filter(e => e.textContent === "working").length === 4`)
	b.shows("#tree .note", "performed at "+there.url+"/a2a/foreman")
	b.shows("#tree li.d3", "at far")
	b.holds(`document.querySelector("#tree li.d3 a") === null`)
	b.shot("task-tree")
	if err := os.WriteFile(gate, []byte("done\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.holds(`[...document.querySelectorAll("#tree .badge")].filter(e => e.textContent === "completed").length === 4`)
	b.shows("#timeline", "It has been led.")
	b.holds(`window.stayed === true`)
	b.run(chromedp.Navigate(here.url+"/console/tasks"), chromedp.Click(`main tbody a.line`))
	b.shows("#tree li.d3", "digger") // a page of a tree that has ended
	b.run(chromedp.Click(`#tree li.d1 a`))
	b.shows("#timeline", "please help")
}

// TestRedrive runs a task again whose program hangs. The page shows the further attempt and its
// answer.
func TestRedrive(t *testing.T) {
	t.Parallel()
	need(t)
	folder := t.TempDir()
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	h.serve(t, "--config", files(t, map[string]string{
		"parley.yaml": "agents:\n  - {name: stuck, description: Hangs., command: [./stuck.sh]}\n",
		"stuck.sh":    "#!/bin/sh\ncd " + folder + "\nif mkdir first; then mkfifo gate; read -r line < gate; fi\necho 'the second attempt answers'\n",
	}))
	b := open(t, h)
	b.send("stuck", "work")
	b.shows("#head .badge", "working")
	b.confirms("Redrive", "")
	b.shows("#head .badge", "completed")
	b.shows("#timeline", "Another attempt begins")
	b.shows("#timeline", "the second attempt answers")
}

// TestTwoTabs approves the same item in two tabs. The second person learns who was first.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	need(t)
	h := &hub{data: filepath.Join(t.TempDir(), "data")}
	ada := h.key(t, "--agent", "ada", "--role", "admin", "--owner", "local")
	bob := h.key(t, "--agent", "bob", "--role", "admin", "--owner", "local")
	partner := h.key(t, "--agent", "partner")
	h.serve(t, "--config", files(t, map[string]string{"parley.yaml": "agents:\n  - {name: echo, trust: gated}\n"}))
	h.command(t, "trust", "set", "partner", "--level", "propose", "--url", h.url, "--api-key", ada)
	asker := open(t, h)
	asker.enter(partner)
	asker.send("echo", "plan B")
	asker.shows("#head .badge", "auth required")

	first, second := open(t, h), open(t, h)
	for b, key := range map[*tab]string{first: ada, second: bob} {
		b.enter(key)
		b.run(chromedp.Navigate(h.url+"/console/inbox"), chromedp.WaitVisible("article.item"))
		b.shows("article.item", "plan B")
	}
	first.shot("inbox-approval")
	first.run(chromedp.Click(`button[value="approve"]`))
	first.shows("main", "Nothing needs attention")
	second.run(chromedp.Click(`button[value="approve"]`))
	second.shows(".alert", "approved by ada")
	asker.shows("#head .badge", "completed")
	asker.shows("#timeline .entry.agent .text", "plan B")
	first.run(chromedp.Navigate(h.url + "/console/tasks?id=" + url.QueryEscape("none0")))
	first.shows("main", "No matching tasks")
}
