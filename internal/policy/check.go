package policy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// Test is an expected decision of a policy. Its fields are strings in the form that operators
// write.
type Test struct {
	// At is the position of the test for display.
	At string
	// Caller is the id of the caller; empty for one without credentials.
	Caller string
	// Roles and Owner are those of the caller.
	Roles []string
	Owner string
	// Op is the operation. It is required.
	Op string
	// Agent is the agent of the request; it may be empty.
	Agent string
	// Skill is the requested skill; it may be empty. A send or stream without one counts as a
	// message to an agent with the skills in Skills.
	Skill  string
	Skills []string
	// Allow is the expected decision.
	Allow bool
}

// Subject returns the caller and the request of a test.
func (t *Test) Subject() (*auth.Principal, *Request, error) {
	o, err := ParseOp(t.Op)
	if err != nil {
		return nil, nil, err
	}
	caller := &auth.Principal{ID: cmp.Or(t.Caller, auth.Local), Org: t.Owner, Roles: t.Roles}
	if caller.Anonymous() && (t.Owner != "" || len(t.Roles) > 0) {
		return nil, nil, fmt.Errorf("a caller without credentials has no roles and no owner; name the caller")
	}
	return caller, &Request{Op: o, Agent: task.Agent(t.Agent), Begins: o.begins(), Skill: t.Skill, Skills: t.Skills}, nil
}

// Failure is a test that has failed.
type Failure struct {
	At string
	// Text names the request, the expected decision and the reason of the actual one.
	Text string
}

// Check runs the tests and returns those that have failed.
func (p *Policy) Check() []Failure {
	if p == nil {
		return nil
	}
	var out []Failure
	now := p.table()
	for i := range now.tests {
		t := &now.tests[i]
		caller, r, err := t.Subject()
		if err != nil {
			out = append(out, Failure{t.At, err.Error()})
			continue
		}
		if v := now.explain(caller, r); v.Allowed != t.Allow {
			out = append(out, Failure{t.At, fmt.Sprintf("%s should be %s, but is %s: %s", t, word(t.Allow), word(v.Allowed), v.Reason)})
		}
	}
	return out
}

// Tests returns the number of tests.
func (p *Policy) Tests() int {
	if p == nil {
		return 0
	}
	return len(p.table().tests)
}

func word(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

// String describes the request of the test.
func (t *Test) String() string {
	var b strings.Builder
	b.WriteString(t.Op)
	if t.Agent != "" {
		fmt.Fprintf(&b, " on agent %q", t.Agent)
	}
	if t.Skill != "" {
		fmt.Fprintf(&b, " with the skill %q", t.Skill)
	}
	if t.Caller == "" {
		return b.String() + " for callers without credentials"
	}
	fmt.Fprintf(&b, " for %q", t.Caller)
	if len(t.Roles) > 0 {
		fmt.Fprintf(&b, " with the roles %s", strings.Join(t.Roles, ", "))
	}
	if t.Owner != "" {
		fmt.Fprintf(&b, " of %q", t.Owner)
	}
	return b.String()
}
