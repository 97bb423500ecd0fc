package hubtools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

// Toolbox is the set of tools for one model, or for one conversation of it.
type Toolbox struct {
	// Hub performs the calls. It is required.
	Hub *hubclient.Hub
	// Self is the hub's name of the agent that uses the model. The tools never call that agent.
	// If empty, the model belongs to no agent.
	Self string
	// Session is the conversation of the model. Its notes are below session/{Session}/, and
	// calls with the same id within it are the same call. If empty, a new session is created,
	// and calls cannot be joined after a crash.
	Session string

	// NoRegistry hides the tools that change the agents of the hub.
	NoRegistry bool
	// Guard labels and screens text of agents and cards before a model reads it. The zero Guard
	// adds warnings.
	Guard guard.Guard

	once    sync.Once
	session string
}

var _ llm.Source = (*Toolbox)(nil)

// SessionID returns Session, or the id of the created session.
func (b *Toolbox) SessionID() string {
	b.once.Do(func() {
		if b.session = b.Session; b.session == "" {
			b.session = "tools-" + rand.Text()[:16]
		}
	})
	return b.session
}

// call is a call of a tool.
type call struct {
	*llm.Call
	// key identifies the call within its session; empty if the call is not repeated.
	key string
}

// Tools implements llm.Source. It sends no requests.
func (b *Toolbox) Tools(context.Context) ([]llm.Tool, error) {
	return slices.Concat(b.calls(), b.finding(), b.following(), b.notes(), b.registering(), b.people()), nil
}

// offer returns a tool of the box with the arguments A, which run performs.
func offer[A any](b *Toolbox, t llm.Tool, run func(context.Context, *call, *A) (*llm.Result, error)) llm.Tool {
	f := formOf[A]()
	t.Input = f.input
	t.Call = func(ctx context.Context, c *llm.Call) (*llm.Result, error) {
		a := new(A)
		if _, wrong := f.read(c.Arguments, a); wrong != "" {
			return problem("%s", wrong), nil
		}
		r, err := run(ctx, &call{c, b.Key(t.Name, c)}, a)
		if err != nil {
			return failed(b.Guard, t.Name, err)
		}
		return r, nil
	}
	return t
}

// Changed implements llm.Source: the tools never change.
func (b *Toolbox) Changed() <-chan struct{} { return nil }

// Key returns the key of a call, for hubclient.Send. It is the same if the call is repeated, and
// differs between sessions, so that two models with the same call ids do not collide. It is
// empty if the call has no id.
func (b *Toolbox) Key(tool string, c *llm.Call) string {
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
