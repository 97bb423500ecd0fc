package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// extensions are the URIs of what the cards of an agent declare (specification
// §4.6.1).
type extensions struct {
	// declared are those of both cards.
	declared []string
	// required are those that the public card demands: what a caller cannot read, it
	// cannot be asked for.
	required []string
}

func extensionsOf(a *Agent) extensions {
	var x extensions
	for _, ext := range a.Card.Capabilities.Extensions {
		x.declared = append(x.declared, ext.URI)
		if ext.Required {
			x.required = append(x.required, ext.URI)
		}
	}
	if a.Extended != nil {
		for _, ext := range a.Extended.Capabilities.Extensions {
			if !slices.Contains(x.declared, ext.URI) {
				x.declared = append(x.declared, ext.URI)
			}
		}
	}
	return x
}

// accept returns ErrExtensionSupportRequired if the caller has not named all that the
// agent requires (specification §3.3.4, §4.6.3). A URI counts as it is written: another
// version of an extension is another extension.
func (x *extensions) accept(c *op.Caller) error {
	var missing []string
	for _, uri := range x.required {
		if !slices.Contains(c.Extensions, uri) {
			missing = append(missing, uri)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, ",")
	return apierror.New(a2a.ErrExtensionSupportRequired, "the agent requires extensions that A2A-Extensions does not name: %s", list).
		With("extensions", list)
}

// acceptExtensions checks a call about a task of the agent, or about all of its tasks. An
// agent that is gone requires nothing.
func (e *Engine) acceptExtensions(name task.Agent, c *op.Caller) error {
	if name == "" || !e.demanding.Load() {
		return nil
	}
	if a := e.agent(name); a != nil {
		return a.extensions.accept(c)
	}
	return nil
}

// Activated returns which of the extensions that a caller has named are active in a
// call of the agent: those that it declares, in the caller's order. Others are ignored
// (specification §4.6.3).
func (e *Engine) Activated(name task.Agent, named []string) []string {
	if len(named) == 0 {
		return nil
	}
	a := e.agent(name)
	if a == nil {
		return nil
	}
	var active []string
	for _, uri := range named {
		if slices.Contains(a.extensions.declared, uri) {
			active = append(active, uri)
		}
	}
	return active
}

// Confirmation is the set of extensions that an agent has confirmed for a message. It does
// not change.
type Confirmation struct {
	message int64
	uris    []string
}

// ActiveIn returns which of the extensions that a caller has named are active in an answer of
// the agent, in the caller's order: those of said, or, if that is nil because the agent has not
// said, those of Activated.
func (e *Engine) ActiveIn(name task.Agent, named []string, said *Confirmation) []string {
	if said == nil || len(named) == 0 {
		return e.Activated(name, named)
	}
	var active []string
	for _, uri := range named {
		if slices.Contains(said.uris, uri) {
			active = append(active, uri)
		}
	}
	return active
}

var _ agent.Confirmer = (*run)(nil)

// Confirm implements agent.Confirmer. A run that has read an earlier message than the one that
// was confirmed last comes too late.
func (r *run) Confirm(uris []string) {
	l := r.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.confirmed != nil && l.confirmed.message > r.msg.version {
		return
	}
	l.confirmed = &Confirmation{r.msg.version, slices.Clone(uris)}
	l.wakeLocked()
}

// confirmedLocked returns what the agent has confirmed for the message at a version, or for a
// later one; nil if it has not.
func (l *live) confirmedLocked(message int64) *Confirmation {
	if l.confirmed == nil || l.confirmed.message < message {
		return nil
	}
	return l.confirmed
}

// confirmation is confirmedLocked for a caller who does not hold l.mu.
func (l *live) confirmation(message int64) *Confirmation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.confirmedLocked(message)
}

// awaitConfirmed gives an agent that confirms extensions itself the time for it, if a caller
// has named any.
func (e *Engine) awaitConfirmed(ctx context.Context, c *op.Caller, ad *admitted) {
	if len(c.Extensions) == 0 {
		return
	}
	l := ad.live
	if a := e.agent(l.performer()); a == nil || !a.traits().Confirms {
		return
	}
	ctx, stop := context.WithTimeout(ctx, e.cfg.FirstEvent)
	defer stop()
	// Whether it has, and why it was not waited for, shows later.
	_, _ = e.await(ctx, l, func() bool {
		return l.trouble != nil || l.answer != nil || l.refusal != nil || !l.head.State.Open() || l.confirmedLocked(ad.version) != nil
	})
}
