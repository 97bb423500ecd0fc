package task

import (
	"context"
	"fmt"
)

var _ Aliases = (*Memory)(nil)

// aliasName is an alias among those of its owner.
type aliasName struct {
	owner Owner
	alias string
}

// aliasBook holds the aliases of a memory store. The zero aliasBook is empty.
type aliasBook struct {
	// named are the keys of the tasks that have an alias.
	named map[aliasName]*order
	// tasks are the aliases of each task that has some.
	tasks map[Key]map[aliasName]bool
}

// put gives the task of a change that was stored its alias.
func (b *aliasBook) put(c *Change) {
	if b.named == nil {
		b.named = make(map[aliasName]*order)
		b.tasks = make(map[Key]map[aliasName]bool)
	}
	key, name := c.Next.Key, aliasName{c.Next.Owner, c.Alias}
	if b.tasks[key][name] {
		return
	}
	if b.tasks[key] == nil {
		b.tasks[key] = make(map[aliasName]bool)
	}
	b.tasks[key][name] = true
	if b.named[name] == nil {
		b.named[name] = new(order)
	}
	b.named[name].insert(Cursor{Key: key})
}

// forget drops the aliases of a task.
func (b *aliasBook) forget(key Key) {
	for name := range b.tasks[key] {
		keys := b.named[name]
		keys.remove(Cursor{Key: key})
		if keys.n == 0 {
			delete(b.named, name)
		}
	}
	delete(b.tasks, key)
}

// ByAlias implements Aliases.
func (m *Memory) ByAlias(ctx context.Context, owner Owner, agent Agent, alias string) (Head, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found Head
	err := ErrNotFound
	if keys := m.aliases.named[aliasName{owner, alias}]; keys != nil {
		merge([]*order{keys}, Cursor{}, func(c Cursor) bool {
			h, broken := m.headLocked(c.Key)
			switch {
			case broken != nil:
				err = broken
			case h.Shown == ToCaller && (agent == "" || h.Agent == agent):
				found, err = h, nil
			default:
				return true
			}
			return false
		})
	}
	if err != nil {
		return Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	return found, nil
}
