package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// extensions are the URIs of the extensions that an agent's cards declare (specification
// §4.6.1).
type extensions struct {
	// declared are the extensions of both cards.
	declared []string
	// required are the extensions that the public card requires. Those of the extended card do
	// not count, because a caller may be unable to read it.
	required []string
	// confirming is set if the agent confirms extensions itself.
	confirming bool
}

func extensionsOf(a *Agent) extensions {
	var x extensions
	if c, ok := execution.As[agent.Confirming](a.Executor); ok {
		x.confirming = c.ConfirmsExtensions()
	}
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

// accept returns ErrExtensionSupportRequired if the caller has not named all extensions that
// the agent requires (specification §3.3.4, §4.6.3). URIs are compared literally: another
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

// acceptExtensions checks a call about one task of the agent, or about all of its tasks. An
// agent that is no longer registered requires nothing.
func (e *Engine) acceptExtensions(name task.Agent, c *op.Caller) error {
	if name == "" || !e.demanding.Load() {
		return nil
	}
	if a := e.agent(name); a != nil {
		return a.extensions.accept(c)
	}
	return nil
}

// Activated returns the extensions that a caller has named and the agent declares, in the
// caller's order. The others are ignored (specification §4.6.3).
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

// Confirmation is the set of extensions that an agent has confirmed for a message. It is
// immutable.
type Confirmation struct {
	message int64
	uris    []string
}

// ActiveIn returns which of the extensions that a caller has named are active in an answer of
// the agent, in the caller's order: those of confirmed, or those of Activated if confirmed is
// nil because the agent has confirmed none.
func (e *Engine) ActiveIn(name task.Agent, named []string, confirmed *Confirmation) []string {
	if confirmed == nil || len(named) == 0 {
		return e.Activated(name, named)
	}
	var active []string
	for _, uri := range named {
		if slices.Contains(confirmed.uris, uri) {
			active = append(active, uri)
		}
	}
	return active
}

// Confirm implements agent.Call.Confirm. It ignores a run whose message is older than the one that
// was confirmed last.
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

// confirmedLocked returns the agent's confirmation for the message at a version, or for a later
// one; nil if there is none.
func (l *live) confirmedLocked(message int64) *Confirmation {
	if l.confirmed == nil || l.confirmed.message < message {
		return nil
	}
	return l.confirmed
}

// confirmation is confirmedLocked for callers that do not hold l.mu.
func (l *live) confirmation(message int64) *Confirmation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.confirmedLocked(message)
}

// awaitConfirmed waits up to Config.FirstEvent for an agent that confirms extensions itself, if
// the caller has named any.
func (e *Engine) awaitConfirmed(ctx context.Context, c *op.Caller, ad *admitted) {
	if len(c.Extensions) == 0 {
		return
	}
	l := ad.live
	if a := e.agent(l.performer()); a == nil || !a.extensions.confirming {
		return
	}
	ctx, stop := context.WithTimeout(ctx, e.cfg.FirstEvent)
	defer stop()
	// The caller reads the confirmation, or the error, later.
	_, _ = e.await(ctx, l, func() bool {
		return l.trouble != nil || l.answer != nil || l.refusal != nil || !l.head.State.Open() || l.confirmedLocked(ad.version) != nil
	})
}
