package task

import "context"

// Aliases finds a task by an additional name that its caller gave it, such as the id of a
// message.
type Aliases interface {
	// ByAlias returns the head of the owner's newest task with the alias (Change.Alias), among
	// those that callers may see, or ErrNotFound. An empty agent means every agent.
	ByAlias(ctx context.Context, owner Owner, agent Agent, alias string) (Head, error)
}
