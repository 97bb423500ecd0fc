package tables

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

// Limits of a page of records. qJournal contains the same numbers.
const (
	maxRecords     = 256
	maxRecordBytes = 1 << 20
)

// PostgreSQL sends all rows of a result, so that the statement bounds their size.
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
			r := task.Record{Number: row.Int() & sqlstore.MaxVersion, Data: row.Blob()}
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
		return eachRow(c, qSidecar, []any{sqlstore.SidecarPlace(kind, key)}, func(row Row) error {
			found = row.Blob()
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sidecar %d of task %d: %w", kind, key, err)
	}
	return found, nil
}

func scanSidecar(row Row, s *task.Sidecar) error {
	s.Data = row.Blob()
	return scanHead(row, &s.Head)
}

// Sidecars implements task.Sidecars.
func (t Tasks) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("sidecars %d: limit %d is not positive", q.Kind, q.Limit)
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
