package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Errors that a store returns. Callers test with errors.Is.
var (
	// ErrNotFound is returned if the owner has no such task.
	ErrNotFound = errors.New("task not found")
	// ErrExists is returned if the owner already has a task with this id.
	ErrExists = errors.New("task exists")
	// ErrConflict is returned if the head from which the change was made is outdated. Nothing
	// was stored; the caller reads the head again.
	ErrConflict = errors.New("concurrent modification")
	// ErrUnavailable is returned if the store cannot write or read now (disk full, read-only,
	// closed, connection lost). The change may or may not be stored.
	ErrUnavailable = errors.New("store unavailable")
	// ErrFull is the ErrUnavailable of a full disk.
	ErrFull = fmt.Errorf("disk is full: %w", ErrUnavailable)
	// ErrReadOnly is the ErrUnavailable of a disk or file that cannot be written.
	ErrReadOnly = fmt.Errorf("disk is read-only: %w", ErrUnavailable)
	// ErrPartly is the ErrUnavailable of a store that works for other owners.
	ErrPartly = fmt.Errorf("a part of the store does not answer: %w", ErrUnavailable)
)

// Change is one atomic step of one task: a new head, and the entries that lead to it. A change
// without entries changes only the row.
type Change struct {
	// Prev is the head from which the change was made. Its Rev must still be the stored one.
	// The zero Head creates the task.
	Prev Head
	// Next is the head to store. Its Rev is Prev.Rev + 1. When the task is created,
	// the store sets Next.Key.
	Next Head
	// Entries are numbered Prev.Version + 1 … Next.Version.
	Entries []Entry
	// Hook, if not nil, is stored together with the change. The store sets its Task.
	Hook *Hook
	// Request, if not nil, is stored together with the change, unless its key was used. The
	// store checks the key before all other conditions of the change.
	Request *Request
	// Alias, if not empty, becomes an additional name of the task. Other tasks of the owner may
	// have it too.
	Alias string
	// Sidecars are stored together with the change. Each that is not nil replaces an earlier
	// one of its kind. A lineage can only be stored with the change that creates the task.
	Sidecars [SidecarKinds][]byte
	// Journal are records that are added to the journal of the task together with the change. A
	// record whose number exists already is not added again. Forget empties the journal before
	// that.
	Journal []Record
	Forget  bool
}

// ErrHookID is returned for a Hook without an ID: a mistake of the store's caller.
var ErrHookID = errors.New("hook has no id")

// Check returns an error if c is inconsistent, regardless of the stored data: a mistake of the
// store's caller. The store stores no part of such a change.
func (c *Change) Check() error {
	switch {
	case c.Next.Rev != c.Prev.Rev+1:
		return fmt.Errorf("rev %d follows rev %d", c.Next.Rev, c.Prev.Rev)
	case c.Next.Version != c.Prev.Version+int64(len(c.Entries)):
		return fmt.Errorf("%d entries lead from version %d to %d", len(c.Entries), c.Prev.Version, c.Next.Version)
	case c.Prev.Rev != 0 && !sameTask(&c.Prev, &c.Next):
		return errors.New("key, id, owner, agent or context changes")
	case c.Hook != nil && c.Hook.ID == "":
		return ErrHookID
	case c.Request != nil && c.Request.Key == "":
		return errors.New("request has no key")
	case c.Sidecars[SidecarLineage] != nil && (c.Prev.Rev != 0 || SidecarLineage.Parent(c.Sidecars[SidecarLineage]) == 0):
		return errors.New("lineage of a task that is not new, or without a parent")
	}
	for i := range c.Journal {
		if n := c.Journal[i].Number; n < 1 {
			return fmt.Errorf("record %d must be positive", n)
		}
	}
	for i := range c.Entries {
		if want := c.Prev.Version + int64(i) + 1; c.Entries[i].Version != want {
			return fmt.Errorf("entry has version %d instead of %d", c.Entries[i].Version, want)
		}
	}
	return nil
}

// sameTask compares the fields that never change in a task.
func sameTask(a, b *Head) bool {
	return a.Key == b.Key && a.ID == b.ID && a.Owner == b.Owner && a.Agent == b.Agent && a.ContextID == b.ContextID
}

// Log is the record of tasks. Methods are safe for concurrent use.
type Log interface {
	// Append stores c, and returns when it is durable. It returns ErrConflict, ErrExists,
	// ErrKeyUsed or ErrUnavailable. The store retains c.Entries and the byte slices of c.Next,
	// which the caller must not change afterwards. It does not retain c.Sidecars and c.Journal.
	// The caller may reuse c itself once Append has returned nil or ErrConflict. Cancelling ctx
	// stops the waiting, not the writing. A task has at most one append in flight.
	Append(ctx context.Context, c *Change) error
	// Head returns the head of the owner's task, regardless of Visibility, or ErrNotFound.
	Head(ctx context.Context, owner Owner, id a2a.TaskID) (Head, error)
	// Read returns entries with versions above after, in order: as many as fit in a page (at
	// most 256 entries or about 1 MiB, at least one). An empty result means that there are none
	// yet. It returns ErrNotFound for a deleted key.
	Read(ctx context.Context, key Key, after int64) ([]Entry, error)
}

// Position is the place of an entry in the logs of all tasks.
type Position struct {
	Key     Key
	Version int64
}

// Excerpts reads single entries of many tasks.
type Excerpts interface {
	// Excerpts returns the entry at each position, with one read for all of them. The zero Entry stands for
	// one that does not exist or cannot be read, and may stand for one that is stored together with more
	// than most bytes.
	Excerpts(ctx context.Context, at []Position, most int) ([]Entry, error)
}

// MaxTotal is the limit up to which ListPage.Total is exact if a timestamp filters the list.
const MaxTotal = 10_000

// Query selects tasks of one owner, or of all. Zero fields do not filter. Only tasks with the
// visibility Visible are listed.
type Query struct {
	Owner Owner
	// AllOwners selects the tasks of all owners, for administrators. Owner and ContextID must be
	// empty then. The cost of a page grows with the number of owners of an Agent, and otherwise
	// of running tasks.
	AllOwners bool
	Agent     Agent
	ContextID string
	State     State
	// IDPrefix selects tasks whose id begins with it. Such a list is ordered by id, UUIDs first;
	// After.At is ignored, and After.Key must exist. ContextID and Since must be empty, and
	// ListPage.Total is zero.
	IDPrefix string
	// Text selects tasks that contain all its words, as far as they are indexed (see Texts). Such a list
	// is ordered by key, the newest task first; After.At selects tasks with an earlier status, unless it
	// is zero. A text without words selects nothing. IDPrefix must be empty, and ListPage.Total is zero.
	Text string
	// Since selects tasks whose status timestamp is not earlier.
	Since Millis
	// After continues after the last task of a page.
	After Cursor
	// Limit is the largest number of heads to return; it must be positive.
	Limit int
}

// Check returns an error if q has filters that cannot be combined.
func (q *Query) Check() error {
	if q.IDPrefix != "" && (q.ContextID != "" || q.Since != 0) {
		return errors.New("a list of ids cannot be filtered by context or time")
	}
	if q.IDPrefix != "" && q.Text != "" {
		return errors.New("a list of ids cannot be filtered by text")
	}
	if q.AllOwners && (q.Owner != "" || q.ContextID != "") {
		return errors.New("a list of all owners cannot be filtered by owner or context")
	}
	return nil
}

// Cursor is a position in a list: the status timestamp and key of a task. The zero Cursor is
// the beginning.
type Cursor struct {
	At  Millis
	Key Key
}

// ListPage is one page of a list.
type ListPage struct {
	// Heads are ordered by status timestamp, newest first, then by key, newest first; with
	// Query.IDPrefix by id, and with Query.Text by key.
	Heads []Head
	// More is set if further tasks follow the last head. A page may have fewer heads than
	// Query.Limit then if their messages are large.
	More bool
	// Total is the number of matching tasks, regardless of After and Limit. With a Since filter
	// it is exact up to MaxTotal, and MaxTotal + 1 if there are more.
	Total int
	// Partial is set with Query.Text while many tasks are missing in the index.
	Partial bool
}

// Index finds tasks of an owner.
type Index interface {
	// List returns a page of the tasks of q. It returns an error for a query that is invalid by
	// Query.Check, and ErrNotFound if a list of ids continues after a task that was deleted.
	List(ctx context.Context, q *Query) (ListPage, error)
	// Interrupted returns the newest interrupted task of the owner with this agent and context,
	// or ErrNotFound. The query has an owner.
	Interrupted(ctx context.Context, q *Query) (Head, error)
}

// Work returns the tasks of all owners for which the hub has work to do.
type Work interface {
	// Due returns up to limit heads of tasks that are due (Head.Due), with keys above after, in
	// order of their keys. Its cost does not depend on the tasks that only wait for their
	// callers.
	Due(ctx context.Context, after Key, limit int) ([]Head, error)
	// Stale returns up to limit heads of interrupted tasks that have no run and whose context
	// has not changed since before.
	Stale(ctx context.Context, before Millis, limit int) ([]Head, error)
}

// Sweeper deletes expired data.
type Sweeper interface {
	// Sweep deletes up to limit tasks that ended, or were answered, before the given time, with
	// their entries. It returns the number of deleted tasks. Deleted tasks are not found, and
	// do not count in totals.
	Sweep(ctx context.Context, before Millis, limit int) (int, error)
}

// Snapshot is a task folded up to a version. A reader may start from it instead of the first
// entry.
type Snapshot struct {
	Version int64
	// Data is the encoding of Fold.AppendBinary.
	Data []byte
}

// Snapshots keeps snapshots of tasks.
type Snapshots interface {
	// Snapshot returns the newest snapshot of a task, or the zero Snapshot.
	Snapshot(ctx context.Context, key Key) (Snapshot, error)
	// SaveSnapshot replaces an older snapshot by s. It is best effort: a lost snapshot costs
	// time, but no entries.
	SaveSnapshot(ctx context.Context, key Key, s Snapshot) error
}

// Finder finds tasks for operators, which do not own them.
type Finder interface {
	// Find returns the heads of the tasks of all owners that have the id, sorted by owner. It
	// is no error if there are none.
	Find(ctx context.Context, id a2a.TaskID) ([]Head, error)
}

// Prober checks a store that has failed.
type Prober interface {
	// Probe makes a small durable write and returns ErrUnavailable if it cannot.
	Probe(ctx context.Context) error
}

// Store is the complete storage interface of the hub. It is large because it is the sum of
// small parts; code that needs one part accepts that part. All data beside a task is deleted
// together with it.
type Store interface {
	Log
	Excerpts
	Index
	Aliases
	Finder
	Work
	Sweeper
	Prober
	Snapshots
	Sidecars
	Journals
	Requests
	Hooks
	HookWork
	HookAdmin
	Timeline
	Texts
}
