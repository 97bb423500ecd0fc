package task

import "context"

// Marked is a task with its mark.
type Marked struct {
	Head Head
	// Mark is what Change.Mark was; nobody but who made it reads it.
	Mark []byte
}

// Marks remembers that something is to be done about a task when it has ended: Change.Mark.
type Marks interface {
	// Marked returns up to limit marked tasks of every owner, with keys above after, in
	// order of their keys.
	Marked(ctx context.Context, after Key, limit int) ([]Marked, error)
	// Mark returns a marked task, or ErrNotFound.
	Mark(ctx context.Context, key Key) (Marked, error)
	// Unmark forgets a mark, durably. If there is none, nothing happens.
	Unmark(ctx context.Context, key Key) error
}
