package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var (
	qPutMark = prepared(`INSERT INTO marks (task, mark) VALUES (?, ?)
	ON CONFLICT (task) DO UPDATE SET mark = excluded.mark`)
	qMarked = prepared("SELECT m.mark, " + columns + ` FROM marks m
	CROSS JOIN tasks t ON t.key = m.task WHERE m.task > ?1 ORDER BY m.task LIMIT ?2`)
	qMark = prepared("SELECT m.mark, " + columns + ` FROM marks m
	CROSS JOIN tasks t ON t.key = m.task WHERE m.task = ?1`)
	qUnmark = prepared("DELETE FROM marks WHERE task = ?")
)

func (w *writer) putMark(ch *change) error {
	s := w.conn.start(qPutMark)
	s.int(int64(ch.next.Key))
	s.blob(ch.mark)
	if err := s.done(); err != nil {
		return fmt.Errorf("insert mark: %w", err)
	}
	return nil
}

// marked returns the marked tasks that a query finds.
func (t Tasks) marked(ctx context.Context, q query, bind ...int64) ([]task.Marked, error) {
	var found []task.Marked
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(q)
		for _, n := range bind {
			s.int(n)
		}
		for s.next() {
			one := task.Marked{Mark: s.getBlob()}
			one.Head = getHead(&s)
			found = append(found, one)
		}
		return s.err
	})
	return found, err
}

// Marked implements task.Marks.
func (t Tasks) Marked(ctx context.Context, after task.Key, limit int) ([]task.Marked, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("marked tasks: limit %d is not positive", limit)
	}
	found, err := t.marked(ctx, qMarked, int64(after), int64(limit))
	if err != nil {
		return nil, fmt.Errorf("marked tasks: %w", err)
	}
	return found, nil
}

// Mark implements task.Marks.
func (t Tasks) Mark(ctx context.Context, key task.Key) (task.Marked, error) {
	found, err := t.marked(ctx, qMark, int64(key))
	if err == nil && len(found) == 0 {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Marked{}, fmt.Errorf("mark of task %d: %w", key, err)
	}
	return found[0], nil
}

// Unmark implements task.Marks.
func (t Tasks) Unmark(ctx context.Context, key task.Key) error {
	err := t.db.write(ctx, func(w *writer) error { return w.forKey(qUnmark, int64(key)) })
	if err != nil {
		return fmt.Errorf("unmark task %d: %w", key, err)
	}
	return nil
}
