package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// rockBot names the protocol of RockBot's agents that are called over HTTP.
const rockBot = "RockBot"

// plainPython returns the command of a script that needs only Python.
func plainPython(script string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, _ string) []string { return []string{testenv.Tool(t, "python3"), script} }
}

// elsewhere are the agents behind the hub.
var elsewhere = append(slices.Clone(servers), server{
	name: "rockbot", title: "`/tasks/send` (RockBot)", speaks: rockBot, dir: "rockbot", program: plainPython("agent.py"),
	// It accepts messages and answers them at the end, and supports nothing else.
	lacks: []string{"message", "cancel"},
})

// ways are the kinds of configuration of a remote agent.
var ways = []string{"url", "endpoint"}

// relayed is an agent of the hub that runs remotely.
type relayed struct {
	*server
	hub, agent string
	// there is the URL of the agent; tap is the proxy that the hub calls instead.
	there string
	tap   *tap
}

// story is a use of the agent by a person.
type story struct {
	name string
	run  func(t testing.TB, a *relayed)
}

var stories = []story{
	{"send", func(t testing.TB, a *relayed) {
		out, errs, code := a.parley(t, "send", "--json", "hello out there")
		if code != 0 {
			t.Fatalf("parley send: exit code %d, %q, %q", code, out, errs)
		}
		a.agree(t, printedTask(t, out).ID, "COMPLETED")
	}},
	{"stream", func(t testing.TB, a *relayed) {
		out, errs, code := a.parley(t, "send", "--stream", "hello out there")
		if out != "hello out there\n" || code != 0 {
			t.Fatalf("parley send --stream: exit code %d, %q, %q; want the reply", code, out, errs)
		}
		out, _, _ = a.parley(t, "tasks", "list", "--limit", "1")
		id, _, _ := strings.Cut(out, "\t")
		a.agree(t, id, "COMPLETED")
	}},
	{"message", func(t testing.TB, a *relayed) {
		out, errs, code := a.parley(t, "send", "brief")
		if out != "in short: yes\n" || code != 0 {
			t.Errorf("parley send: exit code %d, %q, %q; want the message", code, out, errs)
		}
	}},
	{"follow up", func(t testing.TB, a *relayed) {
		out, errs, code := a.parley(t, "send", "--json", "ask")
		if code != 3 {
			t.Fatalf("parley send: exit code %d, %q, %q; want 3, for a question", code, out, errs)
		}
		id := printedTask(t, out).ID
		first := a.agree(t, id, "INPUT_REQUIRED")
		out, errs, code = a.parley(t, "send", "--task", id, "the red one")
		if out != "the red one\n" || code != 0 {
			t.Fatalf("parley send --task: exit code %d, %q, %q; want the reply", code, out, errs)
		}
		// An agent of RockBot identifies a conversation by its context, and has a task for each
		// message.
		if last := a.agree(t, id, "COMPLETED"); last != first && a.speaks != rockBot {
			t.Errorf("the question was of task %s, and the answer went to %s", first, last)
		}
	}},
	{"cancel", func(t testing.TB, a *relayed) {
		out, errs, code := a.parley(t, "send", "--detach", "wait")
		id := strings.TrimSpace(out)
		if code != 0 || id == "" {
			t.Fatalf("parley send --detach: exit code %d, %q", code, errs)
		}
		if out, errs, code = a.parley(t, "tasks", "cancel", id); out != "canceled\n" || code != 0 {
			t.Fatalf("parley tasks cancel: exit code %d, %q, %q; want canceled", code, out, errs)
		}
		a.agree(t, id, "CANCELED")
	}},
}

// parley runs a command on the agent, at the hub.
func (a *relayed) parley(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return parley(t, append(args, "--url", a.hub, "--agent", a.agent)...)
}

// agree checks that a task is in a state at the hub, and that the only task that the agent has
// mentioned is in the same state. It returns the id of the agent's task.
func (a *relayed) agree(t testing.TB, id, state string) string {
	t.Helper()
	out, errs, _ := a.parley(t, "tasks", "get", "--json", id)
	var here task
	if err := json.Unmarshal([]byte(out), &here); err != nil || here.Status.State != "TASK_STATE_"+state {
		t.Errorf("at the hub the task is %q, %q; want %s", out, errs, state)
	}
	heard := a.tap.heard()
	if len(heard) == 0 {
		t.Fatal("the agent has spoken of no task")
	}
	last := heard[len(heard)-1]
	if n := len(slices.Compact(slices.Sorted(slices.Values(heard)))); n > 1 && a.speaks != rockBot {
		t.Errorf("the agent has spoken of the tasks %q, want one", heard)
	}
	there := state
	if a.forgets && state == "CANCELED" {
		there = "" // the agent has forgotten it
	}
	if got := a.stateThere(t, last); got != there {
		t.Errorf("at the agent task %s is %q, at the hub it is %s", last, got, state)
	}
	return last
}

// stateThere asks the agent itself, and not the hub, for the state of a task. PromptKit's mock
// reports a task only once.
func (a *relayed) stateThere(t testing.TB, id string) string {
	t.Helper()
	method, states := "GetTask", "TASK_STATE_"
	switch a.speaks {
	case promptKit:
		return "COMPLETED"
	case rockBot:
		var text struct{ State string }
		a.ask(t, http.MethodGet, a.there+"/states/"+id, nil, &text)
		return map[string]string{"Completed": "COMPLETED", "InputRequired": "INPUT_REQUIRED"}[text.State]
	case v03:
		method, states = "tasks/get", ""
	}
	rpc := newStage(t, a.there).vars["RPC"]
	var text struct {
		Result struct{ Status struct{ State string } }
	}
	a.ask(t, http.MethodPost, rpc, obj{"jsonrpc": "2.0", "id": 1, "method": method, "params": obj{"id": id}}, &text)
	state := strings.TrimPrefix(text.Result.Status.State, states)
	return strings.ToUpper(strings.ReplaceAll(state, "-", "_"))
}

// ask makes a call of the agent, and reads its answer.
func (a *relayed) ask(t testing.TB, method, url string, body, into any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if a.speaks == v1 {
		r.Header.Set("A2A-Version", v1)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
}

// TestBehindHub runs agents of other makers behind one hub, and uses each as people do. At the
// end both sides must agree on the state of the task.
func TestBehindHub(t *testing.T) {
	t.Parallel()
	var config strings.Builder
	config.WriteString("agents:\n")
	var all []*relayed
	for i := range elsewhere {
		s := &elsewhere[i]
		t.Run("start/"+s.name, func(sub *testing.T) {
			program := s.program(sub, s.dir) // it may skip the test
			there := startForeign(t, s.dir, program)
			for _, way := range ways {
				a := &relayed{server: s, agent: strings.ReplaceAll(s.name, ".", "-") + "-" + way, there: there, tap: newTap(t, there)}
				all = append(all, a)
				switch way {
				case "url":
					fmt.Fprintf(&config, "  - {name: %s, url: %q}\n", a.agent, a.tap.url)
				default:
					fmt.Fprintf(&config, "  - {name: %s, endpoint: {backend: a2a, base_url: %q}}\n", a.agent, a.tap.url)
				}
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	hub, _ := serveHub(t, dir, "--data", t.TempDir())
	var book ledger
	t.Cleanup(func() {
		if table, gap := behindTable(&book); whole(t, gap) {
			wantPart(t, "behind a hub", table)
		}
	})
	for _, a := range all {
		a.hub = hub
		t.Run(a.agent, func(t *testing.T) {
			t.Parallel()
			for _, s := range stories {
				if slices.Contains(a.lacks, s.name) {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					a.tap.forget()
					failures := try(t, func(tb testing.TB) { s.run(tb, a) })
					book.note(a.agent, "", s.name, outcome(failures, ""))
					judge(t, failures, "")
				})
			}
		})
	}
}

// behindTable writes the table of agents behind a hub. gap names the agents that did not run,
// if any.
func behindTable(l *ledger) (table, gap string) {
	var b strings.Builder
	names := []string{"Agent", "Version", "Named by"}
	for _, s := range stories {
		names = append(names, s.name)
	}
	head(&b, names...)
	for i := range elsewhere {
		s := &elsewhere[i]
		for _, way := range ways {
			cells := []string{s.title, s.speaks, "`" + way + "`"}
			for _, st := range stories {
				cell := "not offered"
				if !slices.Contains(s.lacks, st.name) {
					agent := strings.ReplaceAll(s.name, ".", "-") + "-" + way
					if cell = l.noted(agent, "", st.name); cell == "" {
						gap = agent + "/" + st.name
					}
				}
				cells = append(cells, cell)
			}
			row(&b, cells...)
		}
	}
	return b.String(), gap
}
