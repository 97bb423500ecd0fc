package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// Limits of a page of entries.
const (
	maxPageEntries = 256
	maxPageBytes   = 1 << 20
)

// One statement serves all ids: an id of another owner is not found like one that does not
// exist, in the same time.
var qHead = prepared("SELECT " + columns + " FROM tasks t WHERE t.id = ? AND t.owner = ?")

// Head implements task.Log.
func (t Tasks) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	var found []task.Head
	err := t.db.readOf(ctx, subject{id: id}, func(c *conn) (err error) {
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

var qFind = prepared("SELECT " + columns + " FROM tasks t WHERE t.id = ?")

// Find implements task.Finder.
func (t Tasks) Find(ctx context.Context, id a2a.TaskID) ([]task.Head, error) {
	var found []task.Head
	err := t.db.readOf(ctx, subject{id: id}, func(c *conn) (err error) {
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
func heads(s *stmt) ([]task.Head, error) {
	var hs []task.Head
	for s.next() {
		hs = append(hs, task.Head{})
		if err := s.ReadHead(&hs[len(hs)-1]); err != nil {
			s.close()
			return nil, err
		}
	}
	return hs, s.err
}

// maxListBytes is the size of the messages in the heads of a page of a list after which it ends.
const maxListBytes = 8 << 20

var (
	// Entries of doomed tasks belong to deleted tasks.
	qEntries = prepared(`SELECT data FROM entries WHERE place >= ?1 AND place <= ?2
	AND NOT EXISTS (SELECT 1 FROM doomed WHERE task = ?3) ORDER BY place`)

	// A row holds the entries from its first version on, so the row before ?1 is searched as
	// well.
	qEntriesFrom = prepared(`SELECT data FROM entries WHERE place >= coalesce(
		(SELECT max(place) FROM entries WHERE place >= ?4 AND place <= ?1), ?1)
	AND place <= ?2
	AND NOT EXISTS (SELECT 1 FROM doomed WHERE task = ?3) ORDER BY place`)

	qExists = prepared("SELECT EXISTS (SELECT 1 FROM tasks WHERE key = ?)")
)

// Read implements task.Log.
func (t Tasks) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	var page []task.Entry
	exists := true
	err := t.db.readOf(ctx, subject{key: key}, func(c *conn) (err error) {
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

// A row holds the entries from its first version on. One that is large refers to its pieces, whose size
// length does not know; such a row is left out.
var qExcerpt = prepared(`SELECT data FROM (
	SELECT data FROM entries WHERE place >= ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1)
	WHERE length(data) <= ?3`)

// Excerpts implements task.Excerpts.
func (t Tasks) Excerpts(ctx context.Context, at []task.Position, most int) ([]task.Entry, error) {
	all := make([]task.Entry, len(at))
	err := t.db.read(ctx, func(c *conn) error {
		for i, p := range at {
			if p.Version < 1 || p.Version > sqlstore.MaxVersion {
				continue
			}
			s := c.start(qExcerpt)
			s.int(sqlstore.Place(p.Key, 1))
			s.int(sqlstore.Place(p.Key, p.Version))
			s.int(int64(most))
			for s.next() {
				all[i] = sqlstore.Excerpt(s.Blob(), p.Version)
			}
			if s.err != nil {
				return s.err
			}
		}
		return nil
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
	q := qEntries
	if after > 0 {
		q = qEntriesFrom
	}
	s := c.start(q)
	s.int(sqlstore.Place(key, after+1))
	s.int(sqlstore.Place(key, sqlstore.MaxVersion))
	s.int(int64(key))
	if after > 0 {
		s.int(sqlstore.Place(key, 0))
	}
	var page []task.Entry
	size := 0
	for size < maxPageBytes && len(page) < maxPageEntries && s.next() {
		data, err := c.whole(s.Blob())
		if err != nil {
			s.close()
			return nil, err
		}
		es, err := sqlstore.DecodeEntries(data)
		if err != nil {
			s.close()
			return nil, err
		}
		size += len(data)
		page = join(page, es, after)
	}
	s.close()
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
