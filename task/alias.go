package task

import "context"

// Aliases is the ability of a store to find a task by a further name that its caller
// gave it, such as the id of a message. Aliases go with their tasks.
type Aliases interface {
	// ByAlias returns the head of the owner's newest task that a Change gave the alias, of
	// those that are shown to the caller, or ErrNotFound. An empty agent stands for every
	// agent.
	ByAlias(ctx context.Context, owner Owner, agent Agent, alias string) (Head, error)
}
