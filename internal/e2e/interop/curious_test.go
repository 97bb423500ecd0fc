package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAsksBack makes an agent of the official Python SDK ask questions behind a hub, which
// answers with each of its policies.
func TestAsksBack(t *testing.T) {
	t.Parallel()
	program := python("curious.py")(t, "python/v1") // it may skip the test
	there := startForeign(t, "python/v1", program)
	dir := t.TempDir()
	config := fmt.Sprintf("questions: {answering_agent: clerk, script: answers.yaml}\nagents:\n"+
		"  - {name: trusted, url: %[1]q}\n  - {name: auto, url: %[1]q, questions: auto}\n"+
		"  - {name: suspended, url: %[1]q, questions: suspend}\n  - {name: failed, url: %[1]q, questions: fail}\n", there)
	for name, text := range map[string]string{
		"parley.yaml":  config,
		"answers.yaml": "answers:\n  - {match: 'question (\\d+)', answer: answer $1}\notherwise: the red one\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url, _ := serveHub(t, dir, "--data", t.TempDir())
	h := &askedHub{t, url}
	h.run(0, "trusted\tup", "agents", "refresh", "trusted")

	const all = "answer 1\nanswer 2\nanswer 3\n"
	h.run(0, all, "send", "--agent", "auto", "ask 3")
	h.run(0, all, "send", "--agent", "auto", "--stream", "ask 3")
	h.run(3, "Question 1?", "send", "--agent", "suspended", "ask 3")
	h.run(1, "its questions are not answered here: Question 1?", "send", "--agent", "failed", "ask 3")
	h.run(1, "more than 20 questions in a row, the last one: Question 21?", "send", "--agent", "auto", "forever")
	h.run(1, "same answer 3 times in a row; put all that it needs into the request", "send", "--agent", "auto", "parrot")
	h.run(1, "asks without words [and 1 part that is not text]", "send", "--agent", "auto", "data")

	// No other source knows the answer yet, so a person answers, in text even if the question
	// was data.
	for order, want := range map[string]string{"ask 2": "person\nperson\n", "data": "person\n"} {
		ctx, cancel := context.WithCancel(t.Context())
		asked := h.asked(ctx)
		task := strings.TrimSpace(h.run(0, "", "send", "--agent", "trusted", "--detach", order))
		for range strings.Count(want, "\n") {
			h.run(0, "is answered", "inbox", "answer", <-asked, "person")
		}
		cancel()
		h.run(0, want, "tasks", "watch", task)
	}
	h.run(0, "trust level act", "trust", "set", "trusted", "--level", "act", "--approve", "ask")
	h.run(0, all, "send", "--agent", "trusted", "ask 3")
	if out := h.run(0, "", "inbox", "list", "--kind", "question"); out != "" {
		t.Errorf("the inbox has %q", out)
	}
}

// askedHub is a hub that people use through the command.
type askedHub struct {
	t   *testing.T
	url string
}

// run runs a command, which must exit with code and print want. It returns the output.
func (h *askedHub) run(code int, want string, args ...string) string {
	h.t.Helper()
	out, errs, got := parley(h.t, append(args, "--url", h.url)...)
	if got != code || !strings.Contains(out+errs, want) {
		h.t.Fatalf("parley %q: exit code %d, %q, %q; want %d and %q", args, got, out, errs, code, want)
	}
	return out
}

// asked returns the questions that arrive in the inbox from now on, until ctx ends.
func (h *askedHub) asked(ctx context.Context) <-chan string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/api/v1/inbox/events", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	ids, done := make(chan string, 10), make(chan struct{})
	h.t.Cleanup(func() { resp.Body.Close(); <-done })
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var it struct{ ID, Kind, State string }
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if ok && json.Unmarshal([]byte(data), &it) == nil && it.Kind == "question" && it.State == "open" {
				ids <- it.ID
			}
		}
	}()
	return ids
}
