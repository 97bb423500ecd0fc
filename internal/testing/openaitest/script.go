package openaitest

import (
	"fmt"
	"strings"
)

// Script decides what the model says. It is called by many requests at once, and the same
// request must get the same turn, but for Request.Attempt.
type Script func(*Request) Turn

// Case is a line of a Table.
type Case struct {
	// Model is that of the request; empty means any.
	Model string
	// User is part of the last message of the user, System part of the instructions,
	// Result part of the last result of a tool; empty means anything.
	User, System, Result string
	// Round is how many turns the assistant has had since the user spoke; AnyRound means
	// any.
	Round int
	// Say is the turn. Try, if set, are the turns of the first attempts; then comes Say.
	Say Turn
	Try []Turn
}

// AnyRound as Case.Round fits all of them.
const AnyRound = -1

func (c *Case) fits(r *Request) bool {
	return (c.Model == "" || c.Model == r.Model) &&
		strings.Contains(r.Last("user"), c.User) &&
		(c.System == "" || strings.Contains(r.Last("system"), c.System)) &&
		(c.Result == "" || strings.Contains(r.Last("tool"), c.Result)) &&
		(c.Round == AnyRound || c.Round == r.Round())
}

// Table is a script of cases, of which the first counts that fits. If none fits, the
// answer is 500, which says so.
func Table(cases ...Case) Script {
	return func(r *Request) Turn {
		for i := range cases {
			c := &cases[i]
			if !c.fits(r) {
				continue
			}
			if r.Attempt < len(c.Try) {
				return c.Try[r.Attempt]
			}
			return c.Say
		}
		return Turn{Fault: Fault{Status: 500, Body: fmt.Sprintf("no case of the table fits: model %q, round %d, user %q",
			r.Model, r.Round(), r.Last("user"))}}
	}
}
