package memstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// aliasName is an alias within its owner.
type aliasName struct {
	owner task.Owner
	alias string
}

// aliasTable holds the aliases of a memory store. The zero aliasTable is empty.
type aliasTable struct {
	// named maps aliases to the keys of their tasks.
	named map[aliasName]*sortedSet
	// tasks maps each task with aliases to these.
	tasks map[task.Key]map[aliasName]bool
}

// put adds the alias of a stored change to its task.
func (b *aliasTable) put(c *task.Change) {
	if b.named == nil {
		b.named = make(map[aliasName]*sortedSet)
		b.tasks = make(map[task.Key]map[aliasName]bool)
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
		b.named[name] = new(sortedSet)
	}
	b.named[name].insert(task.Cursor{Key: key})
}

// forget deletes the aliases of a task.
func (b *aliasTable) forget(key task.Key) {
	for name := range b.tasks[key] {
		keys := b.named[name]
		keys.remove(task.Cursor{Key: key})
		if keys.n == 0 {
			delete(b.named, name)
		}
	}
	delete(b.tasks, key)
}

// ByAlias implements task.Aliases.
func (m *Store) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
	if err := ctx.Err(); err != nil {
		return task.Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found task.Head
	err := task.ErrNotFound
	if keys := m.aliases.named[aliasName{owner, alias}]; keys != nil {
		merge([]*sortedSet{keys}, task.Cursor{}, func(c task.Cursor) bool {
			h, broken := m.headLocked(c.Key)
			switch {
			case broken != nil:
				err = broken
			case h.Visibility == task.Visible && (agent == "" || h.Agent == agent):
				found, err = h, nil
			default:
				return true
			}
			return false
		})
	}
	if err != nil {
		return task.Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	return found, nil
}
