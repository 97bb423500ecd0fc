package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
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
	// Metadata is the metadata of the request as JSON, or nil.
	Metadata []byte
	// Others are the members of the request that the protocol does not have, as JSON: an
	// object with the objects "params" and "configuration", of which none is empty. It is nil
	// if there are no such members.
	Others []byte
	// Extensions are the extension URIs that the caller activated.
	Extensions []string
	// Saved is the last checkpoint of the task that became durable in an earlier
	// execution, of this message or one before it; nil if there is none, and for agents
	// that are not Resumable.
	Saved []byte
	// Forgotten is the last checkpoint of a task whose message an operator has dispatched
	// anew, so that nothing of it counts: Saved is nil then, until there is a new one.
	Forgotten []byte
	// Task is the whole task as v1.0 JSON, as it was when this execution began; nil for the
	// first message of a task, unless the agent is Resumable and this is not its first
	// execution.
	Task []byte
	// Sealed are the newest artifacts of Task that had their last chunk; nothing may be
	// added to them.
	Sealed []a2a.ArtifactID
	// CorrelationID and ParentID are what the caller sent as X-Correlation-Id and
	// X-Parent-Id, or as correlationId and parentId in its metadata; empty if it sent
	// none. A further message of a task that has no correlation id keeps the ids of the
	// first.
	CorrelationID, ParentID string

	run Run
}

// Run is what a hub does for a run. Methods are called by the executor's goroutine.
type Run interface {
	// Flush waits until everything that the executor has yielded is durable, or returns
	// why it may not become so.
	Flush(ctx context.Context) error
	// Checkpoint keeps blob together with the next event.
	Checkpoint(blob []byte)
	// Asked returns a channel that is closed once a further message of the caller
	// waits until the run is over.
	Asked() <-chan struct{}
}

// ErrAnew is the cause with which the context of an execution ends that counts no more,
// because an operator has the message dispatched anew. See Call.Forgotten.
var ErrAnew = errors.New("an operator has the message dispatched anew")

// NewCall returns call with what the hub does for its run. It is for the hub and for
// tests of executors.
func NewCall(call Call, run Run) *Call {
	call.run = run
	return &call
}

// Run returns what the hub does for the run of c; nil outside a hub, and if c is nil. It is
// for the hub.
func (c *Call) Run() Run {
	if c == nil {
		return nil
	}
	return c.run
}

// WithUser returns a context for an executor that is called with x on behalf of p: it has
// the SDK's CallContext, in which the extensions with the URIs in active are active. It sets
// x.User and passes x.ServiceParams on. It is for hubs, workers and tests of executors.
func WithUser(ctx context.Context, x *a2asrv.ExecutorContext, p *auth.Principal, active []string) context.Context {
	x.User = &a2asrv.User{Name: cmp.Or(p.DisplayName, p.ID), Authenticated: !p.Anonymous()}
	if len(p.Claims) > 0 || !p.Anonymous() {
		x.User.Attributes = map[string]any{"id": p.ID}
		for k, v := range p.Claims {
			x.User.Attributes[k] = v
		}
	}
	ctx, call := a2asrv.NewCallContext(auth.WithPrincipal(ctx, p), x.ServiceParams)
	call.User = x.User
	for _, uri := range active {
		call.Extensions().Activate(&a2a.AgentExtension{URI: uri})
	}
	return ctx
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

// Flush waits until every event that the executor has yielded is durable. It returns an
// error if that cannot be said, because the run does not count any more. Outside a hub
// it does nothing.
func Flush(ctx context.Context) error { return CallFrom(ctx).Flush(ctx) }

// Flush is the function Flush for the run of c, which may be nil.
func (c *Call) Flush(ctx context.Context) error {
	if c != nil && c.run != nil {
		return c.run.Flush(ctx)
	}
	return nil
}

// MaxCheckpoint is the largest size of a checkpoint in bytes.
const MaxCheckpoint = 64 << 10

// ErrCheckpoint is returned for a checkpoint that is larger than MaxCheckpoint.
var ErrCheckpoint = errors.New("checkpoint is too large")

// Checkpoint keeps blob for the next execution of a Resumable agent, which finds it in
// Call.Saved. It becomes durable in one step with the event that the executor yields
// next, never before that and never without: whoever sees the event can rely on the
// checkpoint, and the other way round. If that event changes nothing of the task, or
// none follows, the checkpoint becomes durable by itself a little later; Flush waits
// for it. A later checkpoint takes the place of an earlier one. blob must not change
// any more. For other agents, and outside a hub, Checkpoint does nothing.
func Checkpoint(ctx context.Context, blob []byte) error { return CallFrom(ctx).Checkpoint(blob) }

// Checkpoint is the function Checkpoint for the run of c, which may be nil.
func (c *Call) Checkpoint(blob []byte) error {
	if len(blob) > MaxCheckpoint {
		return fmt.Errorf("checkpoint of %d bytes: %w", len(blob), ErrCheckpoint)
	}
	if c != nil && c.run != nil {
		c.run.Checkpoint(blob)
	}
	return nil
}

// earlier is the ability of a Run to find what earlier tasks have kept.
type earlier interface {
	Earlier(ctx context.Context) ([]byte, error)
}

// Earlier returns the last checkpoint of the newest earlier task that the agent has
// performed in the context for the same caller; nil if there is none, and outside a hub.
func (c *Call) Earlier(ctx context.Context) ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	if r, ok := c.run.(earlier); ok {
		return r.Earlier(ctx)
	}
	return nil, nil
}

// keeper is the ability of a Run to find what another task has kept.
type keeper interface {
	Kept(ctx context.Context, id a2a.TaskID) ([]byte, error)
}

// Kept returns the last checkpoint of another task of the same caller that the agent has
// performed; nil if there is no such task or it has kept none, and outside a hub.
func (c *Call) Kept(ctx context.Context, id a2a.TaskID) ([]byte, error) {
	if c == nil {
		return nil, nil
	}
	if r, ok := c.run.(keeper); ok {
		return r.Kept(ctx, id)
	}
	return nil, nil
}

// Confirmer is the ability of a hub to confirm extensions as the agent does. A Run may have
// it.
type Confirmer interface {
	// Confirm takes the URIs of the extensions that are active for the message.
	Confirm(uris []string)
}

// Confirm says which of the extensions that the caller named are active for this message:
// those with the given URIs, and none if there are none. An answer of the hub that has not
// begun yet names these in A2A-Extensions, in the caller's order and without what the caller
// did not name. The last call of a run counts. As long as there is none, those are confirmed
// that the agent's card declares. Outside a hub, and in a worker, Confirm does nothing.
func Confirm(ctx context.Context, uris []string) { CallFrom(ctx).Confirm(uris) }

// Confirm is the function Confirm for the run of c, which may be nil.
func (c *Call) Confirm(uris []string) {
	if c == nil {
		return
	}
	if hub, ok := c.run.(Confirmer); ok {
		hub.Confirm(uris)
	}
}

// Asked returns a channel that is closed once a further message of the caller waits
// until this run is over. An executor that has said AUTH_REQUIRED and waits for
// something else than a message ends its run then. Outside a hub the channel is nil.
func Asked(ctx context.Context) <-chan struct{} { return CallFrom(ctx).Asked() }

// Asked is the function Asked for the run of c, which may be nil.
func (c *Call) Asked() <-chan struct{} {
	if c != nil && c.run != nil {
		return c.run.Asked()
	}
	return nil
}

// Drainer is the ability of a hub to say that it stops. A Run may have it.
type Drainer interface {
	// UntilDrain returns a context that ends with ctx, and when the hub begins to drain.
	UntilDrain(ctx context.Context) (context.Context, context.CancelFunc)
}

// UntilDrain returns a context that ends with ctx, and when the hub begins to drain: for
// what may take days, such as a person's decision, and need not hold up the end of the
// hub. A Resumable executor that has called it may end its run then without a final
// event; the next process executes the message again. Outside a hub the context ends with
// ctx alone.
func UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	return CallFrom(ctx).UntilDrain(ctx)
}

// UntilDrain is the function UntilDrain for the run of c, which may be nil.
func (c *Call) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	if c != nil {
		if hub, ok := c.run.(Drainer); ok {
			return hub.UntilDrain(ctx)
		}
	}
	return context.WithCancel(ctx)
}
