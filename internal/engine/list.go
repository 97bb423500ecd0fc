package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/fault"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// List returns a page of the caller's tasks, newest status first.
func (e *Engine) List(ctx context.Context, c *op.Caller, r *op.List) (*Page, error) {
	scope, err := e.scope(&r.Target)
	if err != nil {
		return nil, err
	}
	q := &task.Query{
		Owner: c.Principal.Owner(), Agent: scope, ContextID: r.ContextID, State: r.State, Since: r.Since, Limit: r.PageSize,
	}
	if q.After, err = decodeToken(q, r.PageToken); err != nil {
		return nil, err
	}
	found, err := e.store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	p := &Page{PageSize: r.PageSize, TotalSize: found.Total, Artifacts: r.IncludeArtifacts}
	if p.Tasks, err = e.listed(ctx, found.Heads, r); err != nil {
		return nil, err
	}
	if n := len(found.Heads); found.More && n > 0 {
		last := &found.Heads[n-1]
		p.NextPageToken = encodeToken(q, task.Cursor{At: last.StatusAt, Key: last.Key})
	}
	return p, nil
}

// listed returns the tasks of a page; whole ones only if something of them is to
// be shown that is not in their heads.
func (e *Engine) listed(ctx context.Context, heads []task.Head, r *op.List) ([]Answer, error) {
	none := 0
	history := &none
	if r.HistoryLength != nil {
		history = r.HistoryLength
	}
	tasks := make([]Answer, len(heads))
	for i := range heads {
		tasks[i] = Answer{Head: heads[i], History: history}
		if !r.IncludeArtifacts && *history == 0 {
			continue
		}
		f, err := e.foldLog(ctx, &heads[i])
		if err != nil {
			return nil, err
		}
		tasks[i].Fold = f
	}
	return tasks, nil
}

// encodeToken makes a page token: a place, bound to the caller and the filters by
// a checksum, so that a token of another list is refused.
func encodeToken(q *task.Query, c task.Cursor) string {
	b := binary.BigEndian.AppendUint64(nil, filterSum(q))
	b = binary.BigEndian.AppendUint64(b, uint64(c.At))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Key))
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeToken(q *task.Query, token string) (task.Cursor, error) {
	if token == "" {
		return task.Cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 24 || binary.BigEndian.Uint64(b) != filterSum(q) {
		return task.Cursor{}, fault.Field(a2a.ErrInvalidParams, "pageToken", "is not a token of this list")
	}
	return task.Cursor{
		At:  task.Millis(binary.BigEndian.Uint64(b[8:])),
		Key: task.Key(binary.BigEndian.Uint64(b[16:])),
	}, nil
}

func filterSum(q *task.Query) uint64 {
	h := fnv.New64a()
	for _, s := range []string{string(q.Owner), string(q.Agent), q.ContextID, q.State.String(), q.Since.Time().String()} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
