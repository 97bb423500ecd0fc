package console_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
)

// letter stores a dead letter, and returns its id.
func (w *world) letter(e *bus.Envelope) string {
	w.t.Helper()
	e.Type, e.Source = "work", "hub/h"
	l, err := queue.LetterOf(e, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.dead.Store.PutLetter(w.t.Context(), l); err != nil {
		w.t.Fatal(err)
	}
	return string(l.ID)
}

// TestDeadLetters replays and drops dead letters.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	wants(t, root.get("/console/dead"), 200, "There are no dead letters")
	one := w.letter(&bus.Envelope{ID: "1", Queue: "agent.task.a", Reason: "no good", Task: "t1"})
	two := w.letter(&bus.Envelope{ID: "2", Reason: "from nowhere"})
	for _, path := range []string{"/console/dead", "/console/webhooks", "/console/audit", "/console/audit/verify"} {
		if a := ann.get(path); a.code != 403 || strings.Contains(a.body, "no good") {
			t.Errorf("%s of a caller without a role = %d %s", path, a.code, a.body)
		}
	}
	wants(t, root.get("/console/dead"), 200, "no good", "from nowhere")
	if a := root.get("/console/dead?queue=agent.task.a"); strings.Contains(a.body, "from nowhere") {
		t.Error("the filter shows another queue")
	}
	wants(t, root.post("/console/dead", "id", two, "verb", "replay"), 409, `role="alert"`)
	wants(t, root.post("/console/dead", "id", two, "verb", "burn"), 400, "Choose to replay")
	if a := root.post("/console/dead", "id", two, "verb", "drop"); a.code != 200 || strings.Contains(a.body, "from nowhere") {
		t.Errorf("drop = %d %s", a.code, a.body)
	}
	root.post("/console/dead", "id", one, "verb", "replay")
	if d, err := w.bus.Depth(t.Context(), bus.Queue("agent.task.a")); err != nil || d.Ready != 1 {
		t.Errorf("after the replay the queue holds %+v, %v", d, err)
	}
	three, four := w.letter(&bus.Envelope{ID: "3", Queue: "agent.task.a", Reason: "later"}), w.letter(&bus.Envelope{ID: "4", Queue: "agent.task.a", Reason: "later"})
	wants(t, root.get("/console/dead"), 200, "Replay all 2…", "Replay 2 letters")
	if a := root.post("/console/dead", "id", three, "id", one, "id", four, "verb", "replay"); a.code != 200 || strings.Contains(a.body, "later") { // one is gone
		t.Errorf("replay of several = %d %s", a.code, a.body)
	}
	if d, err := w.bus.Depth(t.Context(), bus.Queue("agent.task.a")); err != nil || d.Ready != 3 {
		t.Errorf("after the replays the queue holds %+v, %v", d, err)
	}
	wants(t, root.get("/console/webhooks"), 200, "No task has a webhook")
	wants(t, root.get("/console/webhooks?dead=1"), 200, "Every notification was delivered")
	wants(t, root.post("/console/webhooks", "id", "none"), 404, "no such webhook")
}

var pageLink = regexp.MustCompile(`href="(/console/[a-z]+\?[^"]*(?:page|after)=[^"]+)"[^>]*>(Older|More|Newer)`)

// TestPaging follows the links between the pages of tasks and of the audit log.
func TestPaging(t *testing.T) {
	t.Parallel()
	root := newWorld(t, true).as(rootKey)
	sent := make(map[string]bool)
	for range 52 {
		sent[root.send("echo", "hello")] = true
	}
	for _, first := range []string{"/console/tasks?agent=echo", "/console/tasks?scope=all&id=0"} {
		if strings.Contains(first, "id=0") {
			for id := range sent {
				first = "/console/tasks?scope=all&id=" + id[:4]
			}
		}
		a := root.get(first)
		more := pageLink.FindStringSubmatch(a.body)
		if a.code != 200 || strings.Count(a.body, `a class="line"`) != 50 || more == nil {
			t.Fatalf("%s = %d %s", first, a.code, a.body)
		}
		a = root.get(html.UnescapeString(more[1]))
		if a.code != 200 || strings.Count(a.body, `a class="line"`) != 2 || !strings.Contains(a.body, "First page") {
			t.Errorf("%s = %d %s", more[1], a.code, a.body)
		}
	}
	a := root.get("/console/audit")
	older := pageLink.FindStringSubmatch(a.body)
	if a.code != 200 || older == nil {
		t.Fatalf("the audit log = %d %s", a.code, a.body)
	}
	wants(t, root.get(html.UnescapeString(older[1])), 200, "key", "Newer entries")
	wants(t, root.get("/console/audit?action=task"), 200, "Newer entries")
}

// TestAudit reads the audit log with filters, and verifies it before and after a change.
func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	id := ann.send("interview", "start")
	ann.events("/console/task/events?id="+id+"&after=0", "input required")
	root.get("/console/task?id=" + id + "&owner=ann")
	root.post("/console/task/operate", "id", id, "owner", "ann", "verb", "fail", "reason", "x")
	wants(t, root.get("/console/audit"), 200, "task.operate", "task.inspect", "root", id)
	if a := root.get("/console/audit?action=task.operate"); !strings.Contains(a.body, "task.operate") || strings.Contains(a.body, "task.inspect</td>") {
		t.Errorf("the filter shows %s", a.body)
	}
	wants(t, root.get("/console/audit?actor=none"), 200, "No matching entries")
	wants(t, root.get("/console/audit?since=x"), 200, "is not a time")
	wants(t, root.get("/console/audit/verify"), 200, "intact")
	files, err := filepath.Glob(filepath.Join(w.audit, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the log: %q, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(strings.Replace(string(b), "task.operate", "task.observe", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, root.get("/console/audit/verify"), 200, "changed", `class="alert"`)
}
