package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// maxRules limits the number of rules that a request is checked against.
const maxRules = 1000

// Rules configure a Policy.
type Rules struct {
	// List are the rules, in any order.
	List []Rule
	// CheckDelegations checks each task that an agent of the hub begins on behalf of another
	// task as a request of the original caller. Without it, only denials apply to these tasks:
	// the operator chooses the agents to which an agent delegates.
	CheckDelegations bool
	// Tests are the expected decisions of the rules.
	Tests []Test
}

// Request is an operation that a caller requests.
type Request struct {
	Op Op
	// Agent is the agent to which the operation refers; empty if there is none.
	Agent task.Agent
	// Begins is set if the operation begins a task, so that skills are checked.
	Begins bool
	// Skill is the requested skill; empty if there is none.
	Skill string
	// Skills are the agent's skills, for a message that begins a task without naming a skill.
	Skills []string
}

// counts reports whether skills are checked.
func (r *Request) counts() bool { return r.Begins || r.Skill != "" }

// unnamed reports whether the request may use any of several skills.
func (r *Request) unnamed() bool { return r.Begins && r.Skill == "" && len(r.Skills) > 0 }

// Policy is a set of compiled rules. A nil Policy allows everything. The zero Policy has no
// rules. It is safe for concurrent use.
type Policy struct {
	now atomic.Pointer[table] // nil if there are no rules
}

// table is an immutable set of compiled rules.
type table struct {
	rules   []*rule
	byOp    [operations]ruling
	checked bool
	tests   []Test
}

// ruling holds the rules for one operation.
type ruling struct{ denials, grants []*rule }

// New returns a Policy. If a rule is invalid, the error is a *RuleError.
func New(r Rules) (*Policy, error) {
	if len(r.List) > maxRules {
		return nil, fmt.Errorf("there are %d rules, which is more than %d", len(r.List), maxRules)
	}
	t := &table{checked: r.CheckDelegations, tests: slices.Clone(r.Tests)}
	for i := range r.List {
		c, err := compile(&r.List[i])
		if err != nil {
			var wrong *RuleError
			if errors.As(err, &wrong) {
				wrong.Rule = i
			}
			return nil, err
		}
		c.index = i
		t.add(c)
	}
	p := new(Policy)
	p.now.Store(t)
	return p, nil
}

// Replace atomically replaces the rules of p by those of another policy: each decision uses
// either the old or the new rules as a whole. A nil policy counts as one without rules, so that
// a mistake opens nothing.
func (p *Policy) Replace(by *Policy) {
	t := empty
	if by != nil {
		t = by.table()
	}
	p.now.Store(t)
}

var empty = new(table)

// table returns the current rules.
func (p *Policy) table() *table {
	if t := p.now.Load(); t != nil {
		return t
	}
	return empty
}

func (t *table) add(c *rule) {
	t.rules = append(t.rules, c)
	for o := range operations {
		switch at := &t.byOp[o]; {
		case !c.ops.has(o):
		case c.deny:
			at.denials = append(at.denials, c)
		default:
			at.grants = append(at.grants, c)
		}
	}
}

// Allows reports whether a caller may perform a request.
func (p *Policy) Allows(caller *auth.Principal, r *Request) bool {
	if p == nil {
		return true
	}
	ok, _ := p.table().decide(caller, r)
	return ok
}

// Denies reports whether a rule denies a request, or there is no caller. A request that is not
// denied is not necessarily allowed.
func (p *Policy) Denies(caller *auth.Principal, r *Request) bool {
	if p == nil {
		return false
	}
	return p.table().denies(caller, r)
}

func (t *table) denies(caller *auth.Principal, r *Request) bool {
	return !known(caller) || t.denial(caller, r) != nil
}

// Delegates reports whether an agent may begin a task on behalf of a caller.
func (p *Policy) Delegates(caller *auth.Principal, r *Request) bool {
	if p == nil {
		return true
	}
	t := p.table()
	if t.checked {
		ok, _ := t.decide(caller, r)
		return ok
	}
	return !t.denies(caller, r)
}

// Sees reports whether an agent is visible to a caller: whether the caller may perform any
// operation of the protocol with it.
func (p *Policy) Sees(caller *auth.Principal, agent task.Agent) bool {
	if p == nil {
		return true
	}
	t := p.table()
	for o := Send; o <= ExtendedCard; o++ {
		if ok, _ := t.decide(caller, &Request{Op: o, Agent: agent}); ok {
			return true
		}
	}
	return false
}

// Roles returns the roles that the rules name, sorted and in their written form: a name that ends
// with * stands for all roles with that beginning.
func (p *Policy) Roles() []string {
	if p == nil {
		return nil
	}
	var all []string
	for _, c := range p.table().rules {
		for _, role := range c.roles {
			all = append(all, role.String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Everywhere reports whether a caller may perform an operation with every agent.
func (p *Policy) Everywhere(caller *auth.Principal, o Op) bool {
	if p == nil {
		return true
	}
	if !known(caller) {
		return false
	}
	fits := func(c *rule) bool { return c.fits(caller) }
	at := &p.table().byOp[o]
	return !slices.ContainsFunc(at.denials, fits) &&
		slices.ContainsFunc(at.grants, func(c *rule) bool { return c.agents.all() && c.fits(caller) })
}

// known reports whether the caller was identified, as a principal or as anonymous.
func known(caller *auth.Principal) bool { return caller != nil && caller.ID != "" }

// decide returns whether a request is allowed, and the rule that decides: the denial, or one
// that allows it, or nil.
func (t *table) decide(caller *auth.Principal, r *Request) (ok bool, by *rule) {
	if !known(caller) {
		return false, nil
	}
	if by = t.denial(caller, r); by != nil {
		return false, by
	}
	if r.Op.Admin() && caller.Anonymous() {
		return false, nil
	}
	if r.unnamed() {
		for _, skill := range r.Skills {
			if by = t.grant(caller, r, skill); by == nil {
				return false, nil
			}
		}
		return true, by
	}
	if by = t.grant(caller, r, r.Skill); by != nil {
		return true, by
	}
	return r.Op.Admin() && slices.Contains(caller.Roles, auth.RoleAdmin), nil
}

// grant returns a rule that allows a request with a skill, or nil.
func (t *table) grant(caller *auth.Principal, r *Request, skill string) *rule {
	counts := r.counts()
	for _, c := range t.byOp[r.Op].grants {
		if c.of(r.Agent) && (!counts || c.skills.matchFold(skill)) && c.fits(caller) {
			return c
		}
	}
	return nil
}

// denial returns a rule that denies a request with one of its possible skills, or nil.
func (t *table) denial(caller *auth.Principal, r *Request) *rule {
	for _, c := range t.byOp[r.Op].denials {
		if c.of(r.Agent) && c.forbids(r) && c.fits(caller) {
			return c
		}
	}
	return nil
}

// Decision is a decision with its reason, for operators only: callers are never shown rules.
type Decision struct {
	Allowed bool
	// Reason explains the decision and names the rule.
	Reason string
}

// Explain returns the decision of Allows and its reason.
func (p *Policy) Explain(caller *auth.Principal, r *Request) Decision {
	if p == nil {
		return Decision{true, "there is no policy"}
	}
	return p.table().explain(caller, r)
}

func (t *table) explain(caller *auth.Principal, r *Request) Decision {
	ok, by := t.decide(caller, r)
	switch {
	case by != nil && by.deny:
		return Decision{false, "denied by the rule at " + by.position()}
	case by != nil:
		return Decision{true, "allowed by the rule at " + by.position()}
	case ok:
		return Decision{true, "allowed to the role " + auth.RoleAdmin}
	case !known(caller):
		return Decision{false, "the caller has no id"}
	case r.Op.Admin() && caller.Anonymous():
		return Decision{false, "a rule cannot let callers without credentials administer the hub"}
	}
	return Decision{false, "no rule allows it"}
}

// position returns the position of the rule for display.
func (c *rule) position() string {
	if c.at != "" {
		return c.at
	}
	return fmt.Sprintf("number %d", c.index+1)
}
