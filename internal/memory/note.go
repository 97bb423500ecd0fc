package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// Note is a text that is stored for a limited time.
type Note struct {
	// Owner and Key identify the note.
	Owner task.Owner
	Key   string
	// Value is the text. If Ref is set, it is only the beginning of the text.
	Value string
	// Ref locates the whole text; empty if Value is the whole text.
	Ref string
	// Size is the length of the whole text in bytes.
	Size int64
	// Category is a kind of note, such as "a2a-result"; it may be empty.
	Category string
	// Tags are words for searches.
	Tags []string
	// CreatedAt is the time at which the key was first set, UpdatedAt the time of the last Set,
	// and ExpiresAt the time at which the note expires. They have a precision of milliseconds.
	CreatedAt, UpdatedAt, ExpiresAt time.Time
}

// clone returns a copy that shares nothing with n.
func (n *Note) clone() Note {
	c := *n
	c.Tags = slices.Clone(n.Tags)
	return c
}

// Range selects unexpired notes of one owner. Zero fields do not filter.
type Range struct {
	// Owner is required.
	Owner task.Owner
	// Key selects the single note with this key.
	Key string
	// Prefix is a prefix of the keys. After is the key behind which the range begins.
	Prefix, After string
	// Category is a prefix of the categories.
	Category string
	// At is the time of the query: notes that have expired by then are not selected. It is
	// required.
	At time.Time
	// Limit is the maximum number of notes; it must be positive.
	Limit int
	// Clip is the maximum length of returned values in characters; zero means no limit.
	Clip int
}

// Quota is the maximum number of notes after a note was put, including that note; zero means no
// limit.
type Quota struct{ Namespace, Owner int }

// Store stores notes. Its methods are called concurrently. No argument or result is shared with
// the store. Errors wrap task.ErrUnavailable if the store is not available.
type Store interface {
	// Put stores n in place of the note with the same owner and key. It keeps the CreatedAt of
	// that note, unless it has expired at n.UpdatedAt. If there was no such note, expired or
	// not, Put drops notes until there is room: in the namespace, then of the owner, those that
	// expire first, but never n. It returns the number of dropped notes. Put is atomic and
	// durable.
	Put(ctx context.Context, n *Note, room Quota) (dropped int, err error)
	// Read returns notes, sorted by the bytes of their keys.
	Read(ctx context.Context, r *Range) ([]Note, error)
	// Drop durably deletes notes and returns their number. It ignores Clip.
	Drop(ctx context.Context, r *Range) (int, error)
}

// Finder is implemented by a store with an index of words. Without it, Notes.Search reads the
// notes one after another, at most 10,000.
type Finder interface {
	// Find returns notes in r that contain at least one of the words of q, each once and in any
	// order. If there are more than r.Limit, it prefers notes with rare words, and with several
	// of the words.
	Find(ctx context.Context, r *Range, q Query) (*Found, error)
}

// Query lists words of notes, see Words. A word that ends in "*" stands for a few of the words
// that begin with it.
type Query struct {
	Words []string
	// Loose are words whose notes fill the room that the notes of Words leave.
	Loose []string
}

// Found is the result of Finder.Find.
type Found struct {
	Notes []Note
	// Size is the number of notes of the owner, and Counts the number of those that contain a
	// word of the query, without words that no note contains. Both may include expired notes.
	Size   int
	Counts map[string]int
}

// Sweeper is implemented by a store that can delete expired data.
type Sweeper interface {
	// Sweep deletes up to limit notes or turns, of any owner, that expired before a time, and
	// returns their number.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// Turn is one utterance in a conversation.
type Turn struct {
	// ID identifies the turn in its session. It is required.
	ID string
	// Role is the speaker: RoleCaller, RoleAgent or RoleHub.
	Role string
	// Name is the name of the caller or of the agent; for RoleHub, of the agent whose model
	// received the notice.
	Name string
	Text string
	// At is the time of the utterance, with a precision of milliseconds.
	At time.Time
}

// Roles of turns.
const (
	RoleCaller = "caller"
	RoleAgent  = "agent"
	// RoleHub is the role of notices of the hub to a model, such as the arrival of a result.
	RoleHub = "hub"
)

// TurnStore stores turns. The rules of Store for concurrency, sharing and errors apply.
type TurnStore interface {
	// Add appends turns to a session, except those whose ID exists already. Then it drops the
	// oldest turns until at most keep remain; zero keeps all.
	Add(ctx context.Context, s Session, turns []Turn, keep int) error
	// Turns returns the newest turns of a session at or after since, at most limit, in the
	// order in which they were added.
	Turns(ctx context.Context, s Session, since time.Time, limit int) ([]Turn, error)
	// Forget deletes all turns of a session.
	Forget(ctx context.Context, s Session) error
}

// Session is a conversation of an owner.
type Session struct {
	Owner task.Owner
	// Name is "a2a-inbound/" followed by the context, see SessionOf.
	Name string
}

// SessionOf returns the session of a context, or of a task without a context.
func SessionOf(owner task.Owner, contextID, taskID string) Session {
	return Session{owner, "a2a-inbound/" + Segment(cmp.Or(contextID, taskID))}
}

// millis returns a time with the precision of stores.
func millis(t time.Time) time.Time { return task.MillisOf(t).Time() }
