package agenttools

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/llm"
)

// Limits of one result. The rest is in its note or its task.
const (
	maxReply = 32 << 10 // characters of text
	maxData  = 64 << 10 // characters of structured data
	maxRaw   = 4 << 20  // bytes of images, audio and files
	maxFiles = 16
)

// report is a task in the form for a model.
type report struct {
	Agent     string     `json:"agent"`
	TaskID    a2a.TaskID `json:"task_id,omitempty"`
	ContextID string     `json:"context_id,omitempty"`
	State     string     `json:"state"`
	// Result is the agent's question, its answer, or the reason why there is none.
	Result string `json:"result,omitempty"`
	// Progress is the last message of an agent that is still working.
	Progress string `json:"progress,omitempty"`
	// Data is the structured data, as JSON text.
	Data string `json:"data,omitempty"`
	Next string `json:"next,omitempty"`
}

// reportOf returns a report on a message, with its text from the offset of the call.
func (b *Toolbox) reportOf(c *call, s *Sent) report {
	whose := guard.Agent(s.Agent)
	r := report{Agent: s.Agent, State: client.StateName(a2a.TaskStateCompleted)}
	if s.Task != nil {
		r.TaskID, r.ContextID, r.State = s.Task.ID, s.Task.ContextID, client.StateName(s.Task.Status.State)
	} else if s.Message != nil {
		r.ContextID = s.Message.ContextID
	}
	p := pieceOf(replyOf(s), int(c.args.Number("offset", 0)), maxReply, c.room(2))
	said := b.Guard.QuotePiece(whose, p.whole, p.from, p.to).Text
	if p.to == p.from {
		said = ""
	}
	if s.Task != nil && !s.Task.Status.State.Terminal() && !client.Interrupted(s.Task.Status.State) {
		r.Progress = said
	} else {
		r.Result = said + b.goOn(s, &p)
	}
	r.Data = b.data(c, s)
	return r
}

// goOn returns a note on how to read the rest of an agent's text.
func (b *Toolbox) goOn(s *Sent, p *piece) string {
	switch {
	case p.left == 0:
		return ""
	case b.Tasks == nil || s.Task == nil:
		return fmt.Sprintf("\n(%d more characters were left out.)", p.left)
	}
	return fmt.Sprintf("\n(%d more characters. Call get_task with task_id %q and offset %d to read on.)", p.left, s.Task.ID, p.next)
}

// data returns the data of an agent's result, labelled and limited.
func (b *Toolbox) data(c *call, s *Sent) string {
	whole := dataOf(outcome(s))
	p := pieceOf(whole, 0, maxData, c.room(2))
	text := b.words(guard.Agent(s.Agent), whole[:p.to])
	switch {
	case p.left == 0:
	case b.Notes == nil || s.Task == nil:
		text += fmt.Sprintf("\n(%d more characters were left out.)", p.left)
	default:
		text += fmt.Sprintf("\n(%d more characters. Call get_from_working_memory with key %q and offset %d to read on.)",
			p.left, ResultKey(b.SessionID(), s.Agent, s.Task.ID)+".data", p.next)
	}
	return text
}

// answer returns a result with v, a report, and with those parts of an agent's result that are
// neither text nor data.
func (b *Toolbox) answer(s *Sent, v any) (*llm.Result, error) {
	r, err := structured(v)
	if err != nil {
		return nil, err
	}
	size, n := 0, 0
	for _, p := range outcome(s) {
		raw, file := p.Content.(a2a.Raw)
		if _, link := p.Content.(a2a.URL); !file && !link {
			continue
		}
		if size, n = size+len(raw), n+1; size > maxRaw || n > maxFiles {
			r.Parts = append(r.Parts, a2a.NewTextPart("There are more files than fit here."))
			break
		}
		r.Parts = append(r.Parts, p)
	}
	return r, nil
}

// Reply returns the text of an agent's result, in the agent's words: the question of a waiting
// task, the reason and the progress of a task that was not completed, or the answer. If the
// agent has ended without any output, the text states that.
func (s *Sent) Reply() string { return replyOf(s) }

// Parts returns the output of an agent: the parts of the artifacts, or of its message.
func (s *Sent) Parts() []*a2a.Part { return outcome(s) }

// outcome returns the parts of an agent's output.
func outcome(s *Sent) []*a2a.Part {
	var parts []*a2a.Part
	add := func(more a2a.ContentParts) {
		for _, p := range more {
			if p != nil {
				parts = append(parts, p)
			}
		}
	}
	if s.Message != nil {
		add(s.Message.Parts)
	}
	if s.Task != nil {
		for _, a := range s.Task.Artifacts {
			if a != nil {
				add(a.Parts)
			}
		}
		if m := s.Task.Status.Message; m != nil && len(parts) == 0 {
			add(m.Parts)
		}
	}
	return parts
}

// dataOf returns the data of parts as JSON text: the single value, or an array of several.
func dataOf(parts []*a2a.Part) string {
	var values []string
	for _, p := range parts {
		d, ok := p.Content.(a2a.Data)
		if !ok {
			continue
		}
		if b, err := json.Marshal(d.Value); err == nil {
			values = append(values, string(b))
		}
	}
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	return "[" + strings.Join(values, ",") + "]"
}

// replyOf returns the text of an agent's result; see Sent.Reply.
func replyOf(s *Sent) string {
	text := spokenOf(s)
	if text != "" || len(outcome(s)) > 0 {
		return text
	}
	if s.Task == nil {
		return llm.NoReply(s.Agent, client.StateName(a2a.TaskStateCompleted))
	}
	if state := s.Task.Status.State; state.Terminal() || client.Interrupted(state) {
		return llm.NoReply(s.Agent, client.StateName(state))
	}
	return ""
}

// spokenOf returns the text that the agent has written.
func spokenOf(s *Sent) string {
	if s.Task == nil {
		return delivered(s)
	}
	status, state := "", s.Task.Status.State
	if s.Task.Status.Message != nil {
		status = textOf(s.Task.Status.Message.Parts)
	}
	text := delivered(s)
	switch {
	case text == "", client.Interrupted(state) && status != "":
		return status
	case state == a2a.TaskStateCompleted, status == "", status == text:
		return text
	}
	return status + "\n\nUntil then it said:\n" + text
}

// delivered returns the text of a message, or of the artifacts, each on lines of its own.
func delivered(s *Sent) string {
	if s.Message != nil {
		return textOf(s.Message.Parts)
	}
	var texts []string
	for _, a := range s.Task.Artifacts {
		if a == nil {
			continue
		}
		if text := textOf(a.Parts); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// textOf returns the concatenated text of parts.
func textOf(parts []*a2a.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p != nil {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

// piece is a part of a text: the bytes from and to. left is the number of characters after it,
// next the offset in characters of the following piece.
type piece struct {
	whole      string
	from, to   int
	left, next int
}

// pieceOf returns the piece of a text that begins at a character offset. It has at most most
// characters, and at most room bytes of JSON.
func pieceOf(text string, offset, most, room int) piece {
	p := piece{whole: text, next: offset}
	p.from, _ = skip(text, offset, len(text)*longest)
	n := 0
	p.to, n = skip(text[p.from:], most, room)
	p.to += p.from
	p.next += n
	p.left = utf8.RuneCountInString(text[p.to:])
	return p
}

// longest is the number of bytes of the longest escape in JSON.
const longest = len(`\u0000`)

// skip returns the length in bytes, and the number, of the first characters of a text: at most
// most characters, with at most room bytes in JSON.
func skip(text string, most, room int) (end, n int) {
	for i, r := range text {
		size := utf8.RuneLen(r)
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			size = len(`\n`)
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
			size = longest
		}
		if n == most || room < size {
			return i, n
		}
		n, room = n+1, room-size
	}
	return len(text), n
}

// overhead is the room of a result for everything but its texts.
const overhead = 4 << 10

// room returns the number of bytes for each of several texts of a result.
func (c *call) room(texts int) int {
	if c.Room <= 0 {
		return guard.MaxText
	}
	return max(c.Room-overhead, c.Room/2) / texts
}
