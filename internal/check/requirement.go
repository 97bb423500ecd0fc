package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// Level is the obligation of a requirement, as in RFC 2119.
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Requirement is a requirement of the specification on a server.
type Requirement struct {
	// ID is the name of the requirement, such as "get.unknown".
	ID string `json:"id"`
	// Level is the obligation.
	Level Level `json:"level"`
	// Section is the section of the specification, such as "§3.1.3".
	Section string `json:"section"`
	// Text is the requirement in one sentence.
	Text string `json:"text"`
}

// requirement is a Requirement that can be checked on an interface.
type requirement struct {
	Requirement
	bindings []wire.Binding // nil means all
	// capabilities are those that the card must declare, or with false must not declare.
	capabilities map[string]bool
	// check returns nil, a *failure or notOffered.
	check func(context.Context, *probe) error
}

// judge checks the requirement, if the card has the capabilities for it.
func (r *requirement) judge(ctx context.Context, p *probe) error {
	for name, want := range r.capabilities {
		switch has := p.declares(name); {
		case want && !has:
			return notOfferedf("the card does not declare %s", name)
		case has && !want:
			return notOfferedf("the card declares %s", name)
		}
	}
	return r.check(ctx, p)
}

func (r *requirement) on(b wire.Binding) bool {
	return len(r.bindings) == 0 || slices.Contains(r.bindings, b)
}

// failure is a requirement that is not met, with the exchanges as evidence.
type failure struct {
	detail string
	shown  []*wire.Exchange
}

func (f *failure) Error() string { return f.detail }

func failf(x *wire.Exchange, format string, args ...any) error {
	f := &failure{detail: fmt.Sprintf(format, args...)}
	if x != nil {
		f.shown = []*wire.Exchange{x}
	}
	return f
}

func with(err error, x *wire.Exchange) error {
	var f *failure
	if errors.As(err, &f) && x != nil {
		f.shown = append(f.shown, x)
	}
	return err
}

// notOffered is the reason why a requirement is not offered.
type notOffered string

func (a notOffered) Error() string { return string(a) }

func notOfferedf(format string, args ...any) error { return notOffered(fmt.Sprintf(format, args...)) }

// require converts the failure of a prerequisite into notOffered, because another requirement
// covers it.
func require(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return notOffered("could not be tried: " + f.detail)
	}
	return err
}

// Requirements returns all requirements of Run, in the order of execution.
func Requirements() []Requirement {
	var all []Requirement
	g := catalogue()
	for _, list := range [][]requirement{g.card, g.each, g.across, g.legacy} {
		for _, r := range list {
			all = append(all, r.Requirement)
		}
	}
	return all
}

// selected reports whether --only selects the requirement: by its whole id, or by its beginning
// up to a dot.
func selected(only []string, id string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool {
		return id == o || strings.HasPrefix(id, strings.TrimSuffix(o, ".")+".")
	})
}
