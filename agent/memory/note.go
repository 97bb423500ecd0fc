package memory

import (
	"context"
	"slices"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Note is a text that is remembered for a while.
type Note struct {
	// Owner and Key identify the note.
	Owner task.Owner
	Key   string
	// Value is the text. If Ref is set it is the beginning of one that is elsewhere.
	Value string
	// Ref says where the whole text is; empty if Value is the text.
	Ref string
	// Size is the length of the whole text in bytes.
	Size int64
	// Category is a kind of notes such as "a2a-result"; empty for none.
	Category string
	// Tags are words to find the note by.
	Tags []string
	// CreatedAt is when there was first a note with the key, UpdatedAt when this one was
	// set, and ExpiresAt when it ends. They have milliseconds.
	CreatedAt, UpdatedAt, ExpiresAt time.Time
}

// clone returns a copy that shares nothing with n.
func (n *Note) clone() Note {
	c := *n
	c.Tags = slices.Clone(n.Tags)
	return c
}

// Range chooses notes of one owner that have not ended. Zero fields choose all.
type Range struct {
	// Owner is required.
	Owner task.Owner
	// Key is the key of the only note that is wanted.
	Key string
	// Prefix is how keys begin, After the key behind which they begin.
	Prefix, After string
	// Category is how categories begin.
	Category string
	// At is the moment of the question: what has ended then is not there. It is required.
	At time.Time
	// Limit is how many notes are wanted at most; it must be positive.
	Limit int
	// Clip cuts values after so many characters; zero leaves them whole.
	Clip int
}

// Room is how many notes there may be after a note was put; zero means any number. The
// note that was put counts.
type Room struct{ Namespace, Owner int }

// Store keeps notes. Methods are called concurrently; nothing that is passed in or out is
// shared with the store. Errors wrap task.ErrUnavailable where the store does not work.
type Store interface {
	// Put stores n in place of the note with its owner and key, and keeps the moment of
	// making of that one if it had not ended at n.UpdatedAt. If there was none, ended or
	// not, it drops notes until there is room: of the namespace, then of the owner, first
	// those that end first, but never n. It returns how many were dropped. All of this is
	// one step, and durable.
	Put(ctx context.Context, n *Note, room Room) (dropped int, err error)
	// Read returns notes in the order of the bytes of their keys.
	Read(ctx context.Context, r *Range) ([]Note, error)
	// Drop forgets notes, durably, and returns how many. Clip means nothing here.
	Drop(ctx context.Context, r *Range) (int, error)
}

// Sweeper is the ability of a store to remove what has ended.
type Sweeper interface {
	// Sweep deletes up to limit notes or turns that ended before a moment, those of every
	// owner, and returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// Turn is something that was said in a conversation.
type Turn struct {
	// ID identifies the turn in its session. It is required.
	ID string
	// Role is who said it: RoleCaller, RoleAgent or RoleHub.
	Role string
	// Name is the name of the caller or of the agent; for RoleHub, of the agent to whose model
	// the hub has said it.
	Name string
	Text string
	// At is when it was said. It has milliseconds.
	At time.Time
}

// The roles of turns.
const (
	RoleCaller = "caller"
	RoleAgent  = "agent"
	// RoleHub is that of notices of the hub to a model, such as that a result has come.
	RoleHub = "hub"
)

// TurnStore keeps turns. It is like Store.
type TurnStore interface {
	// Add stores turns at the end of a session, but not those whose ID is there already,
	// and drops the oldest until no more than keep are left; zero keeps all.
	Add(ctx context.Context, s Session, turns []Turn, keep int) error
	// Turns returns the newest turns of a session that were said at since or later, at
	// most limit, in the order of their addition.
	Turns(ctx context.Context, s Session, since time.Time, limit int) ([]Turn, error)
	// Forget drops all turns of a session.
	Forget(ctx context.Context, s Session) error
}

// Session is a conversation of an owner.
type Session struct {
	Owner task.Owner
	// Name is "a2a-inbound/" and the context, see SessionOf.
	Name string
}

// SessionOf returns the session of a context, or of a task without a context.
func SessionOf(owner task.Owner, contextID, taskID string) Session {
	if contextID == "" {
		contextID = taskID
	}
	return Session{owner, "a2a-inbound/" + Segment(contextID)}
}

// millis cuts a time to what a store keeps.
func millis(t time.Time) time.Time { return task.MillisOf(t).Time() }
