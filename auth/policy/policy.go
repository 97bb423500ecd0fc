package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// maxRules bounds what each request is held against.
const maxRules = 1000

// Rules are what a Policy is made of.
type Rules struct {
	// List are the rules, in any order.
	List []Rule
	// CheckDelegations asks the policy for each task that an agent of the hub begins on
	// behalf of another task, as if the caller of the first task had asked for it. Without
	// it, only denials count for these: which agents an agent asks is the operator's choice.
	CheckDelegations bool
	// Tests say what the rules are to come to.
	Tests []Test
}

// Request is what somebody wants to do.
type Request struct {
	Op Op
	// Agent is the agent that the operation is about; empty if it is about none.
	Agent task.Agent
	// Begins says that a task begins, so that skills count.
	Begins bool
	// Skill is the skill that is asked for; empty if none is.
	Skill string
	// Skills are those of the agent, for a message that begins a task and names none.
	Skills []string
}

// counts reports whether skills count.
func (r *Request) counts() bool { return r.Begins || r.Skill != "" }

// unnamed reports whether the request may be for any of several skills.
func (r *Request) unnamed() bool { return r.Begins && r.Skill == "" && len(r.Skills) > 0 }

// Policy is a set of rules that was understood. A nil Policy allows everything.
type Policy struct {
	now atomic.Pointer[table] // nil if there are no rules
}

// table is what a Policy decides by. It is immutable.
type table struct {
	rules   []*rule
	byOp    [operations]ruling
	checked bool
	tests   []Test
}

// ruling is the rules about one operation.
type ruling struct{ denials, grants []*rule }

// New returns a Policy, or a RuleError.
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

// Replace makes p decide like another policy from now on, wherever it is in use: each
// decision is made by the old rules or by the new ones as a whole. A nil Policy is taken for
// one without rules, so that nothing is opened by mistake.
func (p *Policy) Replace(by *Policy) {
	t := empty
	if by != nil {
		t = by.table()
	}
	p.now.Store(t)
}

var empty = new(table)

// table returns what is decided by.
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

// Allows reports whether a caller may do something.
func (p *Policy) Allows(who *auth.Principal, r *Request) bool {
	if p == nil {
		return true
	}
	ok, _ := p.table().decide(who, r)
	return ok
}

// Denies reports whether a rule denies something to a caller, or there is no caller. What
// is not denied need not be allowed.
func (p *Policy) Denies(who *auth.Principal, r *Request) bool {
	if p == nil {
		return false
	}
	return p.table().denies(who, r)
}

func (t *table) denies(who *auth.Principal, r *Request) bool {
	return !known(who) || t.denial(who, r) != nil
}

// Delegates reports whether an agent may begin a task on behalf of a caller.
func (p *Policy) Delegates(who *auth.Principal, r *Request) bool {
	if p == nil {
		return true
	}
	t := p.table()
	if t.checked {
		ok, _ := t.decide(who, r)
		return ok
	}
	return !t.denies(who, r)
}

// Sees reports whether an agent is there for a caller: whether the caller may do anything
// of the protocol with it.
func (p *Policy) Sees(who *auth.Principal, agent task.Agent) bool {
	if p == nil {
		return true
	}
	t := p.table()
	for o := Send; o <= ExtendedCard; o++ {
		if ok, _ := t.decide(who, &Request{Op: o, Agent: agent}); ok {
			return true
		}
	}
	return false
}

// Everywhere reports whether a caller may do something with every agent.
func (p *Policy) Everywhere(who *auth.Principal, o Op) bool {
	if p == nil {
		return true
	}
	if !known(who) {
		return false
	}
	fits := func(c *rule) bool { return c.fits(who) }
	at := &p.table().byOp[o]
	return !slices.ContainsFunc(at.denials, fits) &&
		slices.ContainsFunc(at.grants, func(c *rule) bool { return c.agents.all() && c.fits(who) })
}

// known reports whether somebody vouches for who the caller is, or for that nobody does.
func known(who *auth.Principal) bool { return who != nil && who.ID != "" }

// decide returns whether a caller may do something, and which rule says so: the one that
// denies it, or one that allows it, or nil.
func (t *table) decide(who *auth.Principal, r *Request) (ok bool, by *rule) {
	if !known(who) {
		return false, nil
	}
	if by = t.denial(who, r); by != nil {
		return false, by
	}
	if r.Op.Admin() && who.Anonymous() {
		return false, nil
	}
	if r.unnamed() {
		for _, skill := range r.Skills {
			if by = t.grant(who, r, skill); by == nil {
				return false, nil
			}
		}
		return true, by
	}
	if by = t.grant(who, r, r.Skill); by != nil {
		return true, by
	}
	return r.Op.Admin() && slices.Contains(who.Roles, auth.RoleAdmin), nil
}

// grant returns a rule that allows something with a skill, or nil.
func (t *table) grant(who *auth.Principal, r *Request, skill string) *rule {
	counts := r.counts()
	for _, c := range t.byOp[r.Op].grants {
		if c.of(r.Agent) && (!counts || c.skills.matchFold(skill)) && c.fits(who) {
			return c
		}
	}
	return nil
}

// denial returns a rule that denies something with one of the skills that it may be for, or
// nil.
func (t *table) denial(who *auth.Principal, r *Request) *rule {
	for _, c := range t.byOp[r.Op].denials {
		if c.of(r.Agent) && c.forbids(r) && c.fits(who) {
			return c
		}
	}
	return nil
}

// Verdict is a decision with its reason, for operators alone: callers are never told rules.
type Verdict struct {
	Allowed bool
	// Reason says why, and names the rule.
	Reason string
}

// Explain returns what Allows decides, and why.
func (p *Policy) Explain(who *auth.Principal, r *Request) Verdict {
	if p == nil {
		return Verdict{true, "there is no policy"}
	}
	return p.table().explain(who, r)
}

func (t *table) explain(who *auth.Principal, r *Request) Verdict {
	ok, by := t.decide(who, r)
	switch {
	case by != nil && by.deny:
		return Verdict{false, "denied by the rule at " + by.place()}
	case by != nil:
		return Verdict{true, "allowed by the rule at " + by.place()}
	case ok:
		return Verdict{true, "allowed to the role " + auth.RoleAdmin}
	case !known(who):
		return Verdict{false, "the caller has no id"}
	case r.Op.Admin() && who.Anonymous():
		return Verdict{false, "callers without credentials administer nothing by a rule"}
	}
	return Verdict{false, "no rule allows it"}
}

// place says for people where the rule stands.
func (c *rule) place() string {
	if c.at != "" {
		return c.at
	}
	return fmt.Sprintf("number %d", c.index+1)
}
