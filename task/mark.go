package task

import "context"

// Marked is a task with its mark.
type Marked struct {
	Head Head
	// Mark is the value of Change.Mark. Only its writer interprets it.
	Mark []byte
}

// Marks keeps records of work to do when a task has ended: Change.Mark.
type Marks interface {
	// Marked returns up to limit marked tasks of every owner, with keys above after, in order
	// of their keys.
	Marked(ctx context.Context, after Key, limit int) ([]Marked, error)
	// Mark returns a marked task, or ErrNotFound.
	Mark(ctx context.Context, key Key) (Marked, error)
	// Unmark deletes a mark, durably. It is no error if there is none.
	Unmark(ctx context.Context, key Key) error
}
