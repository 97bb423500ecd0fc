package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// Limits of a page of entries.
const (
	maxPageEntries = 256
	maxPageBytes   = 1 << 20
)

// One statement serves all ids: an id of another owner is not found like one that does not
// exist, in the same time.
var qHead = prepared("SELECT " + columns + " FROM tasks t WHERE t.id = $1 AND t.owner = $2")

// Head implements task.Log.
func (t Tasks) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	var found []task.Head
	err := t.db.read(ctx, func(c *conn) (err error) {
		n, err := c.names.Owner(c, owner)
		if n == 0 || err != nil {
			return err
		}
		s := c.start(qHead)
		s.id(string(id))
		s.int(n)
		found, err = heads(&s)
		return err
	})
	if err == nil && len(found) == 0 {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Head{}, fmt.Errorf("head of %s: %w", id, err)
	}
	return found[0], nil
}

var qFind = prepared("SELECT " + columns + " FROM tasks t WHERE t.id = $1")

// Find implements task.Finder.
func (t Tasks) Find(ctx context.Context, id a2a.TaskID) ([]task.Head, error) {
	var found []task.Head
	err := t.db.read(ctx, func(c *conn) (err error) {
		s := c.start(qFind)
		s.id(string(id))
		found, err = heads(&s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", id, err)
	}
	slices.SortFunc(found, func(a, b task.Head) int { return cmp.Compare(a.Owner, b.Owner) })
	return found, nil
}

// heads reads all rows of s.
func heads(s *stmt) ([]task.Head, error) { return readHeads(s, s.ReadHead) }

// listed is like heads, for a list that damage of one task does not end.
func listed(s *stmt) ([]task.Head, error) {
	return readHeads(s, func(h *task.Head) error {
		err := s.ReadHead(h)
		if tables.Spared(h, err) {
			s.Damage(h.ID, err)
			return nil
		}
		return err
	})
}

func readHeads(s *stmt, read func(*task.Head) error) ([]task.Head, error) {
	var hs []task.Head
	for s.next() {
		hs = append(hs, task.Head{})
		if err := read(&hs[len(hs)-1]); err != nil {
			return nil, err
		}
	}
	return hs, s.err
}

var (
	// A row holds the entries from its first version on, so the row before $1 is searched as well.
	// Entries of doomed tasks belong to deleted tasks. before is the size of the rows before a
	// row.
	qEntries = prepared(`SELECT data FROM (
		SELECT place, data, sum(octet_length(data)) OVER (ORDER BY place) - octet_length(data) AS before FROM (
			SELECT place, data FROM entries WHERE place >= coalesce(
				(SELECT max(place) FROM entries WHERE place >= $4 AND place <= $1), $1)
			AND place <= $2 AND NOT EXISTS (SELECT 1 FROM doomed WHERE task = $3)
			ORDER BY place LIMIT $5) few) sized
	WHERE before < $6 ORDER BY place`)

	qExists = prepared("SELECT count(*) FROM tasks WHERE key = $1")
)

// Read implements task.Log.
func (t Tasks) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	var page []task.Entry
	exists := true
	err := t.db.read(ctx, func(c *conn) (err error) {
		page, err = entries(c, key, after)
		if err == nil && len(page) == 0 {
			exists, err = c.exists(key)
		}
		return err
	})
	if err == nil && !exists {
		err = task.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read task %d after version %d: %w", key, after, err)
	}
	return page, nil
}

// A row holds the entries from its first version on; the places of a task begin with its key.
var qExcerpts = prepared(`SELECT w.n, e.data FROM unnest($1::bigint[]) WITH ORDINALITY w (place, n)
	CROSS JOIN LATERAL (SELECT data FROM entries
		WHERE place >= (w.place >> 24) << 24 AND place <= w.place ORDER BY place DESC LIMIT 1) e
	WHERE octet_length(e.data) <= $2`)

// Excerpts implements task.Excerpts.
func (t Tasks) Excerpts(ctx context.Context, at []task.Position, most int) ([]task.Entry, error) {
	places := make([]int64, len(at))
	for i, p := range at {
		if p.Version > 0 && p.Version <= sqlstore.MaxVersion {
			places[i] = sqlstore.Place(p.Key, p.Version)
		}
	}
	all := make([]task.Entry, len(at))
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qExcerpts)
		s.ints(places)
		s.int(int64(most))
		for s.next() {
			i := s.Int() - 1
			all[i] = sqlstore.Excerpt(s.Blob(), at[i].Version)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("read %d excerpts: %w", len(at), err)
	}
	return all, nil
}

func (c *conn) exists(key task.Key) (bool, error) {
	s := c.start(qExists)
	s.int(int64(key))
	n, err := s.only()
	return n == 1, err
}

func entries(c *conn, key task.Key, after int64) ([]task.Entry, error) {
	after = min(max(after, 0), sqlstore.MaxVersion-1)
	s := c.start(qEntries)
	s.int(sqlstore.Place(key, after+1))
	s.int(sqlstore.Place(key, sqlstore.MaxVersion))
	s.int(int64(key))
	s.int(sqlstore.Place(key, 0))
	s.int(maxPageEntries)
	s.int(maxPageBytes)
	var page []task.Entry
	size := 0
	for size < maxPageBytes && len(page) < maxPageEntries && s.next() {
		data := s.Blob()
		es, err := sqlstore.DecodeEntries(data)
		if err != nil {
			return nil, fmt.Errorf("entries of task %d: %w", key, err)
		}
		size += len(data)
		page = join(page, es, after)
	}
	return page, s.err
}

// join appends to page the entries of es after the version after, as far as they fit.
func join(page, es []task.Entry, after int64) []task.Entry {
	for len(es) > 0 && es[0].Version <= after {
		es = es[1:]
	}
	es = es[:min(len(es), maxPageEntries-len(page))]
	if page == nil {
		return es
	}
	return append(page, es...)
}
