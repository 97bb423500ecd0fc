package sqlitestore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var (
	qSnapshot = prepared("SELECT version, data FROM snapshots WHERE task = ?")

	qSaveSnapshot = prepared(`INSERT INTO snapshots
	SELECT key, ?2, ?3 FROM tasks WHERE key = ?1 AND version >= ?2
	ON CONFLICT (task) DO UPDATE SET version = excluded.version, data = excluded.data
	WHERE excluded.version > version`)
)

// Snapshot implements task.Snapshots.
func (t Tasks) Snapshot(ctx context.Context, key task.Key) (task.Snapshot, error) {
	var found task.Snapshot
	err := t.db.readOf(ctx, subject{key: key}, func(c *conn) error {
		s := c.start(qSnapshot)
		s.int(int64(key))
		if s.next() {
			found = task.Snapshot{Version: s.getInt(), Data: s.getBlob()}
			s.close()
		}
		return s.err
	})
	if err != nil {
		return task.Snapshot{}, fmt.Errorf("snapshot of task %d: %w", key, err)
	}
	return found, nil
}

// SaveSnapshot implements task.Snapshots. It keeps s unless a snapshot as new exists, or the
// task was deleted.
func (t Tasks) SaveSnapshot(ctx context.Context, key task.Key, s task.Snapshot) error {
	// The writer may still use the data after the caller has returned.
	data := bytes.Clone(s.Data)
	if data == nil {
		data = []byte{}
	}
	err := t.db.writeLarge(ctx, len(data), func(w *writer) error {
		st := w.conn.start(qSaveSnapshot)
		st.int(int64(key))
		st.int(s.Version)
		st.blob(data)
		return st.done()
	})
	if err != nil {
		return fmt.Errorf("save snapshot of task %d at version %d: %w", key, s.Version, err)
	}
	return nil
}
