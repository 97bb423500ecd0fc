package engine

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// alias returns the alias that the message gives to its task, or the empty string. An id that
// is too long for a task id is no alias.
func (a *admission) alias() string {
	alias := a.send.Alias
	if a.send.Once && a.slot.live != nil {
		alias = string(a.send.Message.TaskID) // the message continues another task than the one it names
	}
	if checkID("alias", alias, maxTaskID) != nil {
		return ""
	}
	return alias
}

// byAlias is like seen, for the newest task of the owner and the agent that has k.id as an
// alias.
func (e *Engine) byAlias(ctx context.Context, k ref, agent task.Agent) (*live, error) {
	h, err := e.store.ByAlias(ctx, k.owner, agent, string(k.id))
	if err != nil {
		return nil, err
	}
	return e.visible(ctx, ref{k.owner, h.ID}, agent)
}

// Aliased reports whether a task of the caller has id as an alias.
func (e *Engine) Aliased(ctx context.Context, c *op.Caller, id a2a.TaskID) bool {
	l, err := e.byAlias(ctx, ref{c.Principal.Owner(), id}, "")
	if err != nil {
		return false
	}
	defer e.live.release(l)
	return e.permitTask(c, need{op: policy.Get}, l) == nil
}
