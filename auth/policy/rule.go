package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/task"
)

// Who a rule is about, beside the callers, roles and owners that it names.
const (
	// Anybody is every caller, with credentials or without.
	Anybody = "anybody"
	// Authenticated are callers with credentials.
	Authenticated = "authenticated"
	// Anonymous are callers without credentials.
	Anonymous = "anonymous"
)

// Whos returns the words of Rule.Who.
func Whos() []string { return []string{Anybody, Authenticated, Anonymous} }

// Rule allows or denies something. It must say who: at least one of Who, Callers, Roles and
// Owners is set. What else is empty does not narrow it.
type Rule struct {
	// At says for people where the rule stands, such as "policy.yaml:12".
	At string
	// Deny denies what fits; without it, the rule allows it.
	Deny bool
	// Ops are names of operations, such as "send" or "push.*". At least one is required.
	Ops []string
	// Who is Anybody, Authenticated, Anonymous or empty.
	Who string
	// Callers are ids of principals, exactly as auth.Principal has them.
	Callers []string
	// Roles are roles of principals.
	Roles []string
	// Owners are organisations of principals, as auth.Principal.Org has them: the one that
	// the request is made for. "local" is also that of callers without credentials.
	Owners []string
	// Agents are names of agents, which the protocol calls tenants. A rule with agents is
	// not about what concerns no agent.
	Agents []string
	// Skills are ids of skills, whose case does not count.
	Skills []string
}

// RuleError says what is wrong with a rule.
type RuleError struct {
	// Rule is the index of the rule.
	Rule int
	// Key is the part of the rule, in the words of a file: "who", "agents", and so on;
	// empty if it is the rule as a whole.
	Key string
	// Err is what is wrong.
	Err error
}

// Error names the part and what is wrong with it.
func (e *RuleError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("rule %d: %v", e.Rule+1, e.Err)
	}
	return fmt.Sprintf("rule %d: %s: %v", e.Rule+1, e.Key, e.Err)
}

// Unwrap returns what is wrong.
func (e *RuleError) Unwrap() error { return e.Err }

// rule is a Rule that was understood.
type rule struct {
	at      string
	index   int
	deny    bool
	ops     mask
	who     string
	callers patterns
	roles   patterns
	owners  patterns
	agents  patterns
	skills  patterns
}

// compile understands a rule.
func compile(r *Rule) (_ *rule, err error) {
	c := &rule{at: r.At, deny: r.Deny, who: r.Who}
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
	if r.Who != "" && !slices.Contains(Whos(), r.Who) {
		return nil, &RuleError{Key: "who", Err: fmt.Errorf("%q is none of %v; callers are named by callers, roles or owners", clip.Bytes(r.Who, maxQuoted), Whos())}
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
		c.callers = nil // so that it is told from none by nobody
	}
	return c, nil
}

// sense reports what no request could ever fit.
func (c *rule) sense() error {
	switch {
	case c.who == "" && len(c.callers)+len(c.roles)+len(c.owners) == 0:
		return &RuleError{Err: fmt.Errorf("says not who: it needs who (one of %v), callers, roles or owners", Whos())}
	case len(c.agents) > 0 && c.ops&maskOf(Op.ofAgents) == 0:
		return &RuleError{Key: "agents", Err: errors.New("none of the operations of the rule is about an agent")}
	case len(c.skills) > 0 && c.ops&maskOf(Op.begins) == 0:
		return &RuleError{Key: "skills", Err: errors.New("only send and stream are about a skill")}
	case c.who == Anonymous && !c.deny && c.ops&^maskOf(Op.Admin) == 0:
		return &RuleError{Err: errors.New("callers without credentials administer nothing")}
	}
	return nil
}

// fits reports whether the rule is about a caller.
func (c *rule) fits(p *auth.Principal) bool {
	switch c.who {
	case Authenticated:
		if p.Anonymous() {
			return false
		}
	case Anonymous:
		if !p.Anonymous() {
			return false
		}
	}
	return c.callers.match(p.ID) && c.roles.matchAny(p.Roles) && (len(c.owners) == 0 || c.owners.matchOwner(p))
}

// matchOwner reports whether ps match the organisation of a caller.
func (ps patterns) matchOwner(p *auth.Principal) bool {
	org := p.Org
	if org == "" && p.Anonymous() {
		org = auth.Local
	}
	return org != "" && ps.match(org)
}

// of reports whether the rule is about an agent; the empty name is that of none.
func (c *rule) of(agent task.Agent) bool {
	return len(c.agents) == 0 || agent != "" && c.agents.match(string(agent))
}

// forbids reports whether the rule denies one of the skills that a request may be for.
func (c *rule) forbids(r *Request) bool {
	switch {
	case len(c.skills) == 0:
		return true
	case r.unnamed():
		return slices.ContainsFunc(r.Skills, c.skills.matchFold)
	}
	return r.counts() && c.skills.matchFold(r.Skill)
}

// covers reports whether c is about everything that d is about.
func (c *rule) covers(d *rule) bool {
	who := c.who == "" || c.who == Anybody || c.who == d.who
	return who && c.ops&d.ops == d.ops && c.callers.covers(d.callers) && c.roles.covers(d.roles) &&
		c.owners.covers(d.owners) && c.agents.covers(d.agents) && c.skills.covers(d.skills)
}
