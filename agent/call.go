package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/task"
)

// Call holds the hub's facts about a run that the SDK's ExecutorContext does not carry. An
// executor written for the SDK works without it. Its methods are the executor's side of the run; they
// may be called on a nil Call, outside a hub. The executor's goroutine calls them; only Delegate is safe
// for concurrent use.
type Call struct {
	// Key is the same for all attempts of a message. Executors use it to perform an external
	// effect only once.
	Key string
	// Attempt counts the executions of this message, from 1.
	Attempt int
	// Agent is the name under which the hub runs the agent.
	Agent task.Agent
	// Skill is the skill that the caller asked for, or empty.
	Skill string
	// Message is the caller's message as v1.0 JSON, including the members that the SDK's types
	// drop.
	Message []byte
	// Metadata is the metadata of the request as JSON, or nil.
	Metadata []byte
	// Others holds the members of the request that the protocol does not define. It is a JSON
	// object with the objects "params" and "configuration", each only if it is not empty. It is
	// nil if there are no such members.
	Others []byte
	// AcceptedOutputModes are the media types that the caller accepts in the answer; nil if it
	// named none, and accepts all.
	AcceptedOutputModes []string
	// Extensions are the extension URIs that the caller activated.
	Extensions []string
	// Saved is the last durable checkpoint of the task, from an earlier execution of this
	// message or of one before it. It is nil if there is none, and for agents that do not
	// Resume.
	Saved []byte
	// Forgotten is the last checkpoint of a task whose message an operator has dispatched anew.
	// It no longer applies: Saved is nil until the new execution stores a checkpoint.
	Forgotten []byte
	// Task is the whole task as v1.0 JSON at the start of this execution. It is nil for the
	// first message of a task, unless this is a later execution of an agent that Resumes.
	Task []byte
	// Sealed lists the newest artifacts of Task that have received their last chunk. The
	// executor must not append to them.
	Sealed []a2a.ArtifactID
	// CorrelationID and ParentID are the values of the caller's headers X-Correlation-Id and
	// X-Parent-Id, or of correlationId and parentId in its metadata. They are empty if the
	// caller sent none. A further message of a task keeps the ids of the first message, unless
	// it has a correlation id of its own.
	CorrelationID, ParentID string

	run run // nil outside a hub
}

// run is the hub's side of a run, with the methods of a Call.
type run interface {
	Checkpoint(blob []byte) error
	CheckpointOf(ctx context.Context, id a2a.TaskID) ([]byte, error)
	Confirm(uris []string)
	Delegate(ctx context.Context, d *Delegation) (*Delegated, error)
	EarlierCheckpoint(ctx context.Context) ([]byte, error)
	Flush(ctx context.Context) error
	Journal(ctx context.Context) iter.Seq2[[]byte, error]
	MessageWaiting() <-chan struct{}
	OutgoingDelegation(ctx context.Context) (*DelegationContext, error)
	Record(ctx context.Context, record []byte) error
	UntilDrain(ctx context.Context) (context.Context, context.CancelFunc)
}

var _ run = (*Call)(nil)

type callKey struct{}

// WithCall returns a context with a copy of c, for calling an executor in a test. The methods of the
// copy then behave as outside a hub.
func WithCall(ctx context.Context, c *Call) context.Context {
	held := *c
	held.run = nil
	if r := execution.Run(ctx); r != nil {
		held.run = r.(run)
	}
	return context.WithValue(ctx, callKey{}, &held)
}

// CallFrom returns the call that an executor runs for, or nil outside a hub.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// outside reports whether there is no hub.
func (c *Call) outside() bool { return c == nil || c.run == nil }

// Flush waits until every event that the executor has yielded is durable. It returns an error
// if the run no longer counts, so that its events may never become durable. Outside a hub it
// does nothing.
func (c *Call) Flush(ctx context.Context) error {
	if c.outside() {
		return nil
	}
	return c.run.Flush(ctx)
}

// MaxCheckpoint is the largest size of a checkpoint in bytes.
const MaxCheckpoint = 64 << 10

// ErrCheckpoint is returned for a checkpoint that is larger than MaxCheckpoint.
var ErrCheckpoint = errors.New("checkpoint is too large")

// Checkpoint stores blob for the next execution of an agent with AfterCrash Resume, which finds it
// in Call.Saved. The blob becomes durable in one step with the event that the executor yields
// next: neither is ever durable without the other. If that event does not change the task, or
// no event follows, the blob becomes durable on its own a little later; Flush waits for it. A
// later checkpoint replaces an earlier one. One that comes with the event that ends the task is
// kept for other tasks: see EarlierCheckpoint and CheckpointOf. The executor must not change blob
// afterwards.
// Checkpoint returns ErrCheckpoint if blob is larger than MaxCheckpoint. For other agents, and
// outside a hub, it stores nothing.
func (c *Call) Checkpoint(blob []byte) error {
	if len(blob) > MaxCheckpoint {
		return fmt.Errorf("checkpoint of %d bytes: %w", len(blob), ErrCheckpoint)
	}
	if c.outside() {
		return nil
	}
	return c.run.Checkpoint(blob)
}

// EarlierCheckpoint returns the last checkpoint of the agent's newest earlier task in the same
// context for the same caller. It returns nil if there is none, and outside a hub.
func (c *Call) EarlierCheckpoint(ctx context.Context) ([]byte, error) {
	if c.outside() {
		return nil, nil
	}
	return c.run.EarlierCheckpoint(ctx)
}

// CheckpointOf returns the last checkpoint of another task that the agent has performed for the
// same caller. It returns nil if there is no such task or it has no checkpoint, and outside a
// hub.
func (c *Call) CheckpointOf(ctx context.Context, id a2a.TaskID) ([]byte, error) {
	if c.outside() {
		return nil, nil
	}
	return c.run.CheckpointOf(ctx, id)
}

// Confirming is an executor that calls Call.Confirm for each message whose caller names extensions.
// The hub delays its answer to such a caller until that call, or until the time that agents have
// for their first event is over.
type Confirming interface {
	// ConfirmsExtensions reports whether the executor does so.
	ConfirmsExtensions() bool
}

// Confirm declares which of the extensions that the caller named are active for this message:
// those with the given URIs, or none if uris is empty. A response of the hub that has not begun
// yet lists them in A2A-Extensions, in the caller's order, and omits those that the caller did
// not name. The last call of a run counts. Without a call, the hub confirms the extensions that
// the agent's card declares. Outside a hub, and in a worker, Confirm does nothing.
func (c *Call) Confirm(uris []string) {
	if !c.outside() {
		c.run.Confirm(uris)
	}
}

// MessageWaiting returns a channel that is closed once a further message of the caller waits
// for the end of this run. An executor that has sent AUTH_REQUIRED and waits for anything but a
// message should end its run then. Outside a hub the channel is nil.
func (c *Call) MessageWaiting() <-chan struct{} {
	if c.outside() {
		return nil
	}
	return c.run.MessageWaiting()
}

// UntilDrain returns a context that ends with ctx, or earlier when the hub begins to drain. Use
// it for waits that may last days, such as a person's decision, and should not delay the end of
// the hub. After this call an executor that Resumes may end its run on drain without a final event;
// the next process executes the message again. Outside a hub the context ends with ctx alone.
func (c *Call) UntilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.outside() {
		return context.WithCancel(ctx)
	}
	return c.run.UntilDrain(ctx)
}
