package toolbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/mcptool"
	"github.com/parley-a2a/parley/safety"
)

// What a result holds at most; the rest is where its note or its task is.
const (
	maxReply = 32 << 10 // characters of text
	maxData  = 64 << 10 // bytes of structured data
	maxRaw   = 4 << 20  // bytes of pictures, sounds and files
	maxFiles = 16
)

// report is a task as a model sees it.
type report struct {
	Agent     string     `json:"agent"`
	TaskID    a2a.TaskID `json:"task_id,omitempty"`
	ContextID string     `json:"context_id,omitempty"`
	State     string     `json:"state"`
	// Result is what the agent says: what it asks, what it has come to, or why not.
	Result string `json:"result,omitempty"`
	// Data is the structured data, as JSON text.
	Data string `json:"data,omitempty"`
	Next string `json:"next,omitempty"`
}

// reportOf returns what has become of a message.
func (b *Toolbox) reportOf(s *Sent) report {
	whose := safety.Agent(s.Agent)
	r := report{Agent: s.Agent, Result: b.words(whose, clip(replyOf(s), maxReply)), State: client.StateName(a2a.TaskStateCompleted)}
	if s.Task != nil {
		r.TaskID, r.ContextID, r.State = s.Task.ID, s.Task.ContextID, client.StateName(s.Task.Status.State)
	} else if s.Message != nil {
		r.ContextID = s.Message.ContextID
	}
	r.Data = b.words(whose, dataOf(outcome(s)))
	return r
}

// answer makes a result of v, which reports what an agent says, and of what the agent has
// made that is neither text nor data.
func (b *Toolbox) answer(s *Sent, v any) (*mcptool.Result, error) {
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

// Reply returns what an agent says, in words: the question of a task that waits, why one was
// not completed and how far it had come, or the answer. They are the agent's.
func (s *Sent) Reply() string { return replyOf(s) }

// Parts returns what an agent has made: the parts of the artifacts, or of its message.
func (s *Sent) Parts() []*a2a.Part { return outcome(s) }

// outcome returns the parts that an agent has made.
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

// dataOf returns the data of parts as JSON text: the value of the only one, or an array.
func dataOf(parts []*a2a.Part) string {
	var values []string
	size := 0
	for _, p := range parts {
		d, ok := p.Content.(a2a.Data)
		if !ok {
			continue
		}
		b, err := json.Marshal(d.Value)
		if err != nil {
			continue
		}
		if size += len(b); size > maxData {
			return clip(strings.Join(append(values, string(b)), "\n"), maxData)
		}
		values = append(values, string(b))
	}
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	return "[" + strings.Join(values, ",") + "]"
}

// replyOf returns what an agent says, in words: the question of a task that waits, why one
// was not completed and how far it had come, or the answer.
func replyOf(s *Sent) string {
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

// textOf returns the text of parts, which are pieces of one.
func textOf(parts []*a2a.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p != nil {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

// clip returns at most so many characters of a text, and says what is missing.
func clip(s string, most int) string {
	if n := utf8.RuneCountInString(s); n > most {
		return fmt.Sprintf("%s\n(… %d more characters; the whole text is in working memory or with get_task.)", string([]rune(s)[:most]), n-most)
	}
	return s
}
