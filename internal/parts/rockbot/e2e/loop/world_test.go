package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// patience is the time limit of a test on a busy machine.
const patience = 2 * time.Minute

// agentName is the name on RockBot's exchange of the agent that the model calls.
const agentName = "ExtractionAgent"

// world is a hub with a model, and an agent of RockBot at a broker.
type world struct {
	*testing.T
	ctx    context.Context
	broker string
	models *openaitest.Server
	hub    *hubtest.Hub
	agent  *rockbotpeer.Running
}

// config is parley.yaml; ${MORE} is the addition of a test.
const config = `
model_providers:
  - {name: test, base_url: MODELS}
rockbot: {url: "BROKER", name: Primary}
agents:
  - name: primary
    model: {model: test, system_prompt: You ask others., context_tokens: 400000MODEL}
  - name: extractionagent
    rockbot: ExtractionAgent
    skills: [{id: extract-structured-data, description: Reads records., tags: [extract], examples: [extract it]}]
MORE`

// start starts a world. handle is the agent's handler; without one no agent runs.
func start(t *testing.T, broker string, script openaitest.Script, o options) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	w := &world{T: t, ctx: ctx, broker: broker, models: openaitest.New(t, openaitest.Config{Wire: openaitest.Wire{Chunk: 4096, Write: 65536, Plain: true}}, script)}
	text := strings.NewReplacer("MODELS", w.models.URL, "BROKER", broker, "MODEL", o.model, "MORE", o.more).Replace(config)
	w.hub = hubtest.Start(t, hubtest.Options{Config: text, Env: o.env})
	if o.handle != nil {
		w.agent = w.run(o.handle)
	}
	return w
}

// options are the differences between worlds.
type options struct {
	model, more string
	env         []string
	handle      func(*rockbotpeer.Task) (*rockbotpeer.Result, error)
}

// run starts the agent.
func (w *world) run(handle func(*rockbotpeer.Task) (*rockbotpeer.Result, error)) *rockbotpeer.Running {
	return rockbotpeer.StartAgent(w.T, w.broker, &rockbotpeer.Agent{Name: agentName, Handle: handle})
}

// broker returns a virtual host of the shared broker.
func broker(t *testing.T) string { return rabbittest.Shared(t).VHost(t) }

// dial returns a client of the primary agent.
func (w *world) dial() *client.Client {
	w.Helper()
	c, err := client.Dial(w.ctx, w.hub.URL()+"/a2a/primary", client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() }) // it has no open connection
	return c
}

// say sends a message of the user. It returns the statuses for the user, and the task at the
// end of the turn.
func (w *world) say(m *a2a.Message) ([]string, *a2a.Task) {
	w.Helper()
	c := w.dial()
	var seen []string
	var fold client.Fold
	for ev, err := range c.Stream(w.ctx, &a2a.SendMessageRequest{Message: m}) {
		if err != nil {
			w.Fatalf("stream: %v", err)
		}
		fold.Apply(ev)
		if s, ok := ev.(*a2a.TaskStatusUpdateEvent); ok && s.Status.Message != nil {
			seen = append(seen, words(s.Status.Message))
		}
	}
	return seen, fold.Task
}

// user returns a message of the user in a context, which may be empty.
func user(text, contextID string, task a2a.TaskID) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.ContextID, m.TaskID = contextID, task
	return m
}

// begin sends a message of the user and returns the id of its task.
func (w *world) begin(text string) a2a.TaskID {
	w.Helper()
	got, err := w.dial().Send(w.ctx, &a2a.SendMessageRequest{
		Message: user(text, "", ""), Config: &a2a.SendMessageConfig{ReturnImmediately: true},
	})
	if err != nil {
		w.Fatal(err)
	}
	return got.(*a2a.Task).ID
}

// end waits for the end of the turn of a task.
func (w *world) end(id a2a.TaskID) *a2a.Task {
	w.Helper()
	t, err := w.dial().Wait(w.ctx, id)
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// sees waits until the user gets a status with a text. The broker has then confirmed the
// request to the agent, which sends the status.
func (w *world) sees(id a2a.TaskID, text string) {
	w.Helper()
	for ev, err := range w.dial().Follow(w.ctx, client.Position{Task: id}) {
		if err != nil {
			w.Fatal(err)
		}
		var status a2a.TaskStatus
		switch ev := ev.(type) {
		case *a2a.Task:
			status = ev.Status
		case *a2a.TaskStatusUpdateEvent:
			status = ev.Status
		}
		if status.Message != nil && strings.Contains(words(status.Message), text) {
			return
		}
	}
	w.Fatalf("the user has not seen %q", text)
}

func words(m *a2a.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text())
	}
	return b.String()
}

// answer returns the last status of a task with its text.
func answer(t *a2a.Task) string {
	text := ""
	if t.Status.Message != nil {
		text = words(t.Status.Message)
	}
	return client.StateName(t.Status.State) + ": " + text
}

// note reads a note of working memory.
func (w *world) note(key string) map[string]any {
	w.Helper()
	var n map[string]any
	if err := hubtest.Call(w.ctx, hubtest.Request{URL: w.hub.URL() + "/api/v1/memory/note?key=" + url.QueryEscape(key)}, &n); err != nil {
		w.Fatal(err)
	}
	return n
}

// parley runs a command of the binary.
func (w *world) parley(args ...string) string {
	w.Helper()
	out, err := w.hub.Parley(w.ctx, args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// text returns n numbered lines.
func text(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %08d of it\n", i)
	}
	return b.String()
}

var (
	keyLine  = regexp.MustCompile(`exactly this key:\n(session/\S+/result)$`)
	textLine = regexp.MustCompile(`line (\d{8}) of it`)
)

// invoke is the example call of the document.
var invoke = openaitest.CallOf("invoke_agent", map[string]any{
	"agent_name": agentName, "skill": "extract-structured-data",
	"message": "Extract the title and author from this record.",
	"data":    map[string]any{"recordId": "rec-42", "source": "https://example.com/doc"},
})

// primary returns the turns of the primary agent's model. It dispatches, reads the whole result
// in pieces by the key in the notification, and reports the amount that it has read.
func primary(r *openaitest.Request) openaitest.Turn {
	last := &r.Messages[len(r.Messages)-1]
	switch {
	case last.Role == "tool" && strings.Contains(last.Text(), "next_offset"):
		var piece struct {
			Key  string `json:"key"`
			Next int    `json:"next_offset"`
		}
		if err := json.Unmarshal([]byte(last.Text()), &piece); err != nil {
			return openaitest.Turn{Text: "The piece is not JSON: " + err.Error()}
		}
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("get_from_working_memory", map[string]any{"key": piece.Key, "offset": piece.Next})}}
	case last.Role == "tool" && strings.Contains(last.Text(), "dispatched"):
		return openaitest.Turn{Text: "I have dispatched it."}
	case last.Role == "tool":
		return openaitest.Turn{Text: read(r)}
	case keyLine.MatchString(last.Text()):
		key := keyLine.FindStringSubmatch(last.Text())[1]
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("get_from_working_memory", map[string]any{"key": key})}}
	case strings.Contains(last.Text(), "extract"):
		return openaitest.Turn{Calls: []openaitest.Call{invoke}}
	}
	return openaitest.Turn{Text: "I know."}
}

// read returns a summary of the text's lines in the tool results, which must be unique and in
// order.
func read(r *openaitest.Request) string {
	var whole strings.Builder
	for _, result := range r.Results("get_from_working_memory") {
		whole.WriteString(piece(result))
	}
	lines := textLine.FindAllStringSubmatch(whole.String(), -1)
	for i, l := range lines {
		if l[1] != fmt.Sprintf("%08d", i) {
			return fmt.Sprintf("line %s is at place %d", l[1], i)
		}
	}
	return fmt.Sprintf("I have read %d lines.", len(lines))
}

// piece returns the text of a result without the marks that quote an agent's text.
func piece(result string) string {
	var r struct {
		Value string `json:"value"`
	}
	if json.Unmarshal([]byte(result), &r) != nil {
		return result
	}
	_, text, _ := strings.Cut(r.Value, ">\n")
	end := strings.LastIndex(text, "\n</quoted")
	return text[:max(end, 0)]
}
