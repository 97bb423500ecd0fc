package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// asks answers the first message of a conversation with a question, and the second one with the
// answer to it.
func asks(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
	text := rockbotpeer.Val(t.Message.Parts[0].Text)
	if strings.HasPrefix(text, "Extract") {
		return t.Result(rockbotpeer.InputRequired, "Which record, A or B?"), nil
	}
	return t.Result(rockbotpeer.Completed, "line 00000000 of it: "+text), nil
}

// clerk is a model that answers questions of agents. Without permission it proposes "A", and
// passes on the user's text.
func clerk(r *openaitest.Request) openaitest.Turn {
	last := &r.Messages[len(r.Messages)-1]
	id := taskOf(r)
	goOn := func(text string) openaitest.Turn {
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("continue_task", map[string]any{"task_id": id, "message": text})}}
	}
	switch text := last.Text(); {
	case last.Role == "tool" && strings.Contains(text, "not answered without the person"):
		return openaitest.Turn{Text: "B, I insist"}
	case last.Role == "user" && strings.Contains(text, "the person you work for decides") && strings.Contains(r.Last("system"), "stubborn"):
		return goOn("B")
	case last.Role == "user" && strings.Contains(text, "the person you work for decides"):
		return openaitest.Turn{Text: "A"}
	case last.Role == "user" && strings.Contains(text, "asks back"):
		return goOn("A, alone")
	case last.Role == "user" && strings.HasPrefix(text, "take "):
		return goOn(strings.TrimPrefix(text, "take "))
	case last.Role == "tool" && strings.Contains(text, "line 00000000"):
		return openaitest.Turn{Text: "It says " + strings.TrimSpace(strings.SplitN(piece(text), ": ", 2)[1])}
	}
	return primary(r)
}

// taskOf returns the task that the model has begun.
func taskOf(r *openaitest.Request) string {
	var d struct {
		ID string `json:"task_id"`
	}
	for _, result := range r.Results("invoke_agent") {
		_ = json.Unmarshal([]byte(result), &d) // it stays empty on an error
	}
	return d.ID
}

// waits is the user's status text while an untrusted agent waits.
const waits = "input-required: The agent \"extractionagent\" asks: Which record, A or B?\n\nProposed answer: "

// TestQuestions: the model alone answers questions of a RockBot agent only if the agent is
// trusted to act with the skill; otherwise the user decides, in the conversation or in the
// inbox.
func TestQuestions(t *testing.T) {
	t.Parallel()
	w := start(t, broker(t), clerk, options{handle: asks})
	t.Run("B18 B19 the user answers", func(t *testing.T) {
		_, task := w.say(user("extract it", "", ""))
		if got := answer(task); got != waits+"A" {
			t.Fatalf("the task is %q, want %q", got, waits+"A")
		}
		if items := open(w); len(items) != 1 || items[0].Draft != "A" || !strings.Contains(items[0].Text, "Which record, A or B?") {
			t.Errorf("the inbox has %+v", items)
		}
		_, task = w.say(user("take B", task.ContextID, task.ID))
		if got := answer(task); got != "completed: It says B" {
			t.Errorf("the task is %q", got)
		}
		if items := open(w); len(items) != 0 {
			t.Errorf("the inbox still has %+v", items)
		}
	})
	t.Run("B18 the owner answers", func(t *testing.T) {
		_, task := w.say(user("extract it", "", ""))
		items := open(w)
		if len(items) != 1 {
			t.Fatalf("the inbox has %+v", items)
		}
		w.parley("inbox", "answer", items[0].ID, "take A and B")
		if got := answer(w.end(task.ID)); got != "completed: It says A and B" {
			t.Errorf("the task is %q", got)
		}
	})
	t.Run("B18 through kill -9", func(t *testing.T) {
		_, task := w.say(user("extract it", "", ""))
		w.hub.Restart()
		if items := open(w); len(items) != 1 {
			t.Errorf("after a kill the inbox has %+v", items)
		}
		if _, task = w.say(user("take B", task.ContextID, task.ID)); answer(task) != "completed: It says B" {
			t.Errorf("the task is %q", answer(task))
		}
	})
	t.Run("another skill", func(t *testing.T) {
		w.parley("trust", "set", "extractionagent", "--level", "act", "--approve", "another")
		if _, task := w.say(user("extract it", "", "")); answer(task) != waits+"A" {
			t.Errorf("the task is %q", answer(task))
		}
	})
	t.Run("B17 trusted", func(t *testing.T) {
		w.parley("trust", "set", "extractionagent", "--level", "act", "--approve", "Extract-Structured-Data")
		_, task := w.say(user("extract it", "", ""))
		if got := answer(task); got != "completed: It says A, alone" {
			t.Errorf("the task is %q", got)
		}
		requests := w.models.Requests()
		i := slices.IndexFunc(requests, func(r *openaitest.Request) bool { return strings.Contains(r.Last("user"), "asks back. get_task") })
		if i < 0 || !requests[i].Has("invoke_agent") || !requests[i].Has("search_working_memory") || !requests[i].Has("continue_task") {
			t.Errorf("the model did not have all tools when it answered (request %d)", i)
		}
	})
	w.agent.Unread()
}

// TestStubborn: a call that would answer is refused before the user has sent a message, and the
// agent receives nothing.
func TestStubborn(t *testing.T) {
	t.Parallel()
	w := start(t, broker(t), clerk, options{model: ", allowed_tools: ['*']", handle: asks, more: `
  - name: other
    model: {model: test, system_prompt: You are stubborn.}
`})
	c, err := client.Dial(w.ctx, w.hub.URL()+"/a2a/other", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Send(w.ctx, &a2a.SendMessageRequest{Message: user("extract it", "", "")})
	if err != nil {
		t.Fatal(err)
	}
	if task := got.(*a2a.Task); answer(task) != waits+"B, I insist" {
		t.Errorf("the task is %q", answer(task))
	}
	w.agent.Next()
	select {
	case further := <-w.agent.Tasks:
		t.Errorf("the agent got %+v", further.Message)
	default:
	}
}

// idOfTask matches the id of a task in the input of a model.
var idOfTask = regexp.MustCompile(`task(?: |_id":"|Id":")([0-9a-f-]{36})`)

// hasty is a model that sends three answers at once as soon as it may answer.
func hasty(r *openaitest.Request) openaitest.Turn {
	last := &r.Messages[len(r.Messages)-1]
	switch {
	case last.Role == "user" && last.Text() == "begin":
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("chat_with_agent", map[string]any{"agent": "interview", "message": "ask 4"})}}
	case last.Role == "user" && last.Text() == "go on":
		var id string
		for i := range r.Messages {
			if m := idOfTask.FindStringSubmatch(r.Messages[i].Text()); m != nil {
				id = m[1]
			}
		}
		c := openaitest.CallOf("continue_task", map[string]any{"task_id": id, "message": "yes"})
		return openaitest.Turn{Calls: []openaitest.Call{c, c, c}}
	}
	return openaitest.Turn{Text: "draft"}
}

// TestOneAnswer: the user's decision about one question answers only that one, and not later
// questions, which the user has not seen.
func TestOneAnswer(t *testing.T) {
	t.Parallel()
	w := start(t, broker(t), hasty, options{more: `
  - name: other
    model: {model: test, system_prompt: You are hasty.}
`})
	c, err := client.Dial(w.ctx, w.hub.URL()+"/a2a/other", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := user("begin", "", "")
	for _, question := range []string{"What is your name?", "What would you like to get done?", "Question 3 of 4: what else should be known?"} {
		got, err := c.Send(w.ctx, &a2a.SendMessageRequest{Message: m})
		if err != nil {
			t.Fatal(err)
		}
		task, want := got.(*a2a.Task), "input-required: The agent \"interview\" asks: "+question+"\n\nProposed answer: draft"
		if answer(task) != want {
			t.Fatalf("the task is %q, want %q", answer(task), want)
		}
		m = user("go on", task.ContextID, task.ID)
	}
}

// eager is a model that sends a further message to a task as soon as the task is dispatched. It
// calls answered after it has read the result, and then passes on the user's text.
func eager(answered func()) openaitest.Script {
	return func(r *openaitest.Request) openaitest.Turn {
		last := &r.Messages[len(r.Messages)-1]
		goOn := func(text string) openaitest.Turn {
			return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("continue_task", map[string]any{"task_id": taskOf(r), "message": text})}}
		}
		switch calls := len(r.Results("continue_task")); {
		case last.Role == "user" && last.Text() == "begin":
			return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("invoke_agent", map[string]any{
				"agent_name": "extractionagent", "skill": "extract-structured-data", "message": "go",
			})}}
		case last.Role == "user" && last.Text() == "Oslo":
			return goOn("Oslo")
		case last.Role == "tool" && calls == 0:
			return goOn("yes")
		case calls > 0:
			answered()
		}
		return openaitest.Turn{Text: "draft"}
	}
}

// TestNoAnswerAhead: a message that a model sends to a task before the task asks does not
// answer the question, which the user has not seen. The agent asks after the message was sent.
func TestNoAnswerAhead(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	answered := sync.OnceFunc(func() { close(sent) })
	t.Cleanup(answered)
	w := start(t, broker(t), eager(answered), options{handle: func(task *rockbotpeer.Task) (*rockbotpeer.Result, error) {
		if task.Message.Text() != "go" {
			return task.Result(rockbotpeer.Completed, "done"), nil
		}
		<-sent
		return task.Result(rockbotpeer.InputRequired, "Which city?"), nil
	}})
	got := w.end(w.begin("begin"))
	if want := "input-required: The agent \"extractionagent\" asks: Which city?\n\nProposed answer: draft"; answer(got) != want {
		t.Errorf("the task is %q, want %q", answer(got), want)
	}
	w.say(user("Oslo", got.ContextID, got.ID))
	for _, want := range []string{"go", "Oslo"} {
		if text := w.agent.Next().Message.Text(); text != want {
			t.Errorf("the agent is sent %q, want %q", text, want)
		}
	}
	w.agent.Unread()
}

// item is an item of the inbox.
type item struct {
	ID, Text, Draft, State string
}

// open returns the open items of the inbox.
func open(w *world) []item {
	w.Helper()
	var got struct{ Items []item }
	if err := hubtest.Call(w.ctx, hubtest.Request{URL: w.hub.URL() + "/api/v1/inbox"}, &got); err != nil {
		w.Fatal(err)
	}
	return got.Items
}

// entry is RockBot's AgentTrustEntry as decoded by its FileAgentTrustStore: camelCase, and
// levels as numbers alone. A name in place of the number is an exception there, and an error
// here.
type entry struct {
	AgentID          string   `json:"agentId"`
	Level            int      `json:"level"`
	ApprovedSkills   []string `json:"approvedSkills"`
	FirstSeen        string   `json:"firstSeen"`
	LastInteraction  string   `json:"lastInteraction"`
	InteractionCount int      `json:"interactionCount"`
}

// TestTrustFile: the hub reads levels as numbers and names, and writes a form that RockBot
// reads.
func TestTrustFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agent-trust.json")
	src := `[{"agentId":"alice","level":4,"approvedSkills":["Echo"],"firstSeen":"2026-01-02T03:04:05+00:00","interactionCount":3},{"agentId":"bob","level":"learn"}]`
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("trust: {file: %q, write: true}\n", file)})
	out, err := hub.Parley(t.Context(), "trust", "list")
	if err != nil || !strings.Contains(out, "alice") || !strings.Contains(out, "act") || !strings.Contains(out, "learn") {
		t.Errorf("C21: the hub reads %q, %v", out, err)
	}
	if _, err := hub.Parley(t.Context(), "trust", "set", "carol", "--level", "propose", "--approve", "echo"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	if err := json.Unmarshal(b, &entries); err != nil {
		t.Fatalf("C21: RockBot cannot read the file: %v\n%s", err, b)
	}
	levels := make(map[string]int)
	for _, e := range entries {
		levels[e.AgentID] = e.Level
	}
	if levels["alice"] != 4 || levels["bob"] != 2 || levels["carol"] != 3 {
		t.Errorf("C21: the file has %v:\n%s", levels, b)
	}
}
