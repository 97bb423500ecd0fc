package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var (
	qPutCheckpoint = prepared(`INSERT INTO checkpoints (task, epoch, data) VALUES (?, ?, ?)
	ON CONFLICT (task) DO UPDATE SET epoch = excluded.epoch, data = excluded.data`)

	qCheckpoint = prepared("SELECT data FROM checkpoints WHERE task = ?")

	qPutLineage = prepared("INSERT INTO lineage (task, parent, root, hops, deadline) VALUES (?, ?, ?, ?, 0)")

	qLineage = prepared("SELECT parent, root, hops FROM lineage WHERE task = ?")

	qChildren = prepared("SELECT " + columns + ` FROM lineage l
	CROSS JOIN tasks t ON t.key = l.task
	WHERE l.parent = ?1 AND l.task > ?2 ORDER BY l.task LIMIT ?3`)
)

// ownCheckpoint returns a copy of b that is not nil, because the writer may still use it after
// the caller has returned.
func ownCheckpoint(b []byte) []byte {
	return append(make([]byte, 0, len(b)), b...)
}

func (w *writer) putCheckpoint(ch *change) error {
	s := w.conn.start(qPutCheckpoint)
	s.int(int64(ch.next.Key))
	s.int(ch.next.Run.Epoch)
	s.blob(ch.checkpoint)
	if err := s.done(); err != nil {
		return fmt.Errorf("insert checkpoint: %w", err)
	}
	return nil
}

func (w *writer) putLineage(ch *change) error {
	s := w.conn.start(qPutLineage)
	s.int(int64(ch.next.Key))
	s.int(int64(ch.lineage.Parent))
	s.int(int64(ch.lineage.Root))
	s.int(int64(ch.lineage.Hops))
	if err := s.done(); err != nil {
		return fmt.Errorf("insert lineage: %w", err)
	}
	return nil
}

// Checkpoint implements task.Checkpoints.
func (t Tasks) Checkpoint(ctx context.Context, key task.Key) ([]byte, error) {
	var found []byte
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qCheckpoint)
		s.int(int64(key))
		if s.next() {
			found = s.getBlob()
			s.close()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("checkpoint of task %d: %w", key, err)
	}
	return found, nil
}

// Lineage implements task.Lineages.
func (t Tasks) Lineage(ctx context.Context, key task.Key) (task.Lineage, error) {
	var found task.Lineage
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qLineage)
		s.int(int64(key))
		if s.next() {
			found = task.Lineage{Parent: task.Key(s.getInt()), Root: task.Key(s.getInt()), Hops: int(s.getInt())}
			s.close()
		}
		return s.err
	})
	if err != nil {
		return task.Lineage{}, fmt.Errorf("lineage of task %d: %w", key, err)
	}
	return found, nil
}

// Children implements task.Lineages.
func (t Tasks) Children(ctx context.Context, parent, after task.Key, limit int) ([]task.Head, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("children of task %d: limit %d is not positive", parent, limit)
	}
	var found []task.Head
	err := t.db.read(ctx, func(c *conn) (err error) {
		s := c.start(qChildren)
		s.int(int64(parent))
		s.int(int64(after))
		s.int(int64(limit))
		found, err = heads(&s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("children of task %d: %w", parent, err)
	}
	return found, nil
}
