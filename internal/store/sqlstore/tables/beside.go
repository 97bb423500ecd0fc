package tables

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// Limits of a page of records. qJournal contains the same numbers.
const (
	maxRecords     = 256
	maxRecordBytes = 1 << 20
)

// The statement bounds the size of the rows, because PostgreSQL sends all of a result.
var qJournal = prepared(`SELECT place, data FROM /*postgres{*/ (
	SELECT place, data, sum(octet_length(data)) OVER (ORDER BY place) - octet_length(data) AS before FROM (
		SELECT place, data FROM /*}*/ journal WHERE place > $1 AND place <= $2
	/*postgres{*/ ORDER BY place LIMIT 256) few) sized WHERE before < 1048576 /*}*/ ORDER BY place`)

// Journal implements task.Journals.
func (t Tasks) Journal(ctx context.Context, key task.Key, after int64) (found []task.Record, err error) {
	err = t.DB.ReadOf(ctx, key, func(c Conn) error {
		found = nil
		size := 0
		for row, err := range c.Rows(qJournal, sqlstore.Place(key, after), sqlstore.Place(key, sqlstore.MaxVersion)) {
			if err != nil {
				return err
			}
			r := task.Record{Number: row.Int() & sqlstore.MaxVersion}
			if r.Data, err = sqlstore.Content(row.Blob()); err != nil {
				return fmt.Errorf("record %d: %w", r.Number, err)
			}
			size += len(r.Data)
			if len(found) == maxRecords || len(found) > 0 && size > maxRecordBytes {
				break
			}
			found = append(found, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("journal of task %d: %w", key, err)
	}
	return found, nil
}

var (
	qSidecar     = prepared("SELECT data FROM sidecars WHERE place = $1")
	qDropSidecar = prepared("DELETE FROM sidecars WHERE place = $1")

	qSidecars = prepared("SELECT s.data, " + HeadColumns + ` FROM sidecars s
	/*sqlite CROSS*/ JOIN tasks t ON t.key = s.place & 549755813887
	WHERE s.place > $1 AND s.place <= $2 ORDER BY s.place LIMIT $3`)
	qSidecarsOf = prepared("SELECT s.data, " + HeadColumns + ` FROM sidecars s
	/*sqlite CROSS*/ JOIN tasks t ON t.key = s.place & 549755813887
	WHERE s.parent = $4 AND s.parent > 0 AND s.place > $1 AND s.place <= $2 ORDER BY s.place LIMIT $3`)
)

// Sidecar implements task.Sidecars.
func (t Tasks) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) (found []byte, err error) {
	err = t.DB.ReadOf(ctx, key, func(c Conn) error {
		return eachRow(c, qSidecar, []any{sqlstore.SidecarPlace(kind, key)}, func(row Row) (err error) {
			found, err = sqlstore.Content(row.Blob())
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sidecar %d of task %d: %w", kind, key, err)
	}
	return found, nil
}

func scanSidecar(row Row, s *task.Sidecar) error {
	data, changed := sqlstore.Content(row.Blob())
	if err := scanListed(row, &s.Head); err != nil {
		return err
	}
	if s.Data = data; changed != nil {
		s.Data = nil
		row.(TaskRow).Damage(s.Head.ID, fmt.Errorf("sidecar: %w", changed))
	}
	return nil
}

// Sidecars implements task.Sidecars.
func (t Tasks) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("sidecars %d: limit %d must be positive", q.Kind, q.Limit)
	}
	text := qSidecars
	values := []any{sqlstore.SidecarPlace(q.Kind, max(q.After, 0)), sqlstore.SidecarPlace(q.Kind, sqlstore.MaxKey), q.Limit}
	if q.Parent != 0 {
		text, values = qSidecarsOf, append(values, q.Parent)
	}
	found, err := list(ctx, t.DB, scanSidecar, text, values...)
	if err != nil {
		return nil, fmt.Errorf("sidecars %d: %w", q.Kind, err)
	}
	return found, nil
}

// DropSidecar implements task.Sidecars.
func (t Tasks) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	if err := exec(ctx, t.DB, qDropSidecar, sqlstore.SidecarPlace(kind, key)); err != nil {
		return fmt.Errorf("drop sidecar %d of task %d: %w", kind, key, err)
	}
	return nil
}

var (
	qSnapshot = prepared("SELECT version, data FROM snapshots WHERE task = $1")

	qSaveSnapshot = prepared(`INSERT INTO snapshots
	SELECT key, $2, $3 FROM tasks WHERE key = $1 AND version >= $2 /*postgres{*/ FOR KEY SHARE /*}*/
	ON CONFLICT (task) DO UPDATE SET version = excluded.version, data = excluded.data
	WHERE excluded.version > snapshots.version`)
)

// Snapshot implements task.Snapshots.
func (t Tasks) Snapshot(ctx context.Context, key task.Key) (found task.Snapshot, err error) {
	err = t.DB.ReadOf(ctx, key, func(c Conn) error {
		return eachRow(c, qSnapshot, []any{key}, func(row Row) (err error) {
			found.Version = row.Int()
			found.Data, err = sqlstore.Content(row.Blob())
			return err
		})
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
	data := sqlstore.Checked(s.Data)
	if data == nil {
		data = []byte{}
	}
	err := t.DB.WriteLarge(ctx, len(data), func(c Conn) error { return c.Exec(qSaveSnapshot, key, s.Version, data) })
	if err != nil {
		return fmt.Errorf("save snapshot of task %d at version %d: %w", key, s.Version, err)
	}
	return nil
}
