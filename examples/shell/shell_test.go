// Package shell has no Go code: it is a configuration and a script. This test serves them with
// the command parley. It calls the agent as a user would.
package shell

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/examples/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOrder orders a pizza, is asked for the size, and answers.
func TestOrder(t *testing.T) {
	t.Parallel()
	parley := exampletest.Parley(t)
	hub := exampletest.Start(t, parley, "serve", "--listen=127.0.0.1:0", "--data="+t.TempDir())

	question, code := exampletest.Run(t, parley, "send", "--url="+hub.URL, "--agent=pizzeria", "a pizza, please")
	if question != "How large?" || code != 3 {
		t.Errorf("parley send prints %q and ends with %d, want the question once and 3", question, code)
	}
	question, code = exampletest.Run(t, parley, "send", "--url="+hub.URL, "--agent=pizzeria", "--json", "a pizza, please")
	var asked struct {
		Task struct {
			ID     string
			Status struct {
				Message struct{ Parts []struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(question), &asked); err != nil {
		t.Fatalf("parley send --json prints %q: %v", question, err)
	}
	if parts := asked.Task.Status.Message.Parts; code != 3 || len(parts) != 1 || parts[0].Text != "How large?" {
		t.Fatalf("parley send ends with %d and the question %+v, want 3 and %q", code, parts, "How large?")
	}

	answer, code := exampletest.Run(t, parley, "send", "--url="+hub.URL, "--agent=pizzeria", "--task="+asked.Task.ID, "large")
	if want := "One large pizza is on its way."; answer != want || code != 0 {
		t.Errorf("parley send --task prints %q and ends with %d, want %q and 0", answer, code, want)
	}
	if err := hub.Interrupt(); err != nil {
		t.Errorf("parley serve ended with %v, want nil:\n%s", err, hub.Output())
	}
}
