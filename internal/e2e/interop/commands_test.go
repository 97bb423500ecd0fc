package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// site is a foreign agent, and the binding of its calls.
type site struct{ url, binding string }

// parley runs a command on the agent.
func (s site) parley(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	words := map[string]string{"JSONRPC": "jsonrpc", "HTTP+JSON": "rest", "GRPC": "grpc"}
	return parley(t, append(args, "--url", s.url, "--binding", words[s.binding])...)
}

// command is a test of one command.
type command struct {
	name string
	run  func(t testing.TB, at site)
}

// commands are the uses of a foreign agent by a person.
var commands = []command{
	{"send", func(t testing.TB, at site) {
		out, errs, code := at.parley(t, "send", "hello out there")
		if out != "hello out there\n" || code != 0 {
			t.Errorf("parley send: exit code %d, %q, %q; want the reply", code, out, errs)
		}
	}},
	{"stream", func(t testing.TB, at site) {
		out, errs, code := at.parley(t, "send", "--stream", "hello out there")
		if out != "hello out there\n" || code != 0 {
			t.Errorf("parley send --stream: exit code %d, %q, %q; want the reply", code, out, errs)
		}
	}},
	{"message", func(t testing.TB, at site) {
		out, errs, code := at.parley(t, "send", "brief")
		if out != "in short: yes\n" || code != 0 {
			t.Errorf("parley send: exit code %d, %q, %q; want the message", code, out, errs)
		}
	}},
	{"file", func(t testing.TB, at site) {
		dir := t.TempDir()
		image := filepath.Join(dir, "a.png")
		want := "\x89PNG\r\n\x1a\n\x00\xff"
		if err := os.WriteFile(image, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := at.parley(t, "send", "--file", image, "--json", "see")
		if code != 0 {
			t.Fatalf("parley send: exit code %d, %q", code, errs)
		}
		task := printedTask(t, out)
		parts := task.Artifacts[0].Parts
		if got := parts[len(parts)-1]; string(got.Raw) != want || got.MediaType != "image/png" || got.Filename != "a.png" {
			t.Errorf("the image came back as %+v", got)
		}
	}},
	{"follow up", func(t testing.TB, at site) {
		out, errs, code := at.parley(t, "send", "--json", "ask")
		if code != 3 {
			t.Fatalf("parley send: exit code %d, %q, %q; want 3, for a question", code, out, errs)
		}
		task := printedTask(t, out)
		out, errs, code = at.parley(t, "send", "--task", task.ID, "the red one")
		if out != "the red one\n" || code != 0 {
			t.Errorf("parley send --task: exit code %d, %q, %q; want the reply", code, out, errs)
		}
	}},
	{"get", func(t testing.TB, at site) {
		out, _, _ := at.parley(t, "send", "--json", "again")
		task := printedTask(t, out)
		out, errs, code := at.parley(t, "tasks", "get", "--json", task.ID)
		var again struct{ ID string }
		if err := json.Unmarshal([]byte(out), &again); err != nil || again.ID != task.ID || code != 0 {
			t.Errorf("parley tasks get: exit code %d, %q, %q; want the task %s", code, out, errs, task.ID)
		}
		if _, errs, code := at.parley(t, "tasks", "get", "none"); code != 1 || !strings.Contains(errs, "not found") {
			t.Errorf("parley tasks get none: exit code %d, %q; want 1", code, errs)
		}
	}},
	{"list", func(t testing.TB, at site) {
		context := a2a.NewContextID()
		var want []string
		for _, words := range []string{"a", "b", "c"} {
			out, errs, code := at.parley(t, "send", "--context", context, "--json", words)
			if code != 0 {
				t.Fatalf("parley send: exit code %d, %q", code, errs)
			}
			want = append([]string{printedTask(t, out).ID}, want...)
		}
		out, errs, code := at.parley(t, "tasks", "list", "--context", context)
		var got []string
		for line := range strings.Lines(out) {
			id, _, _ := strings.Cut(line, "\t")
			got = append(got, id)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") || code != 0 {
			t.Errorf("parley tasks list: exit code %d, %v, %q; want %v", code, got, errs, want)
		}
	}},
	{"cancel", func(t testing.TB, at site) {
		out, errs, code := at.parley(t, "send", "--detach", "wait")
		id := strings.TrimSpace(out)
		if code != 0 || id == "" {
			t.Fatalf("parley send --detach: exit code %d, %q", code, errs)
		}
		out, errs, code = at.parley(t, "tasks", "cancel", id)
		if out != "canceled\n" || code != 0 {
			t.Errorf("parley tasks cancel: exit code %d, %q, %q; want canceled", code, out, errs)
		}
		out, _, _ = at.parley(t, "send", "--json", "done")
		if _, errs, code := at.parley(t, "tasks", "cancel", printedTask(t, out).ID); code != 1 || !strings.Contains(errs, "cancel") {
			t.Errorf("parley tasks cancel of a finished task: exit code %d, %q; want 1", code, errs)
		}
	}},
}

// printedTask parses the output of --json.
func printedTask(t testing.TB, out string) task {
	t.Helper()
	var ev event
	if err := json.Unmarshal([]byte(out), &ev); err != nil || ev.Task == nil {
		t.Fatalf("printed %q, want a task (%v)", out, err)
	}
	return *ev.Task
}
