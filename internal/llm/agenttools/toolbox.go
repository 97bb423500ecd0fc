package agenttools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/llm/args"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/llm"
)

// Toolbox is the tools for one model, or for one conversation of it. The zero Toolbox has
// no tools but send_update.
type Toolbox struct {
	// Self is the name in the hub of the agent whose model it is. That one is not called.
	// If empty, the model is no agent.
	Self string
	// Session is the conversation of the model: its notes are below session/{Session}/,
	// and calls with the same id are the same call within it. If empty, it is a new one,
	// and calls cannot be joined after a crash.
	Session string

	// What is behind the tools. One that is nil hides them.
	Caller    Caller
	Tasks     Tasks
	Directory Directory
	Registry  Registry
	Notes     NoteReader
	Writer    NoteWriter
	People    People
	// Guard labels and screens what agents and cards say, before a model reads it. The
	// zero Guard says what was found.
	Guard guard.Guard

	once    sync.Once
	session string
}

var _ llm.Source = (*Toolbox)(nil)

// ResultKey returns the key of the note with the result of a task in a session.
func ResultKey(session, agent string, id a2a.TaskID) string {
	return place(session) + "a2a/" + memory.Segment(agent) + "/" + memory.Segment(string(id)) + "/result"
}

// TaskOfKey returns the task whose result, or data, a note with the key has; empty if it is
// another note.
func TaskOfKey(key string) a2a.TaskID {
	s := strings.Split(strings.TrimPrefix(key, "/"), "/")
	if len(s) != 6 || s[0] != "session" || s[2] != "a2a" || strings.TrimSuffix(s[5], ".data") != "result" {
		return ""
	}
	return a2a.TaskID(s[4])
}

// place returns how the keys of a session begin.
func place(session string) string { return "session/" + memory.Segment(session) + "/" }

// SessionID returns Session, or the new one that stands for it.
func (b *Toolbox) SessionID() string {
	b.once.Do(func() {
		if b.session = b.Session; b.session == "" {
			b.session = "tools-" + rand.Text()[:16]
		}
	})
	return b.session
}

// tool is an entry of the box.
type tool struct {
	llm.Tool
	fields args.Fields
	// there says whether what is behind the tool is.
	there bool
	// run performs a call whose arguments were read.
	run func(ctx context.Context, c *call) (*llm.Result, error)
}

// call is a call of a tool.
type call struct {
	*llm.Call
	args args.Values
	// key names the call among all of the session; empty if it is not repeated.
	key string
}

// Tools implements llm.Source. What is behind the tools is not asked.
func (b *Toolbox) Tools(context.Context) ([]llm.Tool, error) {
	var tools []llm.Tool
	for _, table := range [][]tool{b.calls(), b.finding(), b.following(), b.notes(), b.registering(), b.people()} {
		for i := range table {
			if t := &table[i]; t.there {
				tools = append(tools, b.offered(t))
			}
		}
	}
	return tools, nil
}

// offered returns an entry as others see it.
func (b *Toolbox) offered(t *tool) llm.Tool {
	o := t.Tool
	o.Input = t.fields.Schema()
	o.Call = func(ctx context.Context, c *llm.Call) (*llm.Result, error) {
		values, err := t.fields.Read(c.Arguments)
		if err != nil {
			return problem("%s", err), nil
		}
		r, err := t.run(ctx, &call{c, values, b.key(t.Name, c)})
		if err != nil {
			return failed(t.Name, err)
		}
		return r, nil
	}
	return o
}

// Changed implements llm.Source: the tools stay.
func (b *Toolbox) Changed() <-chan struct{} { return nil }

// key returns the name of a call: the same if it is repeated, and another one for each
// session, so that two models that count their calls in the same way do not meet.
func (b *Toolbox) key(tool string, c *llm.Call) string {
	if c.ID == "" {
		return ""
	}
	return digest(b.SessionID(), tool, c.ID, compact(c.Arguments))
}

// digest returns a name for texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d %s\n", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compact returns arguments without the blanks that somebody may have put in.
func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}
