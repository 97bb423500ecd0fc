package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

var (
	qAddRecord = prepared("INSERT INTO journal (place, data) VALUES ($1, $2) ON CONFLICT (place) DO NOTHING")
	qJournal   = prepared(`SELECT place, data FROM (
		SELECT place, data, sum(octet_length(data)) OVER (ORDER BY place) - octet_length(data) AS before FROM (
			SELECT place, data FROM journal WHERE place > $1 AND place <= $2 ORDER BY place LIMIT $3) few) sized
	WHERE before < $4 ORDER BY place`)
	qDropJournal = prepared("DELETE FROM journal WHERE place >= $1 AND place <= $2")
)

// putJournal applies a change to the journal of its task.
func (w *writer) putJournal(ch *change) error {
	if ch.forget {
		if err := w.dropJournal(int64(ch.next.Key)); err != nil {
			return err
		}
	}
	for i := range ch.journal {
		s := w.conn.start(qAddRecord)
		s.int(sqlstore.Place(ch.next.Key, ch.journal[i].Number))
		s.blob(ch.journal[i].Data)
		if err := s.done(); err != nil {
			return fmt.Errorf("insert record: %w", err)
		}
	}
	return nil
}

func (w *writer) dropJournal(key int64) error {
	s := w.conn.start(qDropJournal)
	bindPlaces(&s, key)
	if err := s.done(); err != nil {
		return fmt.Errorf("delete journal of task %d: %w", key, err)
	}
	return nil
}

// Journal implements task.Journals.
func (t Tasks) Journal(ctx context.Context, key task.Key, after int64) ([]task.Record, error) {
	var found []task.Record
	err := t.db.read(ctx, func(c *conn) error {
		found = nil
		s := c.start(qJournal)
		s.int(sqlstore.Place(key, after))
		s.int(sqlstore.Place(key, sqlstore.MaxVersion))
		s.int(maxPageEntries)
		s.int(maxPageBytes)
		for size := 0; s.next(); {
			r := task.Record{Number: s.getInt() & sqlstore.MaxVersion, Data: s.getBlob()}
			size += len(r.Data)
			if len(found) == maxPageEntries || len(found) > 0 && size > maxPageBytes {
				break
			}
			found = append(found, r)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("journal of task %d: %w", key, err)
	}
	return found, nil
}
