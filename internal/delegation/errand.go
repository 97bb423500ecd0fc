package delegation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Bounds of a chain.
const (
	// MaxChain is the largest number of names in a chain.
	MaxChain = 64
	// MaxName is the largest length of a name in bytes.
	MaxName = 128
)

// Defaults of Limits.
const (
	DefaultHops   = 8
	DefaultBudget = 1000
)

// Errand says through whom a piece of work has come and how far it may go. The zero
// Errand says nothing.
type Errand struct {
	// Chain names the agents that the work has come through, the first one first, as
	// agent@hub. It is empty for the work of a caller who is no agent.
	Chain []string
	// Hops is how many further agents may be asked one after the other.
	Hops int
	// Budget is how many further tasks may be begun in all.
	Budget int
	// Deadline is when the work must be done; zero means at any time.
	Deadline time.Time
}

// Limits bound the errands of a hub. The zero Limits are sensible.
type Limits struct {
	// Hops is how many agents may ask each other one after the other; zero means
	// DefaultHops.
	Hops int
	// Budget is how many tasks may be begun on behalf of one; zero means DefaultBudget.
	Budget int
	// Time is how long the work of others may take, from the first delegation; zero means
	// any time.
	Time time.Duration
}

// WithDefaults returns l with its defaults.
func (l Limits) WithDefaults() Limits {
	if l.Hops == 0 {
		l.Hops = DefaultHops
	}
	if l.Budget == 0 {
		l.Budget = DefaultBudget
	}
	return l
}

// New returns the errand of a caller who has said nothing.
func New(l Limits) Errand {
	l = l.WithDefaults()
	return Errand{Hops: l.Hops, Budget: l.Budget}
}

// Within returns e bounded by l. The names in its chain count as hops, whatever it says
// of hops.
func (e Errand) Within(l Limits) Errand {
	l = l.WithDefaults()
	e.Hops = max(0, min(e.Hops, l.Hops-len(e.Chain)))
	e.Budget = min(e.Budget, l.Budget)
	return e
}

// Admit returns why the agent self must not take the errand at a time; nil if it may.
func (e *Errand) Admit(self string, at time.Time) error {
	if slices.Contains(e.Chain, self) {
		return apierror.New(a2a.ErrUnsupportedOperation, "agents would ask each other in a circle: %s", e.path(self))
	}
	return e.inTime(self, at)
}

func (e *Errand) inTime(self string, at time.Time) error {
	if !e.Deadline.IsZero() && !at.Before(e.Deadline) {
		return apierror.New(a2a.ErrUnsupportedOperation, "the deadline %s of this work has passed: %s",
			e.Deadline.UTC().Format(layout), e.path(self))
	}
	return nil
}

// Next returns the errand with which the agent self asks another one, and all that is
// left of the budget after that. It is an error if it must not ask.
func (e *Errand) Next(self string, l Limits, at time.Time) (Errand, error) {
	switch {
	case e.Hops <= 0 || len(e.Chain) >= MaxChain:
		return Errand{}, apierror.New(a2a.ErrUnsupportedOperation,
			"no further agent is asked, because too many have passed this on: %s", e.path(self))
	case e.Budget <= 0:
		return Errand{}, apierror.New(a2a.ErrUnsupportedOperation,
			"no further task is begun, because the budget of this work is spent: %s", e.path(self))
	}
	if err := e.inTime(self, at); err != nil {
		return Errand{}, err
	}
	next := Errand{
		Chain: append(slices.Clip(e.Chain), self), Hops: e.Hops - 1, Budget: e.Budget - 1, Deadline: e.Deadline,
	}
	if l.Time > 0 {
		next.Deadline = earlier(next.Deadline, at.Add(l.Time).Truncate(time.Millisecond))
	}
	return next, nil
}

// fraction is the part of what is left that a child gets to spend.
const fraction = 8

// Share divides a budget: what a child may spend, and what is left for others after it.
// Both together are one less than there was, which is the child itself.
func Share(budget int) (child, left int) {
	rest := max(0, budget-1)
	child = (rest + fraction - 1) / fraction
	return child, rest - child
}

// path returns the chain for people, with self at its end.
func (e *Errand) path(self string) string {
	return strings.Join(append(slices.Clip(e.Chain), self), " → ")
}

// stricter returns what both errands allow. A chain goes on with the names that only the
// other one has.
func (e Errand) stricter(o *Errand) Errand {
	for _, name := range o.Chain {
		if !slices.Contains(e.Chain, name) {
			e.Chain = append(slices.Clip(e.Chain), name)
		}
	}
	e.Hops, e.Budget = min(e.Hops, o.Hops), min(e.Budget, o.Budget)
	e.Deadline = earlier(e.Deadline, o.Deadline)
	return e
}

// Or returns the errand of a further message: what it says and what the first message of
// its task has said. Each may be nil.
func Or(e, first *Errand) *Errand {
	switch {
	case e == nil:
		return first
	case first == nil:
		return e
	}
	both := first.stricter(e)
	return &both
}

// earlier returns the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// String is the errand for people.
func (e *Errand) String() string {
	return fmt.Sprintf("%s (%d hops, %d tasks)", strings.Join(e.Chain, " → "), e.Hops, e.Budget)
}
