package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// game is an agent of the JavaScript SDK that asks for the next guess with an artifact alone.
type game struct {
	name string
	args []string
}

// games are one that streams, one that does not, and one whose statuses have no timestamps.
var games = []game{{"streams", nil}, {"plain", []string{"plain"}}, {"unstamped", []string{"plain", "unstamped"}}}

// guessWays are the kinds of configuration of the agents.
var guessWays = map[string]string{
	"url":      `url: "%s"`,
	"endpoint": `endpoint: {backend: a2a, base_url: "%s", options: {poll_interval_ms: 100}}`,
	"polled":   `endpoint: {backend: a2a, base_url: "%s", options: {poll_interval_ms: 100, no_streaming: true}}`,
}

// TestGuessing plays a game of many turns with an agent behind a hub, as the number guessing
// sample of the protocol's makers does: each answer is an artifact, and the task continues to
// wait.
func TestGuessing(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "node")
	var config strings.Builder
	config.WriteString("agents_builtin: false\nagents:\n")
	var names []string
	for _, g := range games {
		program := append(node("guess.mjs")(t, "js"), g.args...)
		there := startForeign(t, "js", program)
		for way, how := range guessWays {
			names = append(names, g.name+"-"+way)
			fmt.Fprintf(&config, "  - name: %s-%s\n    questions: suspend\n    %s\n", g.name, way, fmt.Sprintf(how, there))
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	hub, _ := serveHub(t, dir, "--data", t.TempDir())
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, hub, name)
		})
	}
}

// play halves the range of the number until the agent reports that it is found.
func play(t *testing.T, hub, agent string) {
	low, high, id := 1, 100, ""
	for range 8 {
		guess := (low + high) / 2
		args := []string{"send", "--json", "--url", hub, "--agent", agent}
		if id != "" {
			args = append(args, "--task", id)
		}
		out, errs, code := parley(t, append(args, strconv.Itoa(guess))...)
		var answer struct {
			Task struct {
				ID        string
				Status    struct{ State string }
				Artifacts []struct{ Parts []struct{ Text string } }
			}
		}
		err := json.Unmarshal([]byte(out), &answer)
		text := &answer.Task
		if err != nil || len(text.Artifacts) == 0 {
			t.Fatalf("parley send %d: exit code %d, %q, %q; want a task with an artifact", guess, code, out, errs)
		}
		id = text.ID
		switch verdict := text.Artifacts[len(text.Artifacts)-1].Parts[0].Text; verdict {
		case "correct":
			if text.Status.State != "TASK_STATE_COMPLETED" || code != 0 {
				t.Errorf("the number is found, and the task is %s, exit code %d", text.Status.State, code)
			}
			return
		case "Go higher":
			low = guess + 1
		case "Go lower":
			high = guess - 1
		default:
			t.Fatalf("the agent says %q", verdict)
		}
		if text.Status.State != "TASK_STATE_INPUT_REQUIRED" || code != 3 {
			t.Fatalf("after %d the task is %s, exit code %d, %q; want it to wait", guess, text.Status.State, code, errs)
		}
	}
	t.Error("the number was not found in eight guesses")
}
