package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/task"
)

// Inbox is the store of the inbox in a database.
type Inbox struct{ db *DB }

var (
	_ inbox.Store   = Inbox{}
	_ inbox.Sweeper = Inbox{}
)

// Inbox returns the store of the inbox in the database.
func (db *DB) Inbox() Inbox { return Inbox{db} }

const itemColumns = `id, kind, owner, task, version, agent, caller, caller_name, skill, text, draft,
	created_at, expires_at, state, answer, settled_by, settled_at`

// wanted are the filters of all lists, their order and their length. $4 are kinds, each between
// zero bytes.
const (
	wantedFilter = ` AND ($2 = '' OR state = $2) AND ($3 = '' OR owner = $3)
	AND ($4 = '' OR position('\x00'::bytea || kind || '\x00'::bytea IN $4) > 0)`
	wanted = wantedFilter + " ORDER BY seq DESC LIMIT $5"
)

// The lists differ in the index that they use.
var (
	qItem    = prepared("SELECT " + itemColumns + " FROM inbox WHERE id = $1")
	qPutItem = prepared("INSERT INTO inbox (" + itemColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`)
	qSettleItem = prepared("UPDATE inbox SET state = $2, answer = $3, settled_by = $4, settled_at = $5 WHERE id = $1")

	qItems      = prepared("SELECT " + itemColumns + " FROM inbox WHERE seq < $1" + wanted)
	qItemsState = prepared("SELECT " + itemColumns + " FROM inbox WHERE state = $2 AND seq < $1" + wanted)
	qItemsOwner = prepared("SELECT " + itemColumns + " FROM inbox WHERE owner = $3 AND seq < $1" + wanted)
	qItemsEnd   = prepared("SELECT " + itemColumns + ` FROM inbox
	WHERE state = 'open' AND expires_at > 0 AND expires_at <= $1` + wantedFilter + " ORDER BY expires_at, seq LIMIT $5")
	qItemSeq = prepared("SELECT seq FROM inbox WHERE id = $1")

	qSweepItems = prepared(`DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox
	WHERE state <> 'open' AND settled_at < $1 ORDER BY settled_at LIMIT $2)`)
)

// maxSeq is greater than any row number.
const maxSeq = 1<<63 - 1

func (s *stmt) getItem() inbox.Item {
	return inbox.Item{
		ID: inbox.ID(s.getText()), Kind: inbox.Kind(s.getText()), Owner: task.Owner(s.getText()), Task: a2a.TaskID(s.getText()),
		Version: s.getInt(), Agent: task.Agent(s.getText()), Caller: s.getText(), CallerName: s.getText(), Skill: s.getText(),
		Text: string(s.getBlob()), Draft: string(s.getBlob()), Created: s.getTime(), Expires: s.getTime(),
		State: inbox.State(s.getText()), Answer: string(s.getBlob()), By: s.getText(), Settled: s.getTime(),
	}
}

func (s *stmt) item(it *inbox.Item) {
	for _, text := range []string{string(it.ID), string(it.Kind), string(it.Owner), string(it.Task)} {
		s.text(text)
	}
	s.int(it.Version)
	for _, text := range []string{string(it.Agent), it.Caller, it.CallerName, it.Skill} {
		s.text(text)
	}
	s.blob([]byte(it.Text))
	s.blob([]byte(it.Draft))
	s.time(it.Created)
	s.time(it.Expires)
	s.text(string(it.State))
	s.blob([]byte(it.Answer))
	s.text(it.By)
	s.time(it.Settled)
}

// oneItem reads the item with an id.
func (c *conn) oneItem(id inbox.ID) (it inbox.Item, found bool, err error) {
	s := c.start(qItem)
	s.text(string(id))
	if s.next() {
		it, found = s.getItem(), true
	}
	return it, found, s.err
}

// putItem is the result of a put.
type putItem struct {
	item  inbox.Item
	fresh bool
}

// PutItem implements inbox.Store.
func (b Inbox) PutItem(ctx context.Context, it *inbox.Item) (inbox.Item, bool, error) {
	if err := it.Check(); err != nil {
		return inbox.Item{}, false, err
	}
	row, got := *it, new(putItem) // the writer may run after the caller has returned
	err := b.db.write(ctx, func(w *writer) error {
		w.touched(cluster.TopicInbox)
		*got = putItem{fresh: true}
		old, found, err := w.conn.oneItem(row.ID)
		if err != nil || found {
			*got = putItem{item: old}
			return err
		}
		s := w.conn.start(qPutItem)
		s.item(&row)
		if err := s.done(); err != nil {
			return err
		}
		got.item, _, err = w.conn.oneItem(row.ID)
		return err
	})
	if err != nil {
		return inbox.Item{}, false, fmt.Errorf("put item %s: %w", it.ID, err)
	}
	return got.item, got.fresh, nil
}

// settledItem is the result of a settlement.
type settledItem struct {
	item inbox.Item
	err  error
}

// SettleItem implements inbox.Store. Only the writer writes, so no change comes between its read
// and its write.
func (b Inbox) SettleItem(ctx context.Context, id inbox.ID, change *inbox.Settlement) (inbox.Item, error) {
	if err := change.Check(); err != nil {
		return inbox.Item{}, err
	}
	wanted, got := *change, new(settledItem)
	err := b.db.write(ctx, func(w *writer) error {
		w.touched(cluster.TopicInbox)
		*got = settledItem{err: inbox.ErrNotFound}
		it, found, err := w.conn.oneItem(id)
		if err != nil || !found {
			return err
		}
		if got.item, got.err = it.Settles(&wanted); got.err != nil {
			return nil
		}
		s := w.conn.start(qSettleItem)
		s.text(string(id))
		s.text(string(got.item.State))
		s.blob([]byte(got.item.Answer))
		s.text(got.item.By)
		s.time(got.item.Settled)
		return s.done()
	})
	if err != nil {
		return inbox.Item{}, fmt.Errorf("settle item %s: %w", id, err)
	}
	return got.item, got.err
}

// Items implements inbox.Store.
func (b Inbox) Items(ctx context.Context, q *inbox.Query) ([]inbox.Item, error) {
	var found []inbox.Item
	err := b.db.read(ctx, func(c *conn) error {
		found = nil
		if q.ID != "" {
			it, ok, err := c.oneItem(q.ID)
			if ok && wants(q, &it) {
				found = []inbox.Item{it}
			}
			return err
		}
		s, err := c.startItems(q)
		for err == nil && s.next() {
			if it := s.getItem(); wants(q, &it) {
				found = append(found, it)
			}
		}
		return errors.Join(err, s.err)
	})
	if err != nil {
		return nil, fmt.Errorf("items of the inbox: %w", err)
	}
	return found, nil
}

// startItems begins the list for q.
func (c *conn) startItems(q *inbox.Query) (stmt, error) {
	if q.ByExpiry() {
		s := c.start(qItemsEnd)
		end := q.Due
		if end.IsZero() {
			end = time.UnixMilli(maxSeq)
		}
		s.int(end.UnixMilli())
		bindWanted(&s, q)
		return s, nil
	}
	before := int64(maxSeq)
	if q.After != "" {
		s := c.start(qItemSeq)
		s.text(string(q.After))
		before = 0
		if s.next() {
			before = s.getInt()
		}
		if s.err != nil {
			return stmt{}, s.err
		}
	}
	list := qItems
	switch {
	case q.State == inbox.Open: // there are few of them
		list = qItemsState
	case q.Owner != "":
		list = qItemsOwner
	case q.State != "":
		list = qItemsState
	}
	s := c.start(list)
	s.int(before)
	bindWanted(&s, q)
	return s, nil
}

// bindWanted binds the values of wanted.
func bindWanted(s *stmt, q *inbox.Query) {
	s.text(string(q.State))
	s.text(string(q.Owner))
	var kinds []byte
	for _, k := range q.Kinds {
		kinds = append(append(append(kinds, 0), k...), 0)
	}
	s.text(string(kinds))
	s.int(int64(q.PageSize()))
}

// wants repeats the filters of the statements, so that an error in one of them shows no caller the
// items of another.
func wants(q *inbox.Query, it *inbox.Item) bool {
	return (q.Owner == "" || it.Owner == q.Owner) && (q.State == "" || it.State == q.State) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, it.Kind))
}

// SweepItems implements inbox.Sweeper.
func (b Inbox) SweepItems(ctx context.Context, before time.Time, limit int) (int, error) {
	n := new(int)
	err := b.db.write(ctx, func(w *writer) (err error) {
		w.touched(cluster.TopicInbox)
		s := w.conn.start(qSweepItems)
		s.time(before)
		s.int(int64(limit))
		*n, err = s.changed()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep the inbox: %w", err)
	}
	return *n, nil
}
