package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Errors of an inbox. Callers test for them with errors.Is.
var (
	// ErrNotFound is returned if the item does not exist.
	ErrNotFound = errors.New("no such item in the inbox")
	// ErrSettled is returned if the item is already settled. The error is a *Settled.
	ErrSettled = errors.New("the item is settled")
	// ErrLate is returned for a settlement after the item has expired.
	ErrLate = errors.New("the item has expired")
	// ErrInvalid is returned for an invalid item, or a settlement that does not fit the item.
	ErrInvalid = errors.New("invalid")
)

// Settled reports the earlier settlement of an item. It wraps ErrSettled.
type Settled struct{ Item Item }

// Error implements error. It names the settlement, its user and its time.
func (s *Settled) Error() string {
	switch {
	case s.Item.State == Expired && s.Item.Answer != "":
		return fmt.Sprintf("the item is settled: %s (%s)", s.Item.Answer, s.Item.Settled.Format(time.RFC3339))
	case s.Item.State == Expired:
		return fmt.Sprintf("the item is settled: it expired at %s", s.Item.Settled.Format(time.RFC3339))
	case s.Item.By == "":
		return fmt.Sprintf("the item is settled: %s at %s", s.Item.State, s.Item.Settled.Format(time.RFC3339))
	}
	return fmt.Sprintf("the item is settled: %s by %s at %s", s.Item.State, s.Item.By, s.Item.Settled.Format(time.RFC3339))
}

// Unwrap returns ErrSettled.
func (s *Settled) Unwrap() error { return ErrSettled }

// Store stores items. Its methods are called concurrently. No argument or result is shared with
// the store.
type Store interface {
	// PutItem stores an item that passes Item.Check, and returns it and true. If an item with
	// the id exists, PutItem returns that item unchanged, and false.
	PutItem(ctx context.Context, it *Item) (Item, bool, error)
	// SettleItem changes an open item as Item.Settles describes, and returns it. Of several
	// concurrent settlements one wins; the other callers get a *Settled. If the item does not
	// exist, SettleItem returns ErrNotFound.
	SettleItem(ctx context.Context, id ID, s *Settlement) (Item, error)
	// Items returns the items that q selects.
	Items(ctx context.Context, q *Query) ([]Item, error)
}

// Sweeper is implemented by a Store that can delete old items.
type Sweeper interface {
	// SweepItems deletes at most limit items that were settled before a time, oldest first, and
	// returns the number deleted.
	SweepItems(ctx context.Context, before time.Time, limit int) (int, error)
}

// MaxPage is the maximum number of items returned for one query.
const MaxPage = 500

// Query selects items. The zero Query selects all, newest first.
type Query struct {
	// ID, Owner and State select items with the same values; empty fields select all. Kinds
	// selects items of these kinds; none means all.
	ID    ID
	Owner task.Owner
	State State
	Kinds []Kind
	// Due, if not zero, selects open items that expire at or before it, ordered by that time.
	// Soonest selects open items that expire, in the same order.
	Due     time.Time
	Soonest bool
	// After starts the list behind the item with this id. An unknown id gives an empty list.
	After ID
	// Limit is the maximum number of items; MaxPage if it is zero or larger.
	Limit int
}

// PageSize returns the maximum number of items for q.
func (q *Query) PageSize() int {
	if q.Limit <= 0 || q.Limit > MaxPage {
		return MaxPage
	}
	return q.Limit
}

// ByExpiry reports whether q orders items by their expiry instead of newest first.
func (q *Query) ByExpiry() bool { return q.Soonest || !q.Due.IsZero() }

// matches reports whether q selects it, ignoring After.
func (q *Query) matches(it *Item) bool {
	switch {
	case q.ID != "" && it.ID != q.ID,
		q.Owner != "" && it.Owner != q.Owner,
		q.State != "" && it.State != q.State,
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, it.Kind),
		q.ByExpiry() && (it.Expires.IsZero() || it.State != Open),
		!q.Due.IsZero() && !it.overdue(q.Due):
		return false
	}
	return true
}
