package agent

import (
	"context"

	"github.com/parley-a2a/parley/task"
)

// Call is what the hub knows about a run beside what the SDK's ExecutorContext
// carries. Executors that were written for the SDK do not need it.
type Call struct {
	// Key is stable over all attempts of the same message: use it to make effects
	// in the world happen once.
	Key string
	// Attempt counts the executions of this message, from 1.
	Attempt int
	// Agent is the name under which the hub runs the agent.
	Agent task.Agent
	// Skill is the skill that the caller asked for, or empty.
	Skill string
	// Message is the caller's message as v1.0 JSON, with everything that the SDK's
	// types leave out.
	Message []byte
	// Extensions are the extension URIs that the caller activated.
	Extensions []string

	// Flush waits until everything that the executor has yielded is durable.
	flush func(context.Context) error
}

// NewCall returns call with flush as its barrier. It is for the hub and for tests
// of executors.
func NewCall(call Call, flush func(context.Context) error) *Call {
	call.flush = flush
	return &call
}

type callKey struct{}

// WithCall returns a context for an executor.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallFrom returns the call that an executor runs for, or nil outside a hub.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Flush waits until every event that the executor has yielded is durable. Outside
// a hub it does nothing.
func Flush(ctx context.Context) error {
	if c := CallFrom(ctx); c != nil && c.flush != nil {
		return c.flush(ctx)
	}
	return nil
}
