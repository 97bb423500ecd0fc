package agent

import (
	"context"

	"github.com/parley-a2a/parley/internal/delegation"
)

// Errand says through whom a piece of work has come, and how far it may still go: how
// many agents may be asked one after the other, how many tasks may be begun in all, and
// until when.
type Errand = delegation.Errand

// Envoy is the ability of a hub to say with which errand others may be asked. A Run may
// have it.
type Envoy interface {
	// Onward returns the errand of a message to an agent elsewhere, or why none may be
	// asked.
	Onward(ctx context.Context) (*Errand, error)
}

// Onward returns what an executor that asks an agent elsewhere has to send along, so that
// work does not go in circles or on for ever; agents of the hub are asked with Delegate,
// which does so by itself. It is an error if nobody may be asked any more: then nobody
// must be. Outside a hub it is nil.
func Onward(ctx context.Context) (*Errand, error) { return CallFrom(ctx).Onward(ctx) }

// Onward is the function Onward for the run of c, which may be nil.
func (c *Call) Onward(ctx context.Context) (*Errand, error) {
	if c != nil {
		if hub, ok := c.run.(Envoy); ok {
			return hub.Onward(ctx)
		}
	}
	return nil, nil
}
