package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/task"
)

// pendingRecord is a record that belongs to the event with number seq, see
// pendingCheckpoint.
type pendingRecord struct {
	seq int64
	task.Record
}

// pendingRecords are the records of a run that are not durable yet, in order. run.mu guards
// them. A nil pendingRecords is empty.
type pendingRecords struct {
	list []pendingRecord
	// ready is the number of records at the start of list that have their event; the others
	// wait for it.
	ready int
	// last is the number of the newest record of the task, and size the total size of all
	// records.
	last, size int64
}

// upTo returns the records of events up to seq.
func (j *pendingRecords) upTo(seq int64) []task.Record {
	if j == nil {
		return nil
	}
	var found []task.Record
	for _, one := range j.list[:j.ready] {
		if one.seq <= seq {
			found = append(found, one.Record)
		}
	}
	return found
}

// assign assigns the records that wait for their event to the event seq.
func (j *pendingRecords) assign(seq int64) {
	if j == nil {
		return
	}
	for ; j.ready < len(j.list); j.ready++ {
		j.list[j.ready].seq = seq
	}
}

// drop removes the first n records, which are stored.
func (j *pendingRecords) drop(n int) {
	if j == nil || n == 0 {
		return
	}
	n = min(n, j.ready)
	clear(j.list[:n])
	j.list, j.ready = j.list[n:], j.ready-n
}

// pendingUpTo reports whether a record of an event up to seq is not durable.
func (j *pendingRecords) pendingUpTo(seq int64) bool {
	return j != nil && j.ready > 0 && j.list[0].seq <= seq
}

// waitsLocked reports whether a checkpoint or a record waits for its event.
func (r *run) waitsLocked() bool {
	return r.checkpoints != nil && r.checkpoints.next != nil || r.records != nil && r.records.ready < len(r.records.list)
}

// extras holds the data that is stored with a change beside its events.
type extras struct {
	checkpoint pendingCheckpoint
	records    []task.Record
}

func (s *extras) empty() bool { return s.checkpoint.blob == nil && len(s.records) == 0 }

// extrasLocked returns the data that may be stored together with the events so far.
func (r *run) extrasLocked() extras { return extras{r.checkpoints.upTo(r.seq), r.records.upTo(r.seq)} }

// Journal implements agent.Call.Journal.
func (r *run) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !r.resumes() {
			return
		}
		for rec, err := range r.engine.journal(ctx, r.live.snapshot().Key) {
			if !yield(rec.Data, err) {
				return
			}
		}
	}
}

// journal yields the stored records of a task.
func (e *Engine) journal(ctx context.Context, key task.Key) iter.Seq2[task.Record, error] {
	return func(yield func(task.Record, error) bool) {
		for after := int64(0); ; {
			page, err := e.store.Journal(ctx, key, after)
			if err != nil {
				yield(task.Record{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, rec := range page {
				after = rec.Number
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// Record implements agent.Call.Record.
func (r *run) Record(ctx context.Context, record []byte) error {
	if !r.resumes() {
		return nil
	}
	if err := r.openJournal(ctx); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	j := r.records
	if j.last >= execution.MaxRecords || j.size+int64(len(record)) > execution.MaxJournal {
		return fmt.Errorf("record %d, %d bytes after %d: %w", j.last+1, len(record), j.size, agent.ErrJournal)
	}
	j.last++
	j.size += int64(len(record))
	j.list = append(j.list, pendingRecord{Record: task.Record{Number: j.last, Data: record}})
	return nil
}

// openJournal determines the length of the journal.
func (r *run) openJournal(ctx context.Context) error {
	r.mu.Lock()
	there := r.records != nil
	r.mu.Unlock()
	if there {
		return nil
	}
	j := new(pendingRecords)
	if r.attempt > 1 || r.msg.version > 1 {
		for rec, err := range r.engine.journal(ctx, r.live.snapshot().Key) {
			if err != nil {
				return err
			}
			j.last = rec.Number
			j.size += int64(len(rec.Data))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = j
	return nil
}
