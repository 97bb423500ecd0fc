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

// Toolbox is the set of tools for one model, or for one conversation of it. The zero Toolbox
// has no tool but send_update.
type Toolbox struct {
	// Self is the hub's name of the agent that uses the model. The tools never call that agent.
	// If empty, the model belongs to no agent.
	Self string
	// Session is the conversation of the model. Its notes are below session/{Session}/, and
	// calls with the same id within it are the same call. If empty, a new session is created,
	// and calls cannot be joined after a crash.
	Session string

	// The implementations of the tools. A nil one hides its tools.
	Caller    Caller
	Tasks     Tasks
	Directory Directory
	Registry  Registry
	Notes     NoteReader
	Writer    NoteWriter
	People    People
	// Guard labels and screens text of agents and cards before a model reads it. The zero Guard
	// adds warnings.
	Guard guard.Guard

	once    sync.Once
	session string
}

var _ llm.Source = (*Toolbox)(nil)

// ResultKey returns the key of the note with the result of a task in a session.
func ResultKey(session, agent string, id a2a.TaskID) string {
	return place(session) + "a2a/" + memory.Segment(agent) + "/" + memory.Segment(string(id)) + "/result"
}

// TaskOfKey returns the task whose result or data is stored in the note with the key. It is
// empty for other notes.
func TaskOfKey(key string) a2a.TaskID {
	s := strings.Split(strings.TrimPrefix(key, "/"), "/")
	if len(s) != 6 || s[0] != "session" || s[2] != "a2a" || strings.TrimSuffix(s[5], ".data") != "result" {
		return ""
	}
	return a2a.TaskID(s[4])
}

// place returns the prefix of the keys of a session.
func place(session string) string { return "session/" + memory.Segment(session) + "/" }

// SessionID returns Session, or the id of the created session.
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
	// there is set if the implementation of the tool is present.
	there bool
	// run performs a call with decoded arguments.
	run func(ctx context.Context, c *call) (*llm.Result, error)
}

// call is a call of a tool.
type call struct {
	*llm.Call
	args args.Values
	// key identifies the call within its session; empty if the call is not repeated.
	key string
}

// Tools implements llm.Source. It sends no requests.
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

// offered returns an entry as an llm.Tool.
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

// Changed implements llm.Source: the tools never change.
func (b *Toolbox) Changed() <-chan struct{} { return nil }

// key returns the key of a call. It is the same if the call is repeated, and differs between
// sessions, so that two models with the same call ids do not collide.
func (b *Toolbox) key(tool string, c *llm.Call) string {
	if c.ID == "" {
		return ""
	}
	return digest(b.SessionID(), tool, c.ID, compact(c.Arguments))
}

// digest returns a hash of texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d %s\n", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compact returns arguments in a canonical form, without optional blanks.
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
