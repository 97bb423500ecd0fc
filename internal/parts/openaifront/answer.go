package openaifront

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/front/exchange"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/task"
)

// complete answers POST /v1/chat/completions.
func (f *Front) complete(v *surface.Request) error {
	req, err := read(v.Body)
	if err != nil {
		return err
	}
	r, err := f.message(v, req)
	if err != nil {
		return err
	}
	v.Adopt(r)
	t, err := exchange.Begin(v.Request.Context(), f.Engine, v.Caller, r)
	if err != nil {
		return err
	}
	defer t.Close()
	v.About(&t.Task)
	// Clients retry failed requests, which would create another task.
	v.Header.Set("X-Should-Retry", "false")
	a := &answer{visit: v, req: req, turn: t}
	if req.stream {
		return a.stream()
	}
	return a.whole()
}

// answer is the answer of an agent to one request.
type answer struct {
	visit *surface.Request
	req   *request
	turn  *exchange.Exchange

	// artifact is the artifact of the last text.
	artifact string
	spoken   bool
	// parts are those that are not text, as v1.0 JSON.
	parts [][]byte
	usage usage
	state task.State
}

// usage is the number of tokens used, as far as the agent reports it.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// textOf returns the text that an event adds to the answer.
func (a *answer) textOf(ev *exchange.Event) string {
	switch ev.Kind {
	case exchange.Text:
		text := ev.Text
		if a.spoken && (ev.Anew || ev.Artifact != a.artifact) {
			text = "\n" + text
		}
		a.artifact, a.spoken = ev.Artifact, true
		return text
	case exchange.Part:
		if cost := exchange.ExtensionOf(ev.Part, "cost-v1"); cost != nil {
			a.count(cost)
		}
		a.parts = append(a.parts, ev.Part)
	case exchange.End:
		a.state = ev.State
		return a.last(ev)
	}
	return ""
}

// last returns the text that the final status adds: the answer, if no artifact had text, or the
// question. Otherwise the parts that are not text are described in words.
func (a *answer) last(ev *exchange.Event) string {
	switch {
	case !a.spoken && ev.Text != "":
		return ev.Text
	case !a.spoken:
		return a.words()
	case ev.State.Interrupted() && ev.Text != "" && !ev.Repeats:
		return "\n\n" + ev.Text
	}
	return ""
}

// words describes the parts that are not text.
func (a *answer) words() string {
	var parts a2a.ContentParts
	for _, raw := range a.parts {
		var p a2a.Part
		if !exchange.Extension(raw) && json.Unmarshal(raw, &p) == nil {
			parts = append(parts, &p)
		}
	}
	c, _ := llm.ToChatText(parts)
	return c.Text()
}

func (a *answer) count(cost []byte) {
	var c struct {
		Usage struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(cost, &c) != nil {
		return // the agent uses another form
	}
	a.usage.Prompt += c.Usage.Input
	a.usage.Completion += c.Usage.Output
	a.usage.Total = a.usage.Prompt + a.usage.Completion
}

// failure returns the error of a task that has failed, or nil.
func (a *answer) failure(ev *exchange.Event) *problem {
	var code string
	switch ev.State {
	case task.Failed:
		code = "task_failed"
	case task.Rejected:
		code = "task_rejected"
	case task.Canceled:
		code = "task_canceled"
	default:
		return nil
	}
	p := &problem{Message: ev.Text, Type: "agent_error", Code: &code}
	if p.Message == "" {
		p.Message = "the agent gave no reason"
	}
	return p
}

// metadata returns the task, the context and the state of the answer.
func (a *answer) metadata() map[string]string {
	h := &a.turn.Task
	return map[string]string{metaTask: string(h.ID), metaContext: h.ContextID, metaState: exchange.StateName(a.state)}
}

// completion is an answer, or a chunk of one.
type completion struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  int64             `json:"created"`
	Model    string            `json:"model"`
	Choices  []choice          `json:"choices"`
	Usage    *usage            `json:"usage,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type choice struct {
	Index        int       `json:"index"`
	Message      *message  `json:"message,omitempty"`
	Delta        *delta    `json:"delta,omitempty"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

type message struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
	// Parts is not in OpenAI's API: the parts of the answer that are not text, as parts of A2A.
	Parts []json.RawMessage `json:"a2a_parts,omitempty"`
}

type delta struct {
	Role    string            `json:"role,omitempty"`
	Content *string           `json:"content,omitempty"`
	Parts   []json.RawMessage `json:"a2a_parts,omitempty"`
}

func (a *answer) completion(object string, choices ...choice) *completion {
	h := &a.turn.Task
	return &completion{
		ID: "chatcmpl-" + string(h.ID), Object: object, Created: h.CreatedAt.Time().Unix(), Model: a.req.model, Choices: choices,
	}
}

func (a *answer) rawParts() []json.RawMessage {
	var raw []json.RawMessage
	for _, p := range a.parts {
		raw = append(raw, p)
	}
	return raw
}

var stop = "stop"

// texts are the texts of an answer. A new text of an artifact replaces the old one, so that
// preliminary texts of the agent are not part of the answer.
type texts []artifactText

type artifactText struct{ artifact, text string }

// add adds a piece of text. The first text of the answer gets no separator.
func (t *texts) add(text string, ev *exchange.Event) {
	last := len(*t) - 1
	switch {
	case text == "":
	case ev.Kind != exchange.Text || last < 0 || !ev.Anew && (*t)[last].artifact != ev.Artifact:
		*t = append(*t, artifactText{ev.Artifact, text})
	case ev.Anew:
		t.replace(ev)
	default:
		(*t)[last].text += text
	}
}

// replace replaces the text of an artifact.
func (t *texts) replace(ev *exchange.Event) {
	*t = slices.DeleteFunc(*t, func(a artifactText) bool { return a.artifact == ev.Artifact })
	text := ev.Text
	if len(*t) > 0 {
		text = "\n" + text
	}
	*t = append(*t, artifactText{ev.Artifact, text})
}

// String returns the whole answer.
func (t texts) String() string {
	var b strings.Builder
	for i := range t {
		b.WriteString(t[i].text)
	}
	return b.String()
}

// whole answers with the complete text at once.
func (a *answer) whole() error {
	var text texts
	for ev, err := range a.turn.Events(a.visit.Request.Context(), 0) {
		if err != nil {
			return err
		}
		text.add(a.textOf(&ev), &ev)
		if ev.Kind != exchange.End {
			continue
		}
		if p := a.failure(&ev); p != nil {
			a.visit.Reply(http.StatusUnprocessableEntity, p.body())
			return nil
		}
	}
	c := a.completion("chat.completion", choice{
		Message: &message{Role: "assistant", Content: text.String(), Parts: a.rawParts()}, FinishReason: &stop,
	})
	c.Usage, c.Metadata = &a.usage, a.metadata()
	a.visit.Reply(http.StatusOK, marshal(c))
	return nil
}
