//go:build linux

package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// hub is an engine with one agent.
type hub struct {
	*engine.Engine
	t    testing.TB
	stop func()
}

// startHub runs a on an engine until the test ends.
func startHub(t testing.TB, a *Agent, cfg engine.Config) *hub {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = new(memstore.Store)
	}
	h := &hub{t: t}
	h.Engine, h.stop = enginetest.Start(t, cfg, enginetest.Agent("main", a))
	return h
}

var ann = &op.Caller{Principal: &auth.Principal{ID: "ann"}}

// send sends text, to the task with the id if it is not empty.
func (h *hub) send(id a2a.TaskID, text string, now bool) *engine.Answer {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}})
	if err != nil {
		h.t.Fatal(err)
	}
	a, err := h.Send(h.t.Context(), ann, &op.Send{
		Message:           op.Message{ID: "m", TaskID: id, MediaTypes: []string{""}, Body: body},
		ReturnImmediately: now,
	})
	if err != nil {
		h.t.Fatalf("Send: %v", err)
	}
	return a
}

// sdk converts an answer to the SDK's task.
func sdk(t testing.TB, a *engine.Answer) *a2a.Task {
	t.Helper()
	got, err := a.Fold.A2A(&a.Head)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// firstOutput waits for the first artifact of a task and returns its text.
func (h *hub) firstOutput(id a2a.TaskID) string {
	h.t.Helper()
	s, err := h.Subscribe(h.t.Context(), ann, &op.Subscribe{ID: id})
	if err != nil {
		h.t.Fatalf("Subscribe: %v", err)
	}
	defer s.Close()
	if first := sdk(h.t, s.First); len(first.Artifacts) > 0 {
		return first.Artifacts[0].Parts[0].Text()
	}
	for {
		events, err := s.Next(h.t.Context(), 0)
		if err != nil {
			h.t.Fatalf("Next: %v", err)
		}
		for _, e := range events {
			var artifact a2a.Artifact
			if e.Kind != task.Artifact {
				continue
			}
			if err := json.Unmarshal(e.Body, &artifact); err != nil {
				h.t.Fatal(err)
			}
			return artifact.Parts[0].Text()
		}
	}
}

func TestConversationOnAHub(t *testing.T) {
	t.Parallel()
	a := shell(`
		if [ -z "$PARLEY_TASK_FILE" ]; then echo 'Which city?'; exit 3; fi
		city=$(cat); echo "Rain in $city ($PARLEY_RUN_KEY, attempt $PARLEY_ATTEMPT)"`)
	a.Runs = filepath.Join(t.TempDir(), "runs")
	h := startHub(t, a, engine.Config{})
	asked := sdk(t, h.send("", "weather", false))
	if got := asked.Status; got.State != a2a.TaskStateInputRequired || got.Message.Parts[0].Text() != "Which city?" {
		t.Fatalf("status = %+v, want the question", got)
	}
	done := sdk(t, h.send(asked.ID, "Oslo", false))
	text := strings.TrimSuffix(done.Artifacts[len(done.Artifacts)-1].Parts[0].Text(), "\n")
	if done.Status.State != a2a.TaskStateCompleted || !strings.HasPrefix(text, "Rain in Oslo (") || !strings.HasSuffix(text, ", attempt 1)") {
		t.Errorf("status = %v %q, want the answer", done.Status.State, text)
	}
	if n := len(done.Artifacts); n != 2 {
		t.Errorf("%d artifacts, want one for each run", n)
	}
	wantEmpty(t, a.Runs)
}

func TestCancelOnAHub(t *testing.T) {
	t.Parallel()
	h := startHub(t, shell(`echo $$; exec sleep 1000`), engine.Config{})
	id := h.send("", "go", true).Head.ID
	pid := firstPid(t, &result{chunks: []string{h.firstOutput(id)}})
	got, err := h.Cancel(t.Context(), ann, &op.Cancel{ID: id})
	if err != nil {
		t.Fatalf("Cancel: %v", err)
	}
	if diff := cmp.Diff(task.Canceled, got.Head.State); diff != "" {
		t.Errorf("state mismatch (-want +got):\n%s", diff)
	}
	wantGone(t, pid)
}

// A hub that stops ends its programs, even those that ignore SIGTERM.
func TestDrainOfAHub(t *testing.T) {
	t.Parallel()
	a := shell(`trap '' TERM; echo $$; while :; do sleep 1000; done`)
	a.Grace = 50 * time.Millisecond
	a.Runs = filepath.Join(t.TempDir(), "runs")
	h := startHub(t, a, engine.Config{Limits: limits.Limits{DrainTimeout: 100 * time.Millisecond}})
	pid := firstPid(t, &result{chunks: []string{h.firstOutput(h.send("", "go", true).Head.ID)}})
	h.stop()
	waitGone(t, pid)
}

// The hub's watchdog ends a silent program.
func TestSilenceOnAHub(t *testing.T) {
	t.Parallel()
	a := shell(`echo $$; exec sleep 1000`)
	var got *a2a.Task
	for a.Silence = time.Second; got == nil || len(got.Artifacts) == 0 && a.Silence < time.Minute; a.Silence *= 2 {
		// Before its first output a program may be silent for some time on a busy machine.
		got = sdk(t, startHub(t, a, engine.Config{}).send("", "go", false))
	}
	if text := got.Status.Message.Parts[0].Text(); got.Status.State != a2a.TaskStateFailed || !strings.Contains(text, "silent") {
		t.Errorf("status = %v %q, want FAILED for its silence", got.Status.State, text)
	}
	waitGone(t, firstPid(t, &result{chunks: []string{got.Artifacts[0].Parts[0].Text()}}))
}

// TestTaskFileKeepsDigits checks that the task file has the numbers as its callers wrote them.
func TestTaskFileKeepsDigits(t *testing.T) {
	t.Parallel()
	h := startHub(t, shell(`if [ -z "$PARLEY_TASK_FILE" ]; then exit 3; fi; cat "$PARLEY_TASK_FILE"`), engine.Config{})
	const part = `{"data":{"big":9007199254740993,"price":1.50},"xPart":1e400}`
	first, err := h.Send(t.Context(), ann, &op.Send{Message: op.Message{
		ID: "m", MediaTypes: []string{""}, Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]}`),
	}})
	if err != nil {
		t.Fatalf("Send: %v", err)
	}
	done := h.send(first.Head.ID, "go on", false)
	var stored string
	for _, p := range sdk(t, done).Artifacts[0].Parts {
		stored += p.Text()
	}
	if !strings.Contains(stored, `"parts":[`+part+`]`) {
		t.Errorf("task file = %s, want the part %s in it", stored, part)
	}
}
