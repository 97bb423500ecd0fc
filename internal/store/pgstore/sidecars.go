package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

var (
	qPutSidecar = prepared(`INSERT INTO sidecars (place, parent, data) VALUES ($1, $2, $3)
	ON CONFLICT (place) DO UPDATE SET data = excluded.data`)
	qSidecar     = prepared("SELECT data FROM sidecars WHERE place = $1")
	qDropSidecar = prepared("DELETE FROM sidecars WHERE place = $1")

	qSidecars = prepared("SELECT s.data, " + columns + ` FROM sidecars s
	JOIN tasks t ON t.key = s.place & 549755813887
	WHERE s.place > $1 AND s.place <= $2 ORDER BY s.place LIMIT $3`)
	qSidecarsOf = prepared("SELECT s.data, " + columns + ` FROM sidecars s
	JOIN tasks t ON t.key = s.place & 549755813887
	WHERE s.parent = $4 AND s.parent > 0 AND s.place > $1 AND s.place <= $2 ORDER BY s.place LIMIT $3`)
)

func (w *writer) putSidecars(ch *change) error {
	for i, data := range ch.sidecars {
		if data == nil {
			continue
		}
		kind := task.SidecarKind(i)
		s := w.conn.start(qPutSidecar)
		s.int(sqlstore.SidecarPlace(kind, ch.next.Key))
		s.int(int64(kind.Parent(data)))
		s.blob(data)
		if err := s.done(); err != nil {
			return fmt.Errorf("insert sidecar %d: %w", kind, err)
		}
	}
	return nil
}

// dropSidecars deletes the sidecars of a task.
func (w *writer) dropSidecars(key int64) error {
	for kind := range task.SidecarKinds {
		if err := w.forKey(qDropSidecar, sqlstore.SidecarPlace(kind, task.Key(key))); err != nil {
			return fmt.Errorf("delete sidecar %d: %w", kind, err)
		}
	}
	return nil
}

// Sidecar implements task.Sidecars.
func (t Tasks) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) ([]byte, error) {
	var found []byte
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qSidecar)
		s.int(sqlstore.SidecarPlace(kind, key))
		if s.next() {
			found = s.getBlob()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("sidecar %d of task %d: %w", kind, key, err)
	}
	return found, nil
}

// Sidecars implements task.Sidecars.
func (t Tasks) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("sidecars %d: limit %d is not positive", q.Kind, q.Limit)
	}
	var found []task.Sidecar
	err := t.db.read(ctx, func(c *conn) error {
		found = nil
		text := qSidecars
		if q.Parent != 0 {
			text = qSidecarsOf
		}
		s := c.start(text)
		s.int(sqlstore.SidecarPlace(q.Kind, max(q.After, 0)))
		s.int(sqlstore.SidecarPlace(q.Kind, sqlstore.MaxKey))
		s.int(int64(q.Limit))
		if q.Parent != 0 {
			s.int(int64(q.Parent))
		}
		for s.next() {
			one := task.Sidecar{Data: s.getBlob()}
			one.Head = getHead(&s)
			found = append(found, one)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("sidecars %d: %w", q.Kind, err)
	}
	return found, nil
}

// DropSidecar implements task.Sidecars.
func (t Tasks) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	err := t.db.write(ctx, func(w *writer) error { return w.forKey(qDropSidecar, sqlstore.SidecarPlace(kind, key)) })
	if err != nil {
		return fmt.Errorf("drop sidecar %d of task %d: %w", kind, key, err)
	}
	return nil
}
