package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// List returns a page of the caller's tasks, newest status first.
func (e *Engine) List(ctx context.Context, c *op.Caller, r *op.List) (*op.Page, error) {
	scope, err := e.scope(c, &r.Target, need{op: policy.List})
	if err != nil {
		return nil, err
	}
	if err := e.acceptExtensions(scope, c); err != nil {
		return nil, err
	}
	q := &task.Query{
		Owner: c.Principal.Owner(), Agent: scope, ContextID: r.ContextID, State: r.State, Since: r.Since, IDPrefix: r.IDPrefix, Text: r.Text, Limit: r.PageSize,
	}
	if q.After, err = e.position(q, r); err != nil {
		return nil, err
	}
	found, err := e.listFor(ctx, c, q)
	if err != nil {
		return nil, listError(q, err)
	}
	e.auditRead(c, AuditEvent{Action: audit.TaskList, Agent: scope})
	return e.page(ctx, q, r, found)
}

// ListAll returns a page of the tasks of all owners, or of r.Owner, newest status first. The
// caller of ListAll checks that the request is an administrator's, and records it. A list of all
// owners with a context is refused: contexts belong to owners.
func (e *Engine) ListAll(ctx context.Context, r *op.List) (*op.Page, error) {
	if r.ContextID != "" && r.Owner == "" {
		return nil, apierror.Field(a2a.ErrInvalidParams, "context", "cannot be given for the tasks of all owners; name the owner")
	}
	q := &task.Query{
		Owner: r.Owner, AllOwners: r.Owner == "", Agent: r.Agent, ContextID: r.ContextID, State: r.State, Since: r.Since, IDPrefix: r.IDPrefix, Text: r.Text, Limit: r.PageSize,
	}
	var err error
	if q.After, err = e.position(q, r); err != nil {
		return nil, err
	}
	found, err := e.store.List(ctx, q)
	if err != nil {
		return nil, listError(q, err)
	}
	return e.page(ctx, q, r, found)
}

// position returns the position at which a page begins. Until is the first position of a list, and a
// filter of each page of a search.
func (e *Engine) position(q *task.Query, r *op.List) (task.Cursor, error) {
	if q.Text != "" {
		at, err := e.tokens.decode(q, r.PageToken)
		return task.Cursor{At: r.Until, Key: at.Key}, err
	}
	if r.PageToken == "" && r.Until > 0 {
		return task.Cursor{At: r.Until}, nil
	}
	return e.tokens.decode(q, r.PageToken)
}

// listError converts the error of a store for a list of ids whose last task was deleted.
func listError(q *task.Query, err error) error {
	if q.IDPrefix != "" && errors.Is(err, task.ErrNotFound) {
		return apierror.Field(a2a.ErrInvalidParams, "pageToken", "the task that the page ended with was deleted; start from the first page")
	}
	return err
}

// page returns the page of a list with the results of the store.
func (e *Engine) page(ctx context.Context, q *task.Query, r *op.List, found task.ListPage) (_ *op.Page, err error) {
	p := &op.Page{PageSize: r.PageSize, TotalSize: found.Total, Artifacts: r.IncludeArtifacts, Partial: found.Partial}
	l := listing{engine: e, tasks: make([]op.Answer, 0, len(found.Heads))}
	if err := l.add(ctx, found.Heads, r); err != nil {
		l.hold.Release()
		return nil, err
	}
	p.Tasks = l.tasks
	if l.hold != nil {
		l.hold.Resize(answerFactor * int64(l.size))
		context.AfterFunc(ctx, l.hold.Release)
	}
	if n := len(p.Tasks); n > 0 && (found.More || n < len(found.Heads)) {
		last := &found.Heads[n-1]
		p.NextPageToken = e.tokens.encode(q, task.Cursor{At: last.StatusAt, Key: last.Key})
	}
	return p, nil
}

// listFor returns the page of a query with only those tasks that the caller may list. If a
// policy allows only some agents, it merges one list for each of them, so that the total
// reveals nothing about other agents.
func (e *Engine) listFor(ctx context.Context, c *op.Caller, q *task.Query) (task.ListPage, error) {
	if q.Agent != "" || e.cfg.Policy.Everywhere(c.Principal, policy.List) {
		return e.store.List(ctx, q)
	}
	var all task.ListPage
	var ends []task.Head
	for _, a := range e.agents.all() {
		if !e.cfg.Policy.Allows(c.Principal, &policy.Request{Op: policy.List, Agent: a.Name}) {
			continue
		}
		one := *q
		one.Agent = a.Name
		found, err := e.store.List(ctx, &one)
		if err != nil {
			return task.ListPage{}, err
		}
		all.Heads, all.Total, all.More = append(all.Heads, found.Heads...), all.Total+found.Total, all.More || found.More
		all.Partial = all.Partial || found.Partial
		if n := len(found.Heads); found.More && n > 0 {
			ends = append(ends, found.Heads[n-1])
		}
	}
	by := func(a, b task.Head) int {
		if q.IDPrefix != "" {
			return cmp.Compare(a.ID, b.ID)
		}
		if q.Text != "" {
			return cmp.Compare(b.Key, a.Key)
		}
		return cmp.Or(cmp.Compare(b.StatusAt, a.StatusAt), cmp.Compare(b.Key, a.Key))
	}
	slices.SortFunc(all.Heads, by)
	for i := range ends { // beyond the end of a page, its agent may have tasks that are missing
		all.Heads = slices.DeleteFunc(all.Heads, func(h task.Head) bool { return by(h, ends[i]) > 0 })
	}
	if len(all.Heads) > q.Limit {
		all.Heads, all.More = all.Heads[:q.Limit], true
	}
	return all, nil
}

// listBytes is the size of the tasks of a page after which it ends, even if it has fewer tasks than its
// caller has asked for.
const listBytes = 8 << 20

// listing collects the tasks of a page. If they are large, they need memory from the budget, which is
// acquired once, so that pages never wait for each other.
type listing struct {
	engine *Engine
	tasks  []op.Answer
	size   int
	hold   *membudget.Hold
}

// add adds tasks until the page is full. It reads a whole task only if the page shows something
// that is not in its head.
func (l *listing) add(ctx context.Context, heads []task.Head, r *op.List) error {
	none := 0
	history := &none
	if r.HistoryLength != nil {
		history = r.HistoryLength
	}
	for i := range heads {
		if l.size > listBytes {
			return nil
		}
		l.size += len(heads[i].StatusMessage)
		var f *task.Fold
		if r.IncludeArtifacts || *history != 0 || heads[i].Others {
			var err error
			f, err = l.fold(ctx, &heads[i])
			if errors.Is(err, task.ErrCorrupt) {
				f, err = new(task.Fold), nil // the store has reported it; its head is shown alone
			}
			if err != nil {
				return err
			}
		}
		l.tasks = append(l.tasks, op.Answer{})
		setAnswer(&l.tasks[len(l.tasks)-1], &heads[i], f, history)
	}
	return nil
}

// fold returns a whole task.
func (l *listing) fold(ctx context.Context, h *task.Head) (*task.Fold, error) {
	most := math.MaxInt
	if l.hold == nil {
		most = largeLog - min(l.size, largeLog)
	}
	f, err := l.engine.foldUpTo(ctx, h, most)
	if errors.Is(err, errLargeLog) {
		if l.hold, err = l.engine.awaitMemory(ctx, foldNeed); err == nil {
			f, err = l.engine.foldUpTo(ctx, h, math.MaxInt)
		}
	}
	l.size += f.size
	return f.Fold, err
}
