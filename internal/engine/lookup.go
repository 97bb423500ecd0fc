package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// Limits of the ids that a caller may choose.
const (
	maxTaskID    = 128
	maxContextID = 256
)

func checkID(field, id string, limit int) error {
	if len(id) > limit {
		return apierror.Field(a2a.ErrInvalidParams, field, "longer than %d bytes", limit)
	}
	if strings.ContainsFunc(id, unicode.IsControl) {
		return apierror.Field(a2a.ErrInvalidParams, field, "contains a control character")
	}
	return nil
}

// find returns the caller's task with one more reference, if the policy allows the operation.
func (e *Engine) find(ctx context.Context, c *op.Caller, t *op.Target, s lookup) (*live, error) {
	scope, err := e.scope(c, t, s.need)
	if err != nil {
		return nil, err
	}
	k := ref{c.Principal.Owner(), s.id}
	l, err := e.visible(ctx, k, scope)
	if t.Aliases && errors.Is(err, task.ErrNotFound) {
		l, err = e.byAlias(ctx, k, scope)
	}
	if err != nil {
		return nil, notFound(err)
	}
	if err := e.permitTask(c, s.need, l); err != nil {
		e.live.release(l)
		return nil, notFound(err)
	}
	if err := e.acceptExtensions(l.snapshot().Agent, c); err != nil {
		e.live.release(l)
		return nil, err
	}
	return l, nil
}

// visible returns a task of an agent with one more reference, if callers may see it. An empty
// agent means any agent.
func (e *Engine) visible(ctx context.Context, k ref, agent task.Agent) (*live, error) {
	l, err := e.open(ctx, k)
	if err != nil {
		return nil, err
	}
	if h := l.snapshot(); h.Visibility != task.Visible || h.Version == 0 || agent != "" && h.Agent != agent {
		e.live.release(l)
		return nil, task.ErrNotFound
	}
	return l, nil
}

// notFound converts the store's "not found" to the protocol's error.
func notFound(err error) error {
	if errors.Is(err, task.ErrNotFound) {
		return apierror.New(a2a.ErrTaskNotFound, "Task not found")
	}
	return err
}

func partField(i int) string { return "message.parts[" + strconv.Itoa(i) + "]" }

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
