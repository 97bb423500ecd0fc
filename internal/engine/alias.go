package engine

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// aliasOf returns the alias that a message gives to its task, or the empty string. What
// is too long to be asked for as a task is no alias.
func (e *Engine) aliasOf(r *op.Send) string {
	if e.aliases == nil || checkID("alias", r.Alias, maxTaskID) != nil {
		return ""
	}
	return r.Alias
}

// byAlias is seen for the newest task of the owner and the agent that has the id of k
// as an alias.
func (e *Engine) byAlias(ctx context.Context, k ref, agent task.Agent) (*live, error) {
	if e.aliases == nil {
		return nil, task.ErrNotFound
	}
	h, err := e.aliases.ByAlias(ctx, k.owner, agent, string(k.id))
	if err != nil {
		return nil, err
	}
	return e.seen(ctx, ref{k.owner, h.ID}, agent)
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
