package task

import (
	"bytes"
	"context"
	"fmt"
)

// Record is what a run has noted in the journal of its task.
type Record struct {
	// Number counts the records of a task, from 1.
	Number int64
	Data   []byte
}

// Journals is the ability of a store to keep a journal for each task, a list of records
// to which runs add: Change.Journal. A journal goes with its task.
type Journals interface {
	// Journal returns the records of a task with numbers above after, in order: as many as
	// fit in a page (at most 256 records or about 1 MiB, at least one). None means that
	// there are no more.
	Journal(ctx context.Context, key Key, after int64) ([]Record, error)
}

var _ Journals = (*Memory)(nil)

// Limits of a page of a journal.
const (
	maxPageRecords     = 256
	maxPageRecordBytes = 1 << 20
)

// journals are those of a memory store. The zero journals are empty.
type journals map[Key][]Record

func (j *journals) put(c *Change) {
	key := c.Next.Key
	if c.Forget {
		delete(*j, key)
	}
	if len(c.Journal) == 0 {
		return
	}
	if *j == nil {
		*j = make(journals)
	}
	have := (*j)[key]
	for _, r := range c.Journal {
		if n := len(have); n > 0 && have[n-1].Number >= r.Number {
			continue // it is there
		}
		have = append(have, Record{r.Number, bytes.Clone(r.Data)})
	}
	(*j)[key] = have
}

// page returns the records of a task above a number, as many as fit in a page.
func (j journals) page(key Key, after int64) []Record {
	var found []Record
	size := 0
	for _, r := range j[key] {
		if r.Number <= after {
			continue
		}
		size += len(r.Data)
		if len(found) == maxPageRecords || len(found) > 0 && size > maxPageRecordBytes {
			break
		}
		found = append(found, Record{r.Number, bytes.Clone(r.Data)})
	}
	return found
}

// Journal implements Journals.
func (m *Memory) Journal(ctx context.Context, key Key, after int64) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("journal of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.journals.page(key, after), nil
}
