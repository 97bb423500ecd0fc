package engine

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// need is the permission that a call requires.
type need struct {
	op policy.Op
	// skill is the requested skill, or empty.
	skill string
	// delegated is set if an agent acts on behalf of the caller.
	delegated bool
}

// need returns the permission that the message requires.
func (a *admission) need() need {
	n := need{op: policy.Send, skill: a.send.Message.Skill, delegated: a.delegated}
	if a.streams && !a.send.Followed {
		n.op = policy.Stream
	}
	return n
}

// lookup is a task that a call names, with the required permission.
type lookup struct {
	id a2a.TaskID
	need
}

// allows evaluates the policy.
func (e *Engine) allows(p *auth.Principal, n need, r *policy.Request) bool {
	r.Op, r.Skill = n.op, n.skill
	if n.delegated {
		return e.cfg.Policy.Delegates(p, r)
	}
	return e.cfg.Policy.Allows(p, r)
}

// refused returns the error for a caller without permission. It names the operation, never the
// reason. It is the same whether the agent exists or not.
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

// permit refuses operations that the caller may not do with an agent of the given name. It
// looks up no agent, so that the answer does not reveal which agents exist.
func (e *Engine) permit(c *op.Caller, n need, name task.Agent) error {
	if e.cfg.Policy == nil || e.allows(c.Principal, n, &policy.Request{Agent: name}) {
		return nil
	}
	return e.denied(c, n, name)
}

// denied is like refused, and notifies the auditor.
func (e *Engine) denied(c *op.Caller, n need, name task.Agent) error {
	err := refused(n, name)
	e.abortAudit(c, AuditEvent{Action: audit.PolicyRefused, Agent: name, Op: n.op.String(), Child: n.delegated}, err)
	return err
}

// permitTask refuses operations that the caller may not do with a task. A caller that may not
// get the task either receives the same error as for a task that does not exist.
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

// permitCreate refuses messages that would create a task without permission. x is nil if no
// agent has the name.
func (a *admission) permitCreate(name task.Agent, x *Agent) error {
	if a.mayCreate(name, x) {
		return nil
	}
	if x != nil {
		name = x.Name
	}
	return a.engine.denied(a.caller, a.need(), name)
}

// mayCreate reports whether the policy allows the message to create a task.
func (a *admission) mayCreate(name task.Agent, x *Agent) bool {
	if a.engine.cfg.Policy == nil {
		return true
	}
	q := policy.Request{Agent: name, Begins: true}
	if x != nil {
		q.Agent, q.Skills = x.Name, x.skills
	}
	return a.engine.allows(a.caller.Principal, a.need(), &q)
}

// permitted returns the agents with which the caller may create a task, or the reason why there
// is none.
func (a *admission) permitted(agents []*Agent) ([]*Agent, error) {
	var mine []*Agent
	var why error
	for _, x := range agents {
		if a.mayCreate(x.Name, x) {
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

// Policy returns Config.Policy.
func (e *Engine) Policy() *policy.Policy { return e.cfg.Policy }

// Sees reports whether the policy shows an agent of the given name to a caller. The agent need
// not exist. The empty name is the default agent.
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

// AgentsFor returns the agents that a caller may see, in the order of their registration.
func (e *Engine) AgentsFor(p *auth.Principal) []Agent {
	var mine []Agent
	for _, a := range e.agents.all() {
		if e.cfg.Policy.Sees(p, a.Name) {
			mine = append(mine, *a)
		}
	}
	return mine
}

// AgentFor returns the agent with the given name if the caller may see it; the empty name is
// the default agent.
func (e *Engine) AgentFor(p *auth.Principal, name task.Agent) (Agent, bool) {
	if a, ok := e.Agent(name); ok && e.cfg.Policy.Sees(p, a.Name) {
		return a, true
	}
	return Agent{}, false
}

// caller returns the principal for the policy's decision on an extended card. A caller that has
// only the card's token counts as the local principal.
func (v *CardCaller) caller() *auth.Principal {
	if v.Principal == nil && v.Token && errors.Is(v.Err, auth.ErrUnauthenticated) {
		return &auth.Principal{ID: auth.Local}
	}
	return v.Principal
}
