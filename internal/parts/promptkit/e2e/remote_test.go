package promptkit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"
	"github.com/AltairaLabs/PromptKit/runtime/a2a/mock"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// PromptKit's servers are behind a hub, and PromptKit's client is in front of it.
func TestBehindTheHub(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	peer, url := serve(t, "Strict Agent", func(text string) work {
		switch text {
		case "wait":
			return work{chunks: []string{"waited"}, state: a2a.TaskStateCompleted, until: release}
		case "for ever":
			return work{state: a2a.TaskStateCompleted, until: make(chan struct{})}
		case "fail":
			return work{chunks: []string{"half"}, state: a2a.TaskStateFailed}
		case "tools":
			return work{state: a2a.TaskStateInputRequired}
		}
		return work{chunks: []string{"you ", "say ", text}, state: a2a.TaskStateCompleted}
	})
	card := a2a.AgentCard{Name: "Mock", Skills: []a2a.AgentSkill{{ID: "forecast", Name: "Forecast", Description: "Says how it will be"}}}
	double := mock.NewA2AServer(&card, mock.WithSkillResponse("forecast", mock.Response{Parts: []a2a.Part{text("Sunny.")}}))
	at, err := double.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(double.Close)
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
agents:
  - {name: strict, url: %q}
  - {name: blocking, endpoint: {backend: a2a, base_url: %q, options: {no_streaming: true, return_immediately: false}}}
  - {name: polled, endpoint: {backend: a2a, base_url: %q, options: {no_streaming: true, poll_interval_ms: 20}}}
  - {name: double, url: %q}
`, url, url, url, at)})

	for _, agent := range []string{"strict", "blocking", "polled"} {
		t.Run(agent, func(t *testing.T) {
			if task := send(t, of(h, agent), user(text("hi")), a2a.TaskStateCompleted); answer(task) != "you say hi" {
				t.Errorf("artifacts %+v", task.Artifacts)
			}
			failed := send(t, of(h, agent), user(text("fail")), a2a.TaskStateFailed)
			if m := failed.Status.Message; m == nil || !strings.Contains(textOf(m.Parts), "the provider failed") {
				t.Errorf("status %+v", failed.Status)
			}
		})
	}
	t.Run("streamed", func(t *testing.T) {
		if _, states, text := events(t, of(h, "strict"), user(text("hi"))); text != "you say hi" || states[len(states)-1] != a2a.TaskStateCompleted {
			t.Errorf("%q, %q", text, states)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		c := of(h, "strict")
		ch, err := c.SendMessageStream(within(t), user(text("for ever")))
		if err != nil {
			t.Fatal(err)
		}
		first := <-ch
		if err := c.CancelTask(within(t), first.StatusUpdate.TaskID); err != nil {
			t.Fatal(err)
		}
		for range ch {
		}
		if task, err := c.GetTask(within(t), first.StatusUpdate.TaskID); err != nil || task.Status.State != a2a.TaskStateCanceled {
			t.Errorf("task %+v, %v", task, err)
		}
	})
	t.Run("mock", func(t *testing.T) {
		r := user(text("tomorrow"))
		r.Metadata = map[string]any{"skillId": "forecast"}
		if task := send(t, of(h, "double"), r, a2a.TaskStateCompleted); answer(task) != "Sunny." {
			t.Errorf("artifacts %+v", task.Artifacts)
		}
	})
	t.Run("restart", func(t *testing.T) {
		ch, err := of(h, "polled").SendMessageStream(within(t), user(text("wait")))
		if err != nil {
			t.Fatal(err)
		}
		id := (<-ch).StatusUpdate.TaskID
		select {
		case <-peer.calledWith(a2a.MethodGetTask):
		case <-within(t).Done():
			t.Fatal("the hub never polls")
		}
		h.Kill()
		close(release)
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
		task := settled(t, h, id)
		if task.Status.State != a2a.TaskStateCompleted || answer(task) != "waited" {
			t.Errorf("after a restart: %+v", task)
		}
	})
}

// settled follows a task to its end.
func settled(t *testing.T, h *hubtest.Hub, id string) *a2a.Task {
	t.Helper()
	frames(t, post(t, h, `{"jsonrpc":"2.0","id":1,"method":"tasks/subscribe","params":{"id":"`+id+`"}}`))
	task, err := of(h, "").GetTask(within(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// script reaches each state of a task.
const script = `
a2a_agents:
  - name: states
    responses:
      - match: {contains: complete}
        steps: [{say: so far}, {artifact: {name: a, chunks: [done]}}]
      - match: {contains: fail}
        steps: [{fail: broken}]
      - match: {contains: reject}
        steps: [{reject: no}]
      - match: {contains: ask}
        steps: [{ask: Which city?}, {artifact: {name: a, chunks: ["in {{text}}"]}}]
      - match: {contains: authorize}
        steps: [{authorize: Sign in.}, {artifact: {name: a, chunks: [signed]}}]
      - match: {contains: wait}
        steps: [{wait: 1h}]
`

// mocked starts parley mock with a script and returns the address of its agent.
func mocked(t *testing.T, script, agent string) string {
	t.Helper()
	file := write(t, "agents.yaml", script)
	addr := hubtest.Addr(t)
	p := hubtest.Launch(t, hubtest.Command{Args: []string{"mock", file, "--listen", addr}})
	if err := p.Await(within(t), addr); err != nil {
		t.Fatalf("parley mock: %v\n%s", err, p.Output())
	}
	return "http://" + addr + "/a2a/" + agent
}

// Each of the eight states reaches PromptKit's client, which fails on any other name.
func TestStates(t *testing.T) {
	t.Parallel()
	url := mocked(t, script, "states")
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents:\n  - {name: states, url: %q, questions: suspend}\n", url)})
	c := of(h, "states")
	for text0, want := range map[string]a2a.TaskState{
		"complete": a2a.TaskStateCompleted, "fail": a2a.TaskStateFailed, "reject": a2a.TaskStateRejected,
		"ask": a2a.TaskStateInputRequired, "authorize": a2a.TaskStateAuthRequired,
	} {
		t.Run(text0, func(t *testing.T) {
			t.Parallel()
			if states := statesTo(t, c, user(text(text0)), want); len(states) < 2 || states[0] != a2a.TaskStateWorking || states[len(states)-1] != want {
				t.Errorf("states %q, want working first and %s last", states, want)
			}
			task := send(t, c, user(text(text0)), want)
			if task.Status.State != a2a.TaskStateInputRequired && task.Status.State != a2a.TaskStateAuthRequired {
				return
			}
			reply := user(text("Oslo"))
			reply.Message.TaskID, reply.Message.ContextID = task.ID, task.ContextID
			if done := send(t, c, reply, a2a.TaskStateCompleted); done.ID != task.ID || answer(done) == "" {
				t.Errorf("after the reply: %+v", done)
			}
			other := send(t, c, user(text(text0)), want)
			if err := c.CancelTask(within(t), other.ID); err != nil {
				t.Errorf("cancel while it is %s: %v", want, err)
			}
			if after, err := c.GetTask(within(t), other.ID); err != nil || after.Status.State != a2a.TaskStateCanceled {
				t.Errorf("after the cancel: %+v, %v", after, err)
			}
		})
	}
	t.Run("submitted", func(t *testing.T) {
		t.Parallel()
		// A queue without workers leaves a task submitted.
		q := hubtest.Start(t, hubtest.Options{Config: "agents:\n  - {name: later, queue: later}\n"})
		c := of(q, "later")
		ch, err := c.SendMessageStream(within(t), user(text("x")))
		if err != nil {
			t.Fatal(err)
		}
		id := (<-ch).StatusUpdate.TaskID
		if task, err := c.GetTask(within(t), id); err != nil || task.Status.State != a2a.TaskStateSubmitted {
			t.Errorf("task %+v, %v", task, err)
		}
		if err := c.CancelTask(within(t), id); err != nil {
			t.Error(err)
		}
	})
}

// statesTo streams a message and returns the states until last, or the end of the stream. The
// stream of a task that waits for a sign-in stays open, because the task may continue by
// itself.
func statesTo(t *testing.T, c *a2a.Client, r *a2a.SendMessageRequest, last a2a.TaskState) []a2a.TaskState {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	ch, err := c.SendMessageStream(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	var states []a2a.TaskState
	for ev := range ch {
		if u := ev.StatusUpdate; u != nil {
			if states = append(states, u.Status.State); u.Status.State == last {
				break
			}
		}
	}
	return states
}

// An agent that answers with a bare message and no task gives PromptKit's client a task with an
// artifact, which is where the client looks for the answer.
func TestMessageOnlyAgent(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"name":"hello","description":"Greets","version":"1","capabilities":{},"skills":[{"id":"greet","name":"Greet","description":"Greets","tags":[]}],`+
				`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"supportedInterfaces":[{"url":"http://%s/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.Host)
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Method != "SendMessage" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, req.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"message":{"messageId":"r1","role":"ROLE_AGENT","parts":[{"text":"Hello!"}]}}}`, req.ID)
	}))
	t.Cleanup(ts.Close)
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents:\n  - {name: hello, url: %q}\n", ts.URL)})
	c := of(h, "hello")
	task := send(t, c, user(text("Bob")), a2a.TaskStateCompleted)
	if answer(task) != "Hello!" {
		t.Errorf("artifacts %+v", task.Artifacts)
	}
	if got, err := c.GetTask(within(t), task.ID); err != nil || answer(got) != "Hello!" {
		t.Errorf("GetTask = %+v, %v", got, err)
	}
	if _, _, text := events(t, c, user(text("Bob"))); text != "Hello!" {
		t.Errorf("the stream has %q", text)
	}
}
