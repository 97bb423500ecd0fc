package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// Aliases are in the table of messages, because most of them are ids of messages.
var (
	qPutAlias = prepared("INSERT INTO messages VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")

	qByAlias = prepared("SELECT " + columns + ` FROM messages m
	JOIN tasks t ON t.key = m.task
	WHERE m.owner = $1 AND m.id = $2 AND t.shown = 0
	AND ($3 = '' OR t.scope = (SELECT id FROM scopes WHERE owner = $1 AND agent = $3))
	ORDER BY m.task DESC LIMIT 1`)
)

// putAlias stores the alias of a change.
func (w *writer) putAlias(ch *change, owner int64) error {
	s := w.conn.start(qPutAlias)
	s.int(owner)
	s.text(ch.alias)
	s.int(int64(ch.next.Key))
	if err := s.done(); err != nil {
		return fmt.Errorf("insert alias: %w", err)
	}
	return nil
}

// ByAlias implements task.Aliases.
func (t Tasks) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
	var found []task.Head
	err := t.db.read(ctx, func(c *conn) error {
		number, err := c.owner(owner)
		if err != nil || number == 0 {
			return err
		}
		s := c.start(qByAlias)
		s.int(number)
		s.text(alias)
		s.text(string(agent))
		found, err = heads(&s)
		return err
	})
	if err == nil && len(found) == 0 {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	return found[0], nil
}
