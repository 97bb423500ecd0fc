package engine

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Agent is an agent that the engine can run.
type Agent struct {
	Name     task.Agent
	Card     *a2a.AgentCard
	Executor a2asrv.AgentExecutor
}

// Engine admits, runs and remembers tasks.
type Engine struct{}

// Register adds an agent. The first one is the default.
func (e *Engine) Register(a Agent) error { panic("soon") }

// Agents returns the registered agents in the order of their registration.
func (e *Engine) Agents() []Agent { panic("soon") }

// Agent returns the agent with the given name; the empty name is the default agent.
func (e *Engine) Agent(name task.Agent) (Agent, bool) { panic("soon") }

// Run recovers what an earlier process left, and works until ctx ends; then it
// drains. It returns when everything it started has stopped.
func (e *Engine) Run(ctx context.Context) error { panic("soon") }

// Check is one named condition of readiness.
type Check struct {
	Name string
	OK   bool
	// Detail says why the check fails, for a person.
	Detail string
}

// Ready returns the checks that /readyz shows.
func (e *Engine) Ready(ctx context.Context) []Check { panic("soon") }

// Send admits a message and, unless told otherwise, waits until its task has ended
// or waits for the caller, at most for Config.MaxWait.
func (e *Engine) Send(ctx context.Context, c *op.Caller, r *op.Send) (*Answer, error) {
	panic("soon")
}

// Stream admits a message and returns a reader of its task that ends with the
// task, or when the task requires input.
func (e *Engine) Stream(ctx context.Context, c *op.Caller, r *op.Send) (*Stream, error) {
	panic("soon")
}

// Subscribe returns a reader of a task that ends with the task.
func (e *Engine) Subscribe(ctx context.Context, c *op.Caller, r *op.Subscribe) (*Stream, error) {
	panic("soon")
}

// Get returns a task of the caller.
func (e *Engine) Get(ctx context.Context, c *op.Caller, r *op.Get) (*Answer, error) { panic("soon") }

// List returns a page of the caller's tasks.
func (e *Engine) List(ctx context.Context, c *op.Caller, r *op.List) (*Page, error) { panic("soon") }

// Cancel asks to cancel a task and waits until it is canceled or refuses.
func (e *Engine) Cancel(ctx context.Context, c *op.Caller, r *op.Cancel) (*Answer, error) {
	panic("soon")
}

// Stream is a reader's position in the log of one task. It belongs to one
// goroutine.
type Stream struct {
	// First is what the reader must be shown first: the task at its Head.Version,
	// or a bare message, after which the stream ends. It is nil when the reader
	// resumes from a version that it has seen.
	First *Answer
	// Task identifies the task of the events that follow.
	Task task.Head
}

// Next returns the next events, at least one, in order. It returns io.EOF when the
// stream has ended, and no events with a nil error when wait has passed without
// any; wait ≤ 0 waits as long as ctx allows.
func (s *Stream) Next(ctx context.Context, wait time.Duration) ([]Event, error) { panic("soon") }

// Close lets go of the task. It must be called, and may be called again.
func (s *Stream) Close() { panic("soon") }
