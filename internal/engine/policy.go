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
	r := policy.Request{Agent: name}
	if e.cfg.Policy == nil || e.allows(c.Principal, n, &r) {
		return nil
	}
	return e.denied(c, n, &r)
}

// denied returns the refusal of a request, and notifies the auditor.
func (e *Engine) denied(c *op.Caller, n need, r *policy.Request) error {
	err := e.refusal(c.Principal, n, r)
	e.abortAudit(c, AuditEvent{Action: audit.PolicyRefused, Agent: r.Agent, Op: n.op.String(), Child: n.delegated}, err)
	return err
}

// refusal is like refused, except for a request of a caller from whom the policy hides the
// agent: an unused name gets past the policy, so the error is the one for an unused name.
func (e *Engine) refusal(p *auth.Principal, n need, r *policy.Request) error {
	if r.Agent != "" && !n.delegated && e.cfg.Policy.Conceals(p, r) {
		return errNoAgent()
	}
	return refused(n, r.Agent)
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
	r := creation(name, x)
	if a.mayCreate(r) {
		return nil
	}
	return a.engine.denied(a.caller, a.need(), r)
}

// creation returns the request to create a task. x is nil if no agent has the name.
func creation(name task.Agent, x *Agent) *policy.Request {
	r := &policy.Request{Agent: name, Begins: true}
	if x != nil {
		r.Agent, r.Skills = x.Name, x.skills
	}
	return r
}

// mayCreate reports whether the policy allows the message to create a task.
func (a *admission) mayCreate(r *policy.Request) bool {
	return a.engine.cfg.Policy == nil || a.engine.allows(a.caller.Principal, a.need(), r)
}

// permitted returns the agents with which the caller may create a task, or the reason why there
// is none.
func (a *admission) permitted(agents []*Agent) ([]*Agent, error) {
	var mine []*Agent
	var why error
	for _, x := range agents {
		if a.mayCreate(creation(x.Name, x)) {
			mine = append(mine, x)
		} else if a.engine.cfg.Policy.Sees(a.caller.Principal, x.Name) {
			why = refused(a.need(), "")
		}
	}
	if why != nil && len(mine) == 0 {
		why = a.engine.denied(a.caller, a.need(), new(policy.Request))
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

// Hides reports whether the policy hides an agent of the given name from a caller that may use
// unused names. The agent need not exist.
func (e *Engine) Hides(p *auth.Principal, name task.Agent) bool {
	return e.cfg.Policy.Hides(p, name)
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
