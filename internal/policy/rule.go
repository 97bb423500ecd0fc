package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/task"
)

// Values of Rule.Who.
const (
	// Anybody matches every caller, with or without credentials.
	Anybody = "anybody"
	// Authenticated matches callers with credentials.
	Authenticated = "authenticated"
	// Anonymous matches callers without credentials.
	Anonymous = "anonymous"
)

// WhoValues returns the valid values of Rule.Who.
func WhoValues() []string { return []string{Anybody, Authenticated, Anonymous} }

// Rule allows or denies operations. At least one of Who, Callers, Roles and Owners is required.
// Other empty fields match everything.
type Rule struct {
	// At is the position of the rule for display, such as "policy.yaml:12".
	At string
	// Deny denies the requests that the rule matches; without it the rule allows them.
	Deny bool
	// Ops are names of operations, such as "send" or "push.*". At least one is required.
	Ops []string
	// Who is Anybody, Authenticated, Anonymous or empty.
	Who string
	// Callers are ids of principals, as in auth.Principal.ID.
	Callers []string
	// Roles are roles of principals.
	Roles []string
	// Owners are the organisations for which requests are made, as in auth.Principal.Org.
	// "local" also matches callers without credentials.
	Owners []string
	// Agents are names of agents, the tenants of the protocol. A rule with Agents does not
	// match operations that refer to no agent.
	Agents []string
	// Skills are ids of skills, compared without case.
	Skills []string
}

// RuleError is an error in a rule.
type RuleError struct {
	// Rule is the index of the rule.
	Rule int
	// Key is the faulty part of the rule, in the terms of a policy file: "who", "agents", and
	// so on; empty for the rule as a whole.
	Key string
	// Err is the underlying error.
	Err error
}

// Error implements error. It names the rule, the part and the underlying error.
func (e *RuleError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("rule %d: %v", e.Rule+1, e.Err)
	}
	return fmt.Sprintf("rule %d: %s: %v", e.Rule+1, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *RuleError) Unwrap() error { return e.Err }

// rule is a compiled Rule.
type rule struct {
	at      string
	index   int
	deny    bool
	ops     mask
	caller  string
	callers patterns
	roles   patterns
	owners  patterns
	agents  patterns
	skills  patterns
}

func compile(r *Rule) (_ *rule, err error) {
	c := &rule{at: r.At, deny: r.Deny, caller: r.Who}
	effect := "allow"
	if r.Deny {
		effect = "deny"
	}
	if len(r.Ops) == 0 {
		return nil, &RuleError{Key: effect, Err: errors.New("names no operation")}
	}
	if c.ops, err = parseOps(r.Ops); err != nil {
		return nil, &RuleError{Key: effect, Err: err}
	}
	if r.Who != "" && !slices.Contains(WhoValues(), r.Who) {
		return nil, &RuleError{Key: "who", Err: fmt.Errorf("invalid who %q: use one of %v, or name callers, roles or owners", clip.Bytes(r.Who, maxQuoted), WhoValues())}
	}
	for _, list := range []struct {
		key  string
		from []string
		to   *patterns
	}{
		{"callers", r.Callers, &c.callers},
		{"roles", r.Roles, &c.roles},
		{"owners", r.Owners, &c.owners},
		{"agents", r.Agents, &c.agents},
		{"skills", r.Skills, &c.skills},
	} {
		if *list.to, err = parsePatterns(list.key, list.from); err != nil {
			return nil, err
		}
	}
	if err := c.sense(); err != nil {
		return nil, err
	}
	if c.callers.all() {
		c.callers = nil // so that "anybody" equals a rule without callers
	}
	return c, nil
}

// sense returns an error if no request can match the rule.
func (c *rule) sense() error {
	switch {
	case c.caller == "" && len(c.callers)+len(c.roles)+len(c.owners) == 0:
		return &RuleError{Err: fmt.Errorf("needs who (one of %v), callers, roles or owners", WhoValues())}
	case len(c.agents) > 0 && c.ops&maskOf(Op.ofAgents) == 0:
		return &RuleError{Key: "agents", Err: errors.New("none of the operations of the rule is about an agent")}
	case len(c.skills) > 0 && c.ops&maskOf(Op.begins) == 0:
		return &RuleError{Key: "skills", Err: errors.New("only send and stream are about a skill")}
	case c.caller == Anonymous && !c.deny && c.ops&^maskOf(Op.Admin) == 0:
		return &RuleError{Err: errors.New("callers without credentials cannot administer the hub")}
	}
	return nil
}

// fits reports whether the rule applies to a caller.
func (c *rule) fits(p *auth.Principal) bool {
	switch c.caller {
	case Authenticated:
		if p.Anonymous() {
			return false
		}
	case Anonymous:
		if !p.Anonymous() {
			return false
		}
	}
	return c.callers.match(p.ID) && (len(c.roles) == 0 || slices.ContainsFunc(p.Roles, c.roles.match)) && (len(c.owners) == 0 || c.owners.matchOwner(p))
}

// matchOwner reports whether ps match the organisation of a caller.
func (ps patterns) matchOwner(p *auth.Principal) bool {
	org := p.Org
	if org == "" && p.Anonymous() {
		org = auth.Local
	}
	return org != "" && ps.match(org)
}

// of reports whether the rule applies to an agent; an empty name means no agent.
func (c *rule) of(agent task.Agent) bool {
	return len(c.agents) == 0 || agent != "" && c.agents.match(string(agent))
}

// forbids reports whether the rule denies one of the possible skills of a request.
func (c *rule) forbids(r *Request) bool {
	switch {
	case len(c.skills) == 0:
		return true
	case r.unnamed():
		return slices.ContainsFunc(r.Skills, c.skills.matchFold)
	}
	return r.counts() && c.skills.matchFold(r.Skill)
}

// covers reports whether c applies to everything that d applies to.
func (c *rule) covers(d *rule) bool {
	caller := c.caller == "" || c.caller == Anybody || c.caller == d.caller
	return caller && c.ops&d.ops == d.ops && c.callers.covers(d.callers) && c.roles.covers(d.roles) &&
		c.owners.covers(d.owners) && c.agents.covers(d.agents) && c.skills.covers(d.skills)
}
