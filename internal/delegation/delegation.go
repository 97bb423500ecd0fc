package delegation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Limits of a chain.
const (
	// MaxChain is the maximum number of names in a chain.
	MaxChain = 64
	// MaxName is the maximum length of a name in bytes.
	MaxName = 128
)

// Defaults of Limits.
const (
	DefaultHops   = 8
	DefaultBudget = 1000
)

// Context is the delegation state of a piece of work: its chain of agents and its remaining
// limits. The zero Context allows no delegation.
type Context struct {
	// Chain names the agents that have passed the work on, first one first, as agent@hub. It is
	// empty for the work of a caller that is not an agent.
	Chain []string
	// Hops is the number of further agents in a row that may be asked.
	Hops int
	// Budget is the total number of further tasks that may be begun.
	Budget int
	// Deadline is the time by which the work must end; zero means no deadline.
	Deadline time.Time
}

// Limits bound the delegation of a hub. The zero Limits are the defaults.
type Limits struct {
	// Hops is the maximum number of agents in a row; zero means DefaultHops.
	Hops int
	// Budget is the maximum number of tasks begun on behalf of one task; zero means
	// DefaultBudget.
	Budget int
	// Time limits delegated work, from the first delegation; zero means no limit.
	Time time.Duration
}

// WithDefaults returns l with defaults in place of zero fields.
func (l Limits) WithDefaults() Limits {
	if l.Hops == 0 {
		l.Hops = DefaultHops
	}
	if l.Budget == 0 {
		l.Budget = DefaultBudget
	}
	return l
}

// New returns the context of a message that carries none.
func New(l Limits) Context {
	l = l.WithDefaults()
	return Context{Hops: l.Hops, Budget: l.Budget}
}

// Within returns e limited by l. The names in its chain count as hops, regardless of e.Hops.
func (e Context) Within(l Limits) Context {
	l = l.WithDefaults()
	e.Hops = max(0, min(e.Hops, l.Hops-len(e.Chain)))
	e.Budget = min(e.Budget, l.Budget)
	return e
}

// Admit returns an error if the agent self must not accept the context at a time.
func (e *Context) Admit(self string, at time.Time) error {
	if slices.Contains(e.Chain, self) {
		return apierror.New(a2a.ErrUnsupportedOperation, "agents would ask each other in a circle: %s", e.path(self))
	}
	return e.inTime(self, at)
}

func (e *Context) inTime(self string, at time.Time) error {
	if !e.Deadline.IsZero() && !at.Before(e.Deadline) {
		return apierror.New(a2a.ErrUnsupportedOperation, "the deadline %s of this work has passed: %s",
			e.Deadline.UTC().Format(layout), e.path(self))
	}
	return nil
}

// Next returns the context for a delegation by the agent self, with the whole rest of the
// budget. It returns an error if self must not delegate.
func (e *Context) Next(self string, l Limits, at time.Time) (Context, error) {
	switch {
	case e.Hops <= 0 || len(e.Chain) >= MaxChain:
		return Context{}, apierror.New(a2a.ErrUnsupportedOperation,
			"no other agent is called, because the delegation chain is too long: %s", e.path(self))
	case e.Budget <= 0:
		return Context{}, apierror.New(a2a.ErrUnsupportedOperation,
			"no other task is started, because the budget of this work is used up: %s", e.path(self))
	}
	if err := e.inTime(self, at); err != nil {
		return Context{}, err
	}
	next := Context{
		Chain: append(slices.Clip(e.Chain), self), Hops: e.Hops - 1, Budget: e.Budget - 1, Deadline: e.Deadline,
	}
	if l.Time > 0 {
		next.Deadline = earlier(next.Deadline, at.Add(l.Time).Truncate(time.Millisecond))
	}
	return next, nil
}

// fraction is the divisor of the remaining budget for the share of a child.
const fraction = 8

// Share divides a budget into the child's share and the rest for others. Their sum is one less
// than the budget, because the child itself is a task.
func Share(budget int) (child, left int) {
	rest := max(0, budget-1)
	child = (rest + fraction - 1) / fraction
	return child, rest - child
}

// path returns the chain for display, with self at its end.
func (e *Context) path(self string) string {
	return strings.Join(append(slices.Clip(e.Chain), self), " → ")
}

// stricter returns the context that both e and o allow. Names that only o has are appended to
// the chain.
func (e Context) stricter(o *Context) Context {
	for _, name := range o.Chain {
		if !slices.Contains(e.Chain, name) {
			e.Chain = append(slices.Clip(e.Chain), name)
		}
	}
	e.Hops, e.Budget = min(e.Hops, o.Hops), min(e.Budget, o.Budget)
	e.Deadline = earlier(e.Deadline, o.Deadline)
	return e
}

// Or returns the context of a further message in a task: the combination of its context and that
// of the task's first message. Each may be nil.
func Or(e, first *Context) *Context {
	switch {
	case e == nil:
		return first
	case first == nil:
		return e
	}
	both := first.stricter(e)
	return &both
}

// earlier returns the earlier of two times; zero means no time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// String returns the context for display.
func (e *Context) String() string {
	return fmt.Sprintf("%s (%d hops, %d tasks)", strings.Join(e.Chain, " → "), e.Hops, e.Budget)
}
