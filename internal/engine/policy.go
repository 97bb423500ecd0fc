package engine

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// need is what a call has to be allowed.
type need struct {
	op policy.Op
	// skill is the skill that is asked for, or empty.
	skill string
	// delegated says that an agent asks, on behalf of the caller.
	delegated bool
}

// need returns what the message needs.
func (a *admission) need() need {
	n := need{op: policy.Send, skill: a.send.Message.Skill, delegated: a.delegated}
	if a.streams && !a.send.Followed {
		n.op = policy.Stream
	}
	return n
}

// sought is a task that a call names, and what is to be done with it.
type sought struct {
	id a2a.TaskID
	need
}

// allows asks the policy.
func (e *Engine) allows(p *auth.Principal, n need, r *policy.Request) bool {
	r.Op, r.Skill = n.op, n.skill
	if n.delegated {
		return e.cfg.Policy.Delegates(p, r)
	}
	return e.cfg.Policy.Allows(p, r)
}

// refused is what a caller gets who may not do something: what it is, and never why. It is
// the same whether the agent is there or not.
func refused(n need, name task.Agent) error {
	what := n.op.String()
	if name != "" {
		what += " on agent \"" + clip(string(name)) + "\""
	}
	if n.skill != "" {
		what += " with the skill \"" + clip(n.skill) + "\""
	}
	return apierror.New(a2a.ErrUnauthorized, "%s is not allowed", what)
}

// permit refuses what a caller may not do with an agent by its name. Nothing is looked up, so
// that the answer says nothing about what is there.
func (e *Engine) permit(c *op.Caller, n need, name task.Agent) error {
	if e.cfg.Policy == nil || e.allows(c.Principal, n, &policy.Request{Agent: name}) {
		return nil
	}
	return e.denied(c, n, name)
}

// denied is refused for a refusal that is written down.
func (e *Engine) denied(c *op.Caller, n need, name task.Agent) error {
	err := refused(n, name)
	e.undone(c, Deed{Action: audit.PolicyRefused, Agent: name, Op: n.op.String(), Child: n.delegated}, err)
	return err
}

// permitTask refuses what a caller may not do with a task. Who may not get it either is told
// that there is none, as of a task of somebody else.
func (e *Engine) permitTask(c *op.Caller, n need, l *live) error {
	if e.cfg.Policy == nil {
		return nil
	}
	name := l.snapshot().Agent
	err := e.permit(c, n, name)
	if err != nil && !e.cfg.Policy.Allows(c.Principal, &policy.Request{Op: policy.Get, Agent: name}) {
		return task.ErrNotFound
	}
	return err
}

// permitBegin refuses messages that would begin a task which the caller may not begin. x is
// nil if there is no agent with the name.
func (a *admission) permitBegin(name task.Agent, x *Agent) error {
	if a.mayBegin(name, x) {
		return nil
	}
	if x != nil {
		name = x.Name
	}
	return a.engine.denied(a.caller, a.need(), name)
}

// mayBegin asks the policy whether the message may begin a task.
func (a *admission) mayBegin(name task.Agent, x *Agent) bool {
	if a.engine.cfg.Policy == nil {
		return true
	}
	q := policy.Request{Agent: name, Begins: true}
	if x != nil {
		q.Agent, q.Skills = x.Name, x.skills
	}
	return a.engine.allows(a.caller.Principal, a.need(), &q)
}

// begun returns those of the agents with which the caller may begin a task, or why there is
// none.
func (a *admission) begun(agents []*Agent) ([]*Agent, error) {
	var mine []*Agent
	var why error
	for _, x := range agents {
		if a.mayBegin(x.Name, x) {
			mine = append(mine, x)
		} else if a.engine.cfg.Policy.Sees(a.caller.Principal, x.Name) {
			why = refused(a.need(), "")
		}
	}
	if why != nil && len(mine) == 0 {
		why = a.engine.denied(a.caller, a.need(), "")
	}
	return mine, why
}

// Policy returns what Config.Policy is.
func (e *Engine) Policy() *policy.Policy { return e.cfg.Policy }

// Sees reports whether an agent with a name, if there is one, is there for a caller. The
// empty name is the default agent.
func (e *Engine) Sees(p *auth.Principal, name task.Agent) bool {
	if e.cfg.Policy == nil {
		return true
	}
	if name == "" {
		first := e.agent("")
		return first != nil && e.cfg.Policy.Sees(p, first.Name)
	}
	return e.cfg.Policy.Sees(p, name)
}

// AgentsFor returns the agents that are there for a caller, in the order of their
// registration.
func (e *Engine) AgentsFor(p *auth.Principal) []Agent {
	var mine []Agent
	for _, a := range e.agents.all() {
		if e.cfg.Policy.Sees(p, a.Name) {
			mine = append(mine, *a)
		}
	}
	return mine
}

// AgentFor returns the agent with a name if it is there for a caller; the empty name is the
// default agent.
func (e *Engine) AgentFor(p *auth.Principal, name task.Agent) (Agent, bool) {
	if a, ok := e.Agent(name); ok && e.cfg.Policy.Sees(p, a.Name) {
		return a, true
	}
	return Agent{}, false
}

// visitor returns whom the policy is asked about for an extended card: who has its token
// alone is nobody else.
func (v *Visitor) caller() *auth.Principal {
	if v.Principal == nil && v.Token && errors.Is(v.Err, auth.ErrUnauthenticated) {
		return &auth.Principal{ID: auth.Local}
	}
	return v.Principal
}
