package hubtools

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
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
	// Waiting is the code of the reason for which the task does not proceed; empty if nothing holds it up.
	Waiting string `json:"waiting,omitempty" jsonschema:"Why the task waits, such as no-worker or agent-paused."`
	// Result is the agent's question, its answer, or the reason why there is none.
	Result string `json:"result,omitempty"`
	// Progress is the last message of an agent that is still working.
	Progress string `json:"progress,omitempty"`
	// Data is the structured data, as JSON text.
	Data string `json:"data,omitempty"`
	Next string `json:"next,omitempty"`
}

func (b *Toolbox) reportOf(c *call, s *hubclient.Sent, offset int) report {
	author := guard.Agent(s.Agent)
	r := report{Agent: plainName(s.Agent), State: client.StateName(a2a.TaskStateCompleted)}
	if s.Task != nil {
		r.TaskID, r.ContextID, r.State = s.Task.ID, s.Task.ContextID, client.StateName(s.Task.Status.State)
		if !s.Task.Status.State.Terminal() {
			r.Waiting = s.Waiting
		}
	} else if s.Message != nil {
		r.ContextID = s.Message.ContextID
	}
	if !guard.IsName(r.ContextID) {
		r.ContextID = "" // its caller has named it
	}
	p := pieceOf(s.Reply(), offset, maxReply, c.room(2))
	quoted := b.Guard.QuotePiece(author, p.whole, p.from, p.to).Text
	if p.to == p.from {
		quoted = ""
	}
	if s.Task != nil && !s.Task.Status.State.Terminal() && !client.Interrupted(s.Task.Status.State) {
		r.Progress = quoted
	} else {
		r.Result = quoted + b.readOn(s, &p)
	}
	r.Data = b.data(c, s)
	return r
}

// resultKey returns the key of the result of a task, for the model.
func (b *Toolbox) resultKey(s *hubclient.Sent) string {
	return b.shownKey(hubclient.ResultKey(b.SessionID(), s.Agent, s.Task.ID))
}

// readOn returns a note on how to read the rest of an agent's text.
func (b *Toolbox) readOn(s *hubclient.Sent, p *piece) string {
	switch {
	case p.left == 0:
		return ""
	case s.Task == nil:
		return fmt.Sprintf("\n(%d more characters were left out.)", p.left)
	}
	return fmt.Sprintf("\n(%d more characters. Call get_task with task_id %q and offset %d to read on.)", p.left, s.Task.ID, p.next)
}

// data returns the data of an agent's result, labelled and limited.
func (b *Toolbox) data(c *call, s *hubclient.Sent) string {
	whole := wholeData(s)
	p := pieceOf(whole, 0, maxData, c.room(2))
	text := b.label(guard.Agent(s.Agent), whole[:p.to])
	switch {
	case p.left == 0:
	case s.Task == nil:
		text += fmt.Sprintf("\n(%d more characters were left out.)", p.left)
	default:
		text += fmt.Sprintf("\n(%d more characters. Call get_from_working_memory with key %q and offset %d to read on.)",
			p.left, b.resultKey(s)+".data", p.next)
	}
	return text
}

// answer returns a result with v, a report, and with those parts of an agent's result that are
// neither text nor data.
func (b *Toolbox) answer(s *hubclient.Sent, v any) (*llm.Result, error) {
	r, err := structured(v)
	if err != nil {
		return nil, err
	}
	size, more := 0, false
	for _, p := range s.Parts() {
		if !isFile(p) {
			continue
		}
		if size += len(p.Raw()); size > maxRaw || len(r.Files) == maxFiles {
			more = true
			break
		}
		r.Files = append(r.Files, p)
	}
	r.Parts = append(r.Parts, Files(b.Guard, guard.Agent(s.Agent), r.Files)...)
	if more {
		r.Parts = append(r.Parts, a2a.NewTextPart("There are more files than fit here."))
	}
	return r, nil
}

// wholeData returns the data of an agent's result or, if it has none, of the last status's message.
// Some agents put data there, beside their artifacts.
func wholeData(s *hubclient.Sent) string {
	data := dataOf(s.Parts())
	if data == "" && s.Task != nil && s.Task.Status.Message != nil {
		data = dataOf(s.Task.Status.Message.Parts)
	}
	return data
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
