package task

import "context"

// Checkpoints keeps the notes from which a run continues: Change.Checkpoint.
type Checkpoints interface {
	// Checkpoint returns the last checkpoint of a task, or nil if it has none.
	Checkpoint(ctx context.Context, key Key) ([]byte, error)
}

// Lineage says on whose behalf a task was made. Tasks of one lineage have one owner.
type Lineage struct {
	// Parent is the task that asked for it, Root the first one of the line.
	Parent, Root Key
	// Hops is how many tasks are between it and a caller, from 1.
	Hops int
}

// Lineages keeps on behalf of which other task a task was made: Change.Lineage. It is
// deleted with the task that was made.
type Lineages interface {
	// Lineage returns that of a task; the zero Lineage if a caller asked for it.
	Lineage(ctx context.Context, key Key) (Lineage, error)
	// Children returns up to limit heads of tasks that have the parent, with keys above
	// after, in order of their keys.
	Children(ctx context.Context, parent, after Key, limit int) ([]Head, error)
}
