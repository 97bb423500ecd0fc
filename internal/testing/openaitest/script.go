package openaitest

import (
	"fmt"
	"strings"
)

// Script returns the model's turn for a request. It is called concurrently. Requests that are
// equal apart from Request.Attempt must get the same turn.
type Script func(*Request) Turn

// Case is one row of a Table.
type Case struct {
	// Model is the model of the request; empty matches any.
	Model string
	// User is part of the last message of the user, System part of the instructions, and Result
	// part of the last result of a tool. Empty matches anything.
	User, System, Result string
	// Round is the number of turns of the assistant since the last message of the user;
	// AnyRound matches any number.
	Round int
	// Reply is the turn. Try, if set, holds the turns of the first attempts; later ones get Say.
	Reply Turn
	Try   []Turn
}

// AnyRound as Case.Round matches all rounds.
const AnyRound = -1

func (c *Case) fits(r *Request) bool {
	return (c.Model == "" || c.Model == r.Model) &&
		strings.Contains(r.Last("user"), c.User) &&
		(c.System == "" || strings.Contains(r.Last("system"), c.System)) &&
		(c.Result == "" || strings.Contains(r.Last("tool"), c.Result)) &&
		(c.Round == AnyRound || c.Round == r.Round())
}

// Table returns a script that uses the first matching case. If none matches, the answer is a
// 500 that states this.
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
			return c.Reply
		}
		return Turn{Fault: Fault{Status: 500, Body: fmt.Sprintf("no case of the table fits: model %q, round %d, user %q",
			r.Model, r.Round(), r.Last("user"))}}
	}
}
