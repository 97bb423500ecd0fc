package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// Limits of a page of a journal.
const (
	maxPageRecords     = 256
	maxPageRecordBytes = 1 << 20
)

// journalTable holds the journals of a store. The zero journalTable is empty.
type journalTable map[task.Key][]task.Record

func (j *journalTable) put(c *task.Change) {
	key := c.Next.Key
	if c.Forget {
		delete(*j, key)
	}
	if len(c.Journal) == 0 {
		return
	}
	if *j == nil {
		*j = make(journalTable)
	}
	have := (*j)[key]
	for _, r := range c.Journal {
		if n := len(have); n > 0 && have[n-1].Number >= r.Number {
			continue // it exists already
		}
		have = append(have, task.Record{Number: r.Number, Data: bytes.Clone(r.Data)})
	}
	(*j)[key] = have
}

// page returns the records of a task above a number, as many as fit in a page.
func (j journalTable) page(key task.Key, after int64) []task.Record {
	var found []task.Record
	size := 0
	for _, r := range j[key] {
		if r.Number <= after {
			continue
		}
		size += len(r.Data)
		if len(found) == maxPageRecords || len(found) > 0 && size > maxPageRecordBytes {
			break
		}
		found = append(found, task.Record{Number: r.Number, Data: bytes.Clone(r.Data)})
	}
	return found
}

// Journal implements task.Journals.
func (m *Store) Journal(ctx context.Context, key task.Key, after int64) ([]task.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("journal of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.journals.page(key, after), nil
}
