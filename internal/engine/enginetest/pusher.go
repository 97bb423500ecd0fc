// Package enginetest runs engines in tests, and provides a pusher for tests of the engine and of the
// packages in front of it. The pusher delivers nothing. It records the calls of the engine, and reports
// those that break its contract.
package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

// Pusher is an engine.Pusher and engine.Observer in memory. The zero Pusher is ready to use, by
// any number of goroutines.
type Pusher struct {
	mu       sync.Mutex
	heads    map[task.Key]task.Head
	known    map[task.HookRef]Known
	problems []string
}

var (
	_ engine.Pusher   = (*Pusher)(nil)
	_ engine.Observer = (*Pusher)(nil)
)

// Known is a hook that a Pusher was notified of.
type Known struct {
	task.Hook
	// Reached is the newest version of the task since the Pusher knows the hook: a webhook
	// receives the changes between Delivered and Reached.
	Reached int64
}

// Prepare accepts URLs with https, and ids of at most 128 bytes.
func (p *Pusher) Prepare(c *task.HookRequest) (*task.Hook, error) {
	if !strings.HasPrefix(c.URL, "https://") {
		return nil, apierror.Field(a2a.ErrInvalidParams, "url", "must begin with https://")
	}
	if len(c.ID) > 128 {
		return nil, apierror.Field(a2a.ErrInvalidParams, "id", "longer than 128 bytes")
	}
	h := &task.Hook{ID: c.ID, URL: c.URL, Scheme: c.Scheme}
	if h.ID == "" {
		h.ID = uuid.NewString()
	}
	if c.Token+c.Credentials != "" {
		h.Secret = []byte("sealed")
	}
	return h, nil
}

// Admitted implements engine.Observer.
func (*Pusher) Admitted(*auth.Principal) {}

// Ended implements engine.Observer.
func (*Pusher) Ended(*engine.Outcome) {}

// Changed implements engine.Observer.
func (p *Pusher) Changed(c engine.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Moved {
		p.movedLocked(c.Head)
	}
	if c.Webhook != (task.HookRef{}) {
		p.hookedLocked(c.Webhook, c.Hook, c.Head)
	}
}

func (p *Pusher) hookedLocked(ref task.HookRef, h *task.Hook, head *task.Head) {
	if h == nil {
		delete(p.known, ref)
		return
	}
	switch {
	case h.Ref() != ref || head.Key != ref.Task || ref.Task == 0:
		p.faultLocked("hook %v of the task %d came as %v", h.Ref(), head.Key, ref)
	case h.Position == head.Version-1 && !h.Settled && head.State.Terminal(): // it gets the last state
	case h.Position != head.Version || h.Settled != head.State.Terminal():
		p.faultLocked("hook %v is at v%d, settled %v; its task is at v%d, %v", ref, h.Position, h.Settled, head.Version, head.State)
	case head.Rev < p.heads[ref.Task].Rev:
		p.faultLocked("hook %v came with revision %d after %d", ref, head.Rev, p.heads[ref.Task].Rev)
	}
	if p.known == nil {
		p.known = make(map[task.HookRef]Known)
	}
	p.known[ref] = Known{*h, head.Version}
}

func (p *Pusher) movedLocked(head *task.Head) {
	if last := p.heads[head.Key].Rev; head.Key == 0 || last != 0 && head.Rev != last+1 {
		p.faultLocked("task %d moved from revision %d to %d", head.Key, last, head.Rev)
	}
	if p.heads == nil {
		p.heads = make(map[task.Key]task.Head)
	}
	p.heads[head.Key] = *head
	for ref, k := range p.known {
		if ref.Task == head.Key {
			k.Reached = head.Version
			p.known[ref] = k
		}
	}
}

func (p *Pusher) faultLocked(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// Problems returns the calls of the engine that break its contract.
func (p *Pusher) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// Known returns the hooks of a task that p knows, ordered by id.
func (p *Pusher) Known(key task.Key) []Known {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Known
	for ref, k := range p.known {
		if ref.Task == key {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b Known) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Head returns the task at its last change.
func (p *Pusher) Head(key task.Key) task.Head {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heads[key]
}

// Dispatcher is notified of changes, such as a *webhooks.Dispatcher.
type Dispatcher interface {
	engine.Pusher
	Moved(head *task.Head)
	Changed(ref task.HookRef, h *task.Hook, head *task.Head)
}

// Deliver connects a dispatcher with the engine of a configuration.
func Deliver(c *engine.Config, d Dispatcher) {
	c.Push = d
	c.Observer = engine.ObserverFuncs{OnChanged: func(c engine.Change) {
		if c.Moved {
			d.Moved(c.Head)
		}
		if c.Webhook.Task != 0 {
			d.Changed(c.Webhook, c.Hook, c.Head)
		}
	}}
}
