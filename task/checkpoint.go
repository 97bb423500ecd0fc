package task

import "context"

// Checkpoints returns the checkpoints from which runs continue: Change.Checkpoint.
type Checkpoints interface {
	// Checkpoint returns the last checkpoint of a task, or nil if it has none.
	Checkpoint(ctx context.Context, key Key) ([]byte, error)
}

// Lineage links a task to the task on whose behalf it was created. Tasks of one lineage have
// the same owner.
type Lineage struct {
	// Parent is the task that created it, Root the first task of the chain.
	Parent, Root Key
	// Hops is the number of delegations between a caller and the task, from 1.
	Hops int
}

// Lineages returns the lineages of tasks: Change.Lineage. A lineage is deleted with its task,
// the child.
type Lineages interface {
	// Lineage returns the lineage of a task; the zero Lineage if a caller created the task.
	Lineage(ctx context.Context, key Key) (Lineage, error)
	// Children returns up to limit heads of tasks that have the parent, with keys above after,
	// in order of their keys.
	Children(ctx context.Context, parent, after Key, limit int) ([]Head, error)
}
