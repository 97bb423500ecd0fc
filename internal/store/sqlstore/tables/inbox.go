package tables

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/inbox"
)

// Inbox is the store of the inbox. See [NewInbox].
type Inbox struct{ db DB }

var (
	_ inbox.Store   = Inbox{}
	_ inbox.Sweeper = Inbox{}
)

// NewInbox returns the inbox in db.
func NewInbox(db DB) Inbox { return Inbox{db} }

const itemColumns = `id, kind, owner, task, version, agent, caller, caller_name, skill, text, draft,
	created_at, expires_at, state, answer, settled_by, settled_at`

// itemFields returns the fields for itemColumns.
func itemFields(it *inbox.Item) []any {
	return []any{
		&it.ID, &it.Kind, &it.Owner, &it.Task, &it.Version, &it.Agent, &it.Caller, &it.CallerName, &it.Skill,
		bytesOf{&it.Text},
		bytesOf{&it.Draft},
		&it.Created, &it.Expires, &it.State,
		bytesOf{&it.Answer},
		&it.By, &it.Settled,
	}
}

var scanItem = fields(itemFields)

// wantedFilter has the filters of all lists: a state, an owner and kinds. wanted adds the order and the
// length.
const (
	wantedFilter = " AND ($2 = '' OR state = $2) AND ($3 = '' OR owner = $3) AND ($4 = '' OR kind IN ($4, $5, $6))"
	wanted       = wantedFilter + " ORDER BY seq DESC LIMIT $7"
)

// The lists differ in the index that they use. SQLite would compare a state alone with those of the
// other indexes, and so prepare the statement again for each execution.
var (
	qItem    = prepared("SELECT " + itemColumns + " FROM inbox WHERE id = $1")
	qPutItem = changing(cluster.TopicInbox, "INSERT INTO inbox ("+itemColumns+`)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`)
	qSettleItem = changing(cluster.TopicInbox, "UPDATE inbox SET state = $2, answer = $3, settled_by = $4, settled_at = $5 WHERE id = $1")

	qItems      = prepared("SELECT " + itemColumns + " FROM inbox WHERE seq < $1" + wanted)
	qItemsState = prepared("SELECT " + itemColumns + " FROM inbox WHERE state = /*sqlite +*/ $2 AND seq < $1" + wanted)
	qItemsOwner = prepared("SELECT " + itemColumns + " FROM inbox WHERE owner = $3 AND seq < $1" + wanted)
	qItemsEnd   = prepared("SELECT " + itemColumns + ` FROM inbox /*sqlite INDEXED BY inbox_ends */
	WHERE state = 'open' AND expires_at > 0 AND expires_at <= $1` + wantedFilter + " ORDER BY expires_at, seq LIMIT $7")
	qItemSeq = prepared("SELECT seq FROM inbox WHERE id = $1")

	qSweepItems = changing(cluster.TopicInbox, `DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox
	WHERE state <> 'open' AND settled_at < $1 ORDER BY settled_at LIMIT $2)`)
)

// maxSeq is greater than any row number.
const maxSeq = 1<<63 - 1

// putItem is the result of a put.
type putItem struct {
	inbox.Item
	fresh bool
}

// PutItem implements inbox.Store.
func (b Inbox) PutItem(ctx context.Context, it *inbox.Item) (inbox.Item, bool, error) {
	if err := it.Check(); err != nil {
		return inbox.Item{}, false, err
	}
	row := *it // the writer may run after the caller has returned
	got, err := resultOf(ctx, b.db.WriteAlone, func(c Conn) (putItem, error) {
		old, found, err := one(c, scanItem, qItem, row.ID)
		if err != nil || found {
			return putItem{Item: old}, err
		}
		if err := c.Exec(qPutItem, itemFields(&row)...); err != nil {
			return putItem{}, err
		}
		stored, _, err := one(c, scanItem, qItem, row.ID)
		return putItem{stored, true}, err
	})
	if err != nil {
		return inbox.Item{}, false, fmt.Errorf("put item %s: %w", it.ID, err)
	}
	return got.Item, got.fresh, nil
}

// settledItem is the result of a settlement.
type settledItem struct {
	inbox.Item
	refusal error
}

// SettleItem implements inbox.Store.
func (b Inbox) SettleItem(ctx context.Context, id inbox.ID, change *inbox.Settlement) (inbox.Item, error) {
	if err := change.Check(); err != nil {
		return inbox.Item{}, err
	}
	wanted := *change
	got, err := resultOf(ctx, b.db.WriteAlone, func(c Conn) (settledItem, error) {
		it, found, err := one(c, scanItem, qItem, id)
		if err != nil || !found {
			return settledItem{refusal: inbox.ErrNotFound}, err
		}
		now, err := it.Settles(&wanted)
		if err != nil {
			return settledItem{now, err}, nil
		}
		return settledItem{Item: now}, c.Exec(qSettleItem, id, now.State, bytesOf{&now.Answer}, now.By, now.Settled)
	})
	if err != nil {
		return inbox.Item{}, fmt.Errorf("settle item %s: %w", id, err)
	}
	return got.Item, got.refusal
}

// Items implements inbox.Store.
func (b Inbox) Items(ctx context.Context, q *inbox.Query) ([]inbox.Item, error) {
	var found []inbox.Item
	err := b.db.Read(ctx, func(c Conn) (err error) {
		found, err = items(c, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("items of the inbox: %w", err)
	}
	return slices.DeleteFunc(found, func(it inbox.Item) bool { return !wants(q, &it) }), nil
}

// items returns the rows for q.
func items(c Conn, q *inbox.Query) ([]inbox.Item, error) {
	from, query := int64(maxSeq), qItems
	switch {
	case q.ID != "":
		return rows(c, scanItem, qItem, q.ID)
	case q.ByExpiry():
		if query = qItemsEnd; !q.Due.IsZero() {
			from = q.Due.UnixMilli()
		}
	case q.State == inbox.Open: // there are few of them
		query = qItemsState
	case q.Owner != "":
		query = qItemsOwner
	case q.State != "":
		query = qItemsState
	}
	if q.After != "" && query != qItemsEnd {
		seq, found, err := one(c, scanInt, qItemSeq, q.After)
		if err != nil || !found {
			return nil, err
		}
		from = seq
	}
	kinds := kindsOf(q)
	return rows(c, scanItem, query, from, q.State, q.Owner, kinds[0], kinds[1], kinds[2], q.PageSize())
}

// kindsOf returns the kinds that exist of those in a query.
func kindsOf(q *inbox.Query) (kinds [3]inbox.Kind) {
	copy(kinds[:], slices.DeleteFunc(inbox.Kinds(), func(k inbox.Kind) bool { return !slices.Contains(q.Kinds, k) }))
	return kinds
}

// wants repeats the filters of the statements, so that an error in one of them shows no caller the
// items of another.
func wants(q *inbox.Query, it *inbox.Item) bool {
	return (q.Owner == "" || it.Owner == q.Owner) && (q.State == "" || it.State == q.State) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, it.Kind))
}

// SweepItems implements inbox.Sweeper.
func (b Inbox) SweepItems(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := change(ctx, b.db, qSweepItems, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep the inbox: %w", err)
	}
	return n, nil
}
