package engine

import (
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/fault"
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
	return fault.New(a2a.ErrExtensionSupportRequired, "the agent requires extensions that A2A-Extensions does not name: %s", list).
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
