package promptkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// patience is the time limit of a test that hangs.
const patience = 60 * time.Second

// research is the configuration of an agent with the card of PromptKit's page.
const research = `
agents:
  - name: research
    title: Research Agent
    description: Searches academic papers on a given topic
    version: 1.0.0
    command: cat
    outputModes: [text/plain, application/json]
    skills:
      - id: search_papers
        name: Search Papers
        description: Search for academic papers on a given topic
        tags: [research, papers]
      - id: read_table
        name: Read Table
        description: Reads a table
        inputModes: [text/csv]
        outputModes: [application/json]
`

// within returns a context with the time limit of a test.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// of returns PromptKit's client for an agent of a hub; an empty name is the hub's default.
func of(h *hubtest.Hub, agent string, options ...a2a.ClientOption) *a2a.Client {
	url := h.URL()
	if agent != "" {
		url += "/a2a/" + agent
	}
	return a2a.NewClient(url, options...)
}

func ptr[T any](v T) *T { return &v }

// user returns a request that sends parts.
func user(parts ...a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.Message{MessageID: "m-1", Role: a2a.RoleUser, Parts: parts}}
}

func text(s string) a2a.Part { return a2a.Part{Text: &s} }

// textOf returns the text of parts.
func textOf(parts []a2a.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

// answer returns the text of a task's artifacts, the only text that PromptKit's demo client
// displays.
func answer(task *a2a.Task) string {
	var b strings.Builder
	for _, a := range task.Artifacts {
		b.WriteString(textOf(a.Parts))
	}
	return b.String()
}

// send sends a message and checks the state of the task.
func send(t *testing.T, c *a2a.Client, r *a2a.SendMessageRequest, state a2a.TaskState) *a2a.Task {
	t.Helper()
	task, err := c.SendMessage(within(t), r)
	if err != nil {
		t.Fatalf("SendMessage: %v", err)
	}
	if task.Status.State != state || task.ID == "" || task.ContextID == "" {
		t.Fatalf("SendMessage = task %q of context %q, %s; want %s", task.ID, task.ContextID, task.Status.State, state)
	}
	return task
}

// refused checks that err is an RPC error with a code.
func refused(t *testing.T, err error, code int) {
	t.Helper()
	var rpc *a2a.RPCError
	if !errors.As(err, &rpc) || rpc.Code != code {
		t.Errorf("error %v, want code %d", err, code)
	}
}

// strict decodes JSON into one of PromptKit's types, and fails on unknown members.
func strict(t *testing.T, b []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
}

// post sends a body to /a2a and returns the response.
func post(t *testing.T, h *hubtest.Hub, body string) *http.Response {
	t.Helper()
	res, err := hubtest.Do(within(t), hubtest.Request{URL: h.URL() + "/a2a", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// rpc calls a method and returns the envelope of the answer.
func rpc(t *testing.T, h *hubtest.Hub, body string) a2a.JSONRPCResponse {
	t.Helper()
	res := post(t, h, body)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d: %s", body, res.StatusCode, b)
	}
	var got a2a.JSONRPCResponse
	strict(t, b, &got)
	return got
}

// frames returns the data of all events of a stream.
func frames(t *testing.T, res *http.Response) [][]byte {
	t.Helper()
	var all [][]byte
	for ev, err := range hubtest.Events(res.Body) {
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, []byte(ev.Data))
	}
	return all
}
