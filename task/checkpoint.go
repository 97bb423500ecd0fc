package task

import "context"

// Checkpoints is the ability of a store to keep what a run has noted to go on from:
// Change.Checkpoint. A checkpoint goes with its task.
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

// Lineages is the ability of a store to keep who asked for a task on behalf of which
// other task: Change.Lineage. It goes with the task that was asked for.
type Lineages interface {
	// Lineage returns that of a task; the zero Lineage if a caller asked for it.
	Lineage(ctx context.Context, key Key) (Lineage, error)
	// Children returns up to limit heads of tasks that have the parent, with keys above
	// after, in order of their keys.
	Children(ctx context.Context, parent, after Key, limit int) ([]Head, error)
}
