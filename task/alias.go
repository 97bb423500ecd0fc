package task

import "context"

// Aliases finds a task by a further name that its caller gave it, such as the id of
// a message.
type Aliases interface {
	// ByAlias returns the head of the owner's newest task that a Change gave the alias, of
	// those that are shown to the caller, or ErrNotFound. An empty agent stands for every
	// agent.
	ByAlias(ctx context.Context, owner Owner, agent Agent, alias string) (Head, error)
}
