package rockbot_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

const (
	aliceKey = "alice-0123456789abcdef"
	bobKey   = "bob-0123456789abcdef"
)

// config is the parley.yaml of a hub with two callers and two agents of RockBot.
func config(url string) string {
	return fmt.Sprintf(`
bus: {url: "off"}
auth: {api_keys: {%s: {agent_id: alice}, %s: {agent_id: "bob@example.com"}}}
rockbot: {url: %q, name: hub, serve: [slow, asker, reports]}
directory: {write_known_agents: true}
agents:
  - {name: extraction, rockbot: ExtractionAgent, timeout: 5m}
  - {name: research, rockbot: ResearchAgent, timeout: 5m}
  - {name: slow, command: [sh, -c, 'echo step one; while [ ! -e one ]; do sleep 0.05; done; echo step two; while [ ! -e two ]; do sleep 0.05; done; echo done']}
  - {name: asker, command: [sh, -c, 'if [ -n "$PARLEY_TASK_FILE" ]; then cat; else echo when?; exit 3; fi']}
  - {name: reports, command: [sh, -c, 'cat "$PARLEY_MESSAGE_FILE"'], inputModes: [text/plain, application/json]}
`, aliceKey, bobKey, url)
}

func startHub(t *testing.T, url string) (*hubtest.Hub, *caller) {
	t.Helper()
	h := hubtest.Start(t, hubtest.Options{Config: config(url)})
	return h, &caller{t, h, aliceKey}
}

// awaitDepth polls until a queue holds a message, because a broker has no event for that.
func awaitDepth(t *testing.T, at *rb.Caller, queue string) {
	t.Helper()
	ctx, tick := within(t), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		n, err := at.Depth(queue)
		if n > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("queue %s holds %d messages, %v", queue, n, err)
		}
	}
}

// TestQueue: the request waits for the agent across restarts of the hub and of the broker, with
// any other binding at the exchange.
func TestQueue(t *testing.T) {
	t.Parallel()
	broker := rabbittest.Start(t)
	url := broker.VHost(t)
	for _, tapped := range []bool{false, true} {
		name := map[bool]string{false: "B6", true: "B7"}[tapped]
		t.Run(name, func(t *testing.T) {
			h, alice := startHub(t, url)
			watcher := rb.StartCaller(t, url, "Watcher")
			if tapped {
				rb.StartTap(t, url)
			}
			id := alice.text("research", name, "dig "+name).ID
			alice.wait("research", id, "TASK_STATE_SUBMITTED")
			awaitDepth(t, watcher, rb.QueueOf("ResearchAgent", "agent.task.ResearchAgent"))
			broker.Sync(t)
			h.Kill()
			broker.Kill()
			broker.Launch(t)
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
			agent := rb.StartAgent(t, url, &rb.Agent{Name: "ResearchAgent", Handle: func(task *rb.Task) (*rb.Result, error) {
				return task.Result(rb.Completed, "found"), nil
			}})
			task := agent.Next()
			if got := task.Message.Text(); got != "dig "+name {
				t.Errorf("the agent is asked %q", got)
			}
			done := alice.wait("research", id, "TASK_STATE_COMPLETED")
			if !strings.Contains(string(done.Status.Message), "found") {
				t.Errorf("completed with %s", done.Status.Message)
			}
			agent.Kill()
			agent.Unread()
			if n := len(agent.Tasks); n > 0 {
				t.Errorf("the agent has got %d more requests", n)
			}
		})
	}
}

// work is an agent that asks a question, sends progress or answers with data, as its request
// demands.
func work(task *rb.Task) (*rb.Result, error) {
	switch text := task.Message.Text(); {
	case strings.HasPrefix(text, "say "):
		for body := range strings.SplitSeq(strings.TrimPrefix(text, "say "), "|") {
			body = strings.ReplaceAll(body, "JOB", rb.Val(task.TaskID))
			if err := task.Publish(&rb.Wire{Topic: task.Envelope.ReplyTo, Type: "RockBot.A2A.AgentTaskResult", Body: []byte(body)}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case text == "ask":
		return task.Result(rb.InputRequired, "which one?"), nil
	case strings.HasPrefix(text, "data "):
		r := task.Result(rb.Completed, "here")
		part := rb.Part{Kind: rb.Ptr("data"), Data: rb.Ptr(strings.TrimPrefix(text, "data ")), MimeType: rb.Ptr("application/json")}
		r.Artifacts = []rb.Artifact{{Name: rb.Ptr("record"), Parts: []rb.Part{part}}}
		r.Message.Parts = append(r.Message.Parts, part)
		return r, task.Publish(&rb.Wire{
			Topic: rb.StatusTopic, Type: "RockBot.A2A.AgentTaskStatusUpdate", CorrelationID: task.Envelope.CorrelationID,
			Body: rb.Encode(&rb.StatusUpdate{TaskID: task.TaskID, State: rb.Working, Message: &rb.Message{Role: rb.Ptr("agent"), Parts: []rb.Part{part}}}),
		})
	}
	return task.Result(rb.Completed, "done"), nil
}

// TestCalls: RockBot decodes the hub's messages, and the hub decodes RockBot's.
func TestCalls(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	agent := rb.StartAgent(t, url, &rb.Agent{Name: "ExtractionAgent", Handle: work})
	tap := rb.StartTap(t, url)
	h, alice := startHub(t, url)
	bob := &caller{t, h, bobKey}
	t.Run("B8", func(t *testing.T) { sendsData(t, alice, agent) })
	t.Run("B11", func(t *testing.T) { readsData(t, alice) })
	t.Run("B16", func(t *testing.T) { answers(t, alice, agent) })
	t.Run("hostile", func(t *testing.T) { survives(t, alice) })
	t.Run("C8", func(t *testing.T) { tellsCallersApart(t, []*caller{alice, bob}, agent, tap) })
	agent.Unread()
}

// survives checks that a message that no program of RockBot would publish is refused, and
// changes no other task.
func survives(t *testing.T, alice *caller) {
	const right = `{"taskId":"JOB","state":3,"message":{"role":"agent","parts":[{"kind":"text","text":"right"}]}}`
	for name, tt := range map[string]struct{ said, state, text string }{
		"an unknown state": {`{"taskId":"JOB","state":"Exploded"}`, "TASK_STATE_FAILED", "broke the protocol"},
		"a wrong number":   {`{"taskId":"JOB","state":42}`, "TASK_STATE_FAILED", "broke the protocol"},
		"parts":            {`{"taskId":"JOB","state":3,"message":{"role":"agent","parts":"all"}}`, "TASK_STATE_FAILED", "broke the protocol"},
		"no ids":           {`{"state":3}|nonsense|[]|{"taskId":7,"state":3}|` + right, "TASK_STATE_COMPLETED", "right"},
		"another's id":     {`{"taskId":"not-mine","state":4}|` + right, "TASK_STATE_COMPLETED", "right"},
		"twice":            {right + `|{"taskId":"JOB","state":4}`, "TASK_STATE_COMPLETED", "right"},
	} {
		id := alice.text("extraction", "hostile "+name, "say "+tt.said).ID
		if done := alice.wait("extraction", id, tt.state); !strings.Contains(string(done.Status.Message), tt.text) {
			t.Errorf("%s: %s with %s", name, done.Status.State, done.Status.Message)
		}
	}
}

// drain discards the received requests of an agent.
func drain(agent *rb.Running) {
	for len(agent.Tasks) > 0 {
		<-agent.Tasks
	}
}

// sendsData checks that data is a string with the JSON, after the text, digit for digit, and
// that metadata contains only strings.
func sendsData(t *testing.T, alice *caller, agent *rb.Running) {
	drain(agent)
	id := alice.send("extraction", `{"messageId":"b8","role":"ROLE_USER","parts":[{"text":"Extract the title."},`+
		`{"data":{"recordId":"rec-42","n":12345678901234567890,"x":1.50},"mediaType":"application/json"}],"metadata":{"urgent":true}}`).ID
	task := agent.Next()
	alice.wait("extraction", id, "TASK_STATE_COMPLETED")
	want := []rb.Part{
		rb.TextPart("Extract the title."),
		{Kind: rb.Ptr("data"), Data: rb.Ptr(`{"recordId":"rec-42","n":12345678901234567890,"x":1.50}`), MimeType: rb.Ptr("application/json")},
	}
	if diff := cmp.Diff(want, task.Message.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if got := task.Message.Metadata["urgent"]; got != "true" {
		t.Errorf("metadata of the message = %v", task.Message.Metadata)
	}
	if _, err := task.Message.Parts[1].JSON(); err != nil {
		t.Errorf("the data is not JSON for RockBot: %v", err)
	}
}

// readsData checks that data of an agent is the JSON in its string, in results and in statuses.
func readsData(t *testing.T, alice *caller) {
	for data, want := range map[string]string{
		`{"title": "T", "n": 1.50}`: `"data":{"title":"T","n":1.50}`,
		`[1,2]`:                     `"data":[1,2]`,
		`"text"`:                    `"data":"text"`,
		`no json {`:                 `"data":"no json {"`,
	} {
		id := alice.text("extraction", "b11 "+data, "data "+data).ID
		done := alice.wait("extraction", id, "TASK_STATE_COMPLETED")
		var all struct{ History json.RawMessage }
		if err := alice.rpc("extraction", "GetTask", fmt.Sprintf(`{"id":%q}`, id), &all); err != nil {
			t.Fatal(err)
		}
		for where, got := range map[string]string{"artifact": string(done.Artifacts), "message": string(done.Status.Message)} {
			if !strings.Contains(got, want) {
				t.Errorf("%s in the %s is %s, want %s", data, where, got, want)
			}
			if marked := strings.Contains(got, "data_not_json"); marked != (data == "no json {") {
				t.Errorf("%s in the %s: marked as no JSON is %v: %s", data, where, marked, got)
			}
		}
	}
}

// answers checks that an answer has the context and thread of the question, and text alone.
// Marks in the metadata of the answer are strings, and callers cannot set the hub's own marks.
func answers(t *testing.T, alice *caller, agent *rb.Running) {
	drain(agent)
	id := alice.send("extraction", `{"messageId":"b16","role":"ROLE_USER","parts":[{"text":"ask"},{"data":{"a":1}}]}`).ID
	first := agent.Next()
	alice.wait("extraction", id, "TASK_STATE_INPUT_REQUIRED")
	alice.send("extraction", fmt.Sprintf(`{"messageId":"b16b","taskId":%q,"role":"ROLE_USER","parts":[{"text":"the first"}],"metadata":{"parley.answer":2,"round":2,"sure":true,"note":null,"why":"it fits"}}`, id))
	second := agent.Next()
	alice.wait("extraction", id, "TASK_STATE_COMPLETED")
	same := func(what, a, b string) {
		t.Helper()
		if a == "" || a != b {
			t.Errorf("%s of the two requests: %q and %q", what, a, b)
		}
	}
	same("context", rb.Val(first.ContextID), rb.Val(second.ContextID))
	same("correlation id", first.Envelope.CorrelationID, second.Envelope.CorrelationID)
	if rb.Val(first.TaskID) == rb.Val(second.TaskID) {
		t.Errorf("both requests are of task %s", rb.Val(first.TaskID))
	}
	if diff := cmp.Diff([]rb.Part{rb.TextPart("the first")}, second.Message.Parts); diff != "" {
		t.Errorf("parts of the answer (-want +got):\n%s", diff)
	}
	marks := map[string]string{"round": "2", "sure": "true", "note": "", "why": "it fits", "parley.carried": `{"round":2,"sure":true,"note":null}`}
	if diff := cmp.Diff(marks, second.Message.Metadata); diff != "" {
		t.Errorf("metadata of the answer (-want +got):\n%s", diff)
	}
	agent.Unread()
}

// TestProgressBeforeResults: the statuses that an agent publishes before its result reach the
// task, even directly before it, and for the first task of a hub that has just started.
func TestProgressBeforeResults(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	rb.StartAgent(t, url, &rb.Agent{Name: "ExtractionAgent", Handle: func(task *rb.Task) (*rb.Result, error) {
		for i := range 5 {
			if err := task.Status(rb.Working, fmt.Sprintf("step %d", i)); err != nil {
				return nil, err
			}
		}
		return task.Result(rb.Completed, "done"), nil
	}})
	h, alice := startHub(t, url)
	for i := range 20 {
		if i == 10 {
			h.Restart()
		}
		id := alice.text("extraction", fmt.Sprint("progress-", i), "go").ID
		alice.wait("extraction", id, "TASK_STATE_COMPLETED")
		var all struct{ History json.RawMessage }
		if err := alice.rpc("extraction", "GetTask", fmt.Sprintf(`{"id":%q}`, id), &all); err != nil {
			t.Fatal(err)
		}
		for step := range 5 {
			if !strings.Contains(string(all.History), fmt.Sprintf("step %d", step)) {
				t.Errorf("task %d has no status %d: %s", i, step, all.History)
			}
		}
	}
}

// tellsCallersApart checks that each caller has a permanent source and reply topic, and that
// statuses arrive at agent.task.status.
func tellsCallersApart(t *testing.T, callers []*caller, agent *rb.Running, tap *rb.Tap) {
	want := []string{"hub.alice agent.response.hub.alice", "hub.bob-example-com-", "hub.alice agent.response.hub.alice"}
	for i, c := range []*caller{callers[0], callers[1], callers[0]} {
		drain(agent)
		for len(tap.Messages) > 0 {
			<-tap.Messages
		}
		id := c.text("extraction", fmt.Sprint("c8-", i), "x").ID
		e := agent.Next().Envelope
		c.wait("extraction", id, "TASK_STATE_COMPLETED")
		got := e.Source + " " + e.ReplyTo
		if !strings.HasPrefix(got, want[i]) || e.ReplyTo != "agent.response."+e.Source {
			t.Errorf("request %d comes from %q, want %q", i, got, want[i])
		}
		if status := tap.Next(rb.StatusTopic); status.Source != "ExtractionAgent" || status.CorrelationID != e.CorrelationID {
			t.Errorf("status from %q with correlation id %s", status.Source, status.CorrelationID)
		}
		if reply := tap.Next(e.ReplyTo); reply.CorrelationID != e.CorrelationID {
			t.Errorf("answer at %s has correlation id %s, want %s", reply.Topic, reply.CorrelationID, e.CorrelationID)
		}
	}
}

// TestServed: agents of the hub answer RockBot's callers with content that those can read.
func TestServed(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	primary := rb.StartCaller(t, url, "Primary")
	h, _ := startHub(t, url)
	served := map[string]bool{}
	for len(served) < 3 {
		served[rb.Val(primary.Card().AgentName)] = true
	}
	t.Run("C16", func(t *testing.T) {
		id := primary.Invoke("slow", request("go"))
		var output []string
		for len(output) == 0 || output[len(output)-1] != "step two" {
			s := primary.Status()
			if rb.Val(s.TaskID) != id || s.State != rb.Working || s.Envelope.Source != "slow" || s.Envelope.CorrelationID != id {
				t.Fatalf("status %+v from %s", s.StatusUpdate, s.Envelope.Source)
			}
			output = append(output, s.Message.Text())
			if name, step := strings.CutPrefix(s.Message.Text(), "step "); step { // the program waits for this file
				if err := os.WriteFile(filepath.Join(h.Dir(), name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff([]string{"", "step one", "step two"}, output); diff != "" {
			t.Errorf("statuses (-want +got):\n%s", diff)
		}
		if r := primary.Reply().Result; r == nil || rb.Val(r.TaskID) != id || r.State != rb.Completed {
			t.Errorf("result %+v", r)
		}
	})
	t.Run("C17", func(t *testing.T) {
		r := request("x")
		r.Message.Parts = append(r.Message.Parts, rb.DataPart(map[string]any{"k": 1.5}))
		r.Metadata = map[string]string{"trace": "t"}
		id := primary.Invoke("reports", r)
		got := primary.Reply().Result
		if got == nil || rb.Val(got.TaskID) != id || got.State != rb.Completed {
			t.Fatalf("result %+v", got)
		}
		if text := *got.Artifacts[0].Parts[0].Text; !strings.Contains(text, `"data":{"k":1.5}`) {
			t.Errorf("the program has got %s", text)
		}
	})
	t.Run("questions", func(t *testing.T) {
		first := request("hello")
		first.ContextID = rb.Ptr("ctx")
		primary.Invoke("asker", first)
		if r := primary.Reply().Result; r == nil || r.State != rb.InputRequired || rb.Val(r.ContextID) != "ctx" {
			t.Fatalf("result %+v", r)
		}
		second := request("noon")
		second.ContextID = rb.Ptr("ctx")
		primary.Invoke("asker", second)
		if r := primary.Reply().Result; r == nil || r.State != rb.Completed || !strings.Contains(r.Message.Text(), "noon") {
			t.Fatalf("result %+v", r)
		}
	})
}

// request returns an AgentTaskRequest with a text.
func request(text string) *rb.Request {
	return &rb.Request{Skill: rb.Ptr("general"), Message: &rb.Message{Role: rb.Ptr("user"), Parts: []rb.Part{rb.TextPart(text)}}}
}

// TestObserved: the answer to a caller whose request is not performed has metadata of other
// types in the hub. RockBot's dictionary contains only strings.
func TestObserved(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	primary := rb.StartCaller(t, url, "Primary")
	hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
bus: {url: "off"}
rockbot: {url: %q, name: hub, serve: [private]}
trust: {gated: [private]}
agents:
  - {name: private, command: [cat]}
`, url)})
	primary.Card()
	id := primary.Invoke("private", request("a plan"))
	r := primary.Reply().Result
	if r == nil || rb.Val(r.TaskID) != id || r.State != rb.Failed || r.Message == nil || r.Message.Metadata["fulfilled"] != "false" {
		t.Errorf("the answer to a stranger is %+v", r)
	}
}
