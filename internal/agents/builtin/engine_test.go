package builtin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

var ann = &op.Caller{Principal: &auth.Principal{ID: "ann"}}

// startHub runs all built-in agents on an engine until the test ends.
func startHub(t *testing.T) *engine.Engine {
	t.Helper()
	var all []engine.Agent
	for _, a := range builtin.Agents() {
		all = append(all, engine.Agent{Name: a.Name, Card: a.Card, Executor: a.Executor})
	}
	e, _ := enginetest.Start(t, engine.Config{Store: new(memstore.Store)}, all...)
	return e
}

// message returns a call with a text, for an agent or a task.
func message(t *testing.T, agent task.Agent, id a2a.TaskID, text string) *op.Send {
	t.Helper()
	body, err := json.Marshal(map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}})
	if err != nil {
		t.Fatal(err)
	}
	return &op.Send{
		Target:  op.Target{Agent: agent},
		Message: op.Message{ID: "m", TaskID: id, MediaTypes: []string{""}, Body: body},
	}
}

// ask sends a text and returns the task when it has ended or waits.
func ask(t *testing.T, e *engine.Engine, r *op.Send) *a2a.Task {
	t.Helper()
	a, err := e.Send(t.Context(), ann, r)
	if err != nil {
		t.Fatalf("Send: %v", err)
	}
	got, err := a.Fold.A2A(&a.Head)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEchoOnAHub(t *testing.T) {
	t.Parallel()
	got := ask(t, startHub(t), message(t, "", "", " hello,  world\n"))
	if len(got.Artifacts) != 1 {
		t.Fatalf("%d artifacts, want 1", len(got.Artifacts))
	}
	text := texts(got.Artifacts[0].Parts)
	if got.Status.State != a2a.TaskStateCompleted || !slices.Equal(text, []string{" hello,  world\n"}) || got.Status.Message != nil {
		t.Errorf("answer = %v %q, message %v; want one text in the artifact alone", got.Status.State, text, got.Status.Message)
	}
}

func TestInterviewOnAHub(t *testing.T) {
	t.Parallel()
	e := startHub(t)
	got := ask(t, e, message(t, "interview", "", "ask 3"))
	for _, answer := range []string{"Ada", "an engine", "nothing"} {
		if got.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("state = %v before %q, want a question", got.Status.State, answer)
		}
		got = ask(t, e, message(t, "interview", got.ID, answer))
	}
	if got.Status.State != a2a.TaskStateCompleted || len(got.Artifacts) != 1 {
		t.Fatalf("task = %+v, want the answers", got)
	}
	var answers []any
	for _, a := range got.Artifacts[0].Parts[1].Data().(map[string]any)["answers"].([]any) {
		answers = append(answers, a.(map[string]any)["answer"])
	}
	if diff := cmp.Diff([]any{"Ada", "an engine", "nothing"}, answers); diff != "" {
		t.Errorf("answers mismatch (-want +got):\n%s", diff)
	}
}

func TestSlowIsCanceledOnAHub(t *testing.T) {
	t.Parallel()
	e := startHub(t)
	r := message(t, "slow", "", "600")
	r.ReturnImmediately = true
	begun := ask(t, e, r)
	got, err := e.Cancel(t.Context(), ann, &op.Cancel{ID: begun.ID})
	if err != nil {
		t.Fatalf("Cancel: %v", err)
	}
	if got.Head.State != task.Canceled {
		t.Errorf("state = %v, want %v", got.Head.State, task.Canceled)
	}
}

// TestAgentsKeepDigits checks that numbers which no float64 can hold, and unknown members, are
// returned unchanged.
func TestAgentsKeepDigits(t *testing.T) {
	t.Parallel()
	e := startHub(t)
	const data = `{"data":{"big":9007199254740993,"price":1.50,"far":1e400},"xPart":[1.10],"metadata":{"n":12345678901234567890}}`
	send := func(agent task.Agent, id a2a.TaskID, parts string) (a2a.TaskID, string) {
		t.Helper()
		r := message(t, agent, id, "")
		r.Message.Body = []byte(`{"messageId":"m","role":"ROLE_USER","parts":[` + parts + `]}`)
		a, err := e.Send(t.Context(), ann, r)
		if err != nil {
			t.Fatalf("Send: %v", err)
		}
		return a.Head.ID, string(a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{Artifacts: true}))
	}
	t.Run("echo", func(t *testing.T) {
		t.Parallel()
		_, got := send("echo", "", `{"text":"two words"},`+data+`,{"text":"end"}`)
		want := `"parts":[{"text":"two words"},` + data + `,{"text":"end"}]`
		if !strings.Contains(got, want) {
			t.Errorf("artifact differs from the sent parts: %s", got)
		}
	})
	t.Run("interview", func(t *testing.T) {
		t.Parallel()
		id, _ := send("interview", "", `{"text":"ask 2"}`)
		send("interview", id, data)
		_, got := send("interview", id, `{"data":7.10}`)
		for _, want := range []string{`\"big\":9007199254740993,\"price\":1.50,\"far\":1e400`, `7.10\n`} {
			if !strings.Contains(got, want) {
				t.Errorf("answers lack %s: %s", want, got)
			}
		}
	})
}
