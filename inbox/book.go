package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Why something is not done. Callers test with errors.Is.
var (
	// ErrNotFound: there is no such item.
	ErrNotFound = errors.New("no such item in the inbox")
	// ErrSettled: somebody else came first. The error is a *Settled.
	ErrSettled = errors.New("the item is settled")
	// ErrLate: the time of the item is over.
	ErrLate = errors.New("the time of the item is over")
	// ErrInvalid: the item, or what is to be done with it, makes no sense.
	ErrInvalid = errors.New("invalid")
)

// Settled says how an item was settled by somebody else. It is ErrSettled.
type Settled struct{ Item Item }

// Error says who has won.
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

// Book keeps items. Methods are called concurrently; nothing that is passed in or out is
// shared with the book.
type Book interface {
	// PutItem stores an item that Item.Check finds nothing wrong with, and returns it
	// and true. If there is one with its id, that is returned as it is, and false.
	PutItem(ctx context.Context, it *Item) (Item, bool, error)
	// SettleItem changes an open item as Item.Settles says, and returns it. Of several
	// that settle one item, one wins; the others get a *Settled. If there is no such
	// item, it returns ErrNotFound.
	SettleItem(ctx context.Context, id ID, s *Settlement) (Item, error)
	// Items returns what is asked for.
	Items(ctx context.Context, q *Query) ([]Item, error)
}

// Sweeper is the ability of a book to forget.
type Sweeper interface {
	// SweepItems forgets at most limit items that were settled before a time, the
	// oldest first, and returns how many.
	SweepItems(ctx context.Context, before time.Time, limit int) (int, error)
}

// MaxPage is the most items that one query gives.
const MaxPage = 500

// Query asks for items. The zero Query asks for the newest of all.
type Query struct {
	// ID, Owner and State select, unless they are empty. Kinds selects, unless there
	// are none.
	ID    ID
	Owner task.Owner
	State State
	Kinds []Kind
	// Due selects open items whose time is over then, unless it is zero. They come in
	// the order of that time. Soonest gives only items with an end, in its order.
	Due     time.Time
	Soonest bool
	// After continues a list behind the item with this id. An id that is not there
	// gives nothing.
	After ID
	// Limit is the largest number of items; MaxPage if it is zero or more than that.
	Limit int
}

// Most returns how many items q gives at most.
func (q *Query) Most() int {
	if q.Limit <= 0 || q.Limit > MaxPage {
		return MaxPage
	}
	return q.Limit
}

// ByEnd reports whether items come in the order of their end, and not the newest first.
func (q *Query) ByEnd() bool { return q.Soonest || !q.Due.IsZero() }

// matches reports whether q selects it, leaving After aside.
func (q *Query) matches(it *Item) bool {
	switch {
	case q.ID != "" && it.ID != q.ID,
		q.Owner != "" && it.Owner != q.Owner,
		q.State != "" && it.State != q.State,
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, it.Kind),
		q.ByEnd() && (it.Expires.IsZero() || it.State != Open),
		!q.Due.IsZero() && !it.overdue(q.Due):
		return false
	}
	return true
}
