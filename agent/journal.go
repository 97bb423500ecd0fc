package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Limits of a journal.
const (
	// MaxRecord is the largest size of a record in bytes.
	MaxRecord = 16 << 20
	// MaxJournal is the largest size of all records of a task in bytes.
	MaxJournal = 64 << 20
	// MaxRecords is the largest number of records of a task.
	MaxRecords = 10_000
)

// ErrJournal is returned for a record that exceeds a limit of the journal.
var ErrJournal = errors.New("the journal of the task is full")

// Journaler is the ability of a hub to keep a journal for a run. A Run may have it; its
// methods are called by the executor's goroutine.
type Journaler interface {
	// Journal yields the records of the task that are durable, the oldest first.
	Journal(ctx context.Context) iter.Seq2[[]byte, error]
	// Record adds a record to the journal.
	Record(ctx context.Context, record []byte) error
}

// Journal yields the records that executions of an agent with AfterCrash Resume have added for the task, the
// oldest first. It yields those of this execution only once they are durable. A journal
// holds data that grows with the work, and a Checkpoint its current position. Journal yields
// nothing outside a hub, for other agents, and if the store does not support journals.
func (c *Call) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	if hub := c.journaler(); hub != nil {
		return hub.Journal(ctx)
	}
	return func(func([]byte, error) bool) {}
}

// Record adds a record to the journal of the task. The record becomes durable in one step with
// the next event that the executor yields: never after that event, and never before the records
// added earlier. If that event does not change the task, or no event follows, the record
// becomes durable on its own a little later; Flush waits for it. A record is dropped if the
// next event ends the task. The record must not be empty, and the executor must not change it
// afterwards. Record returns ErrJournal if a limit is exceeded, and does nothing if there is no
// journal.
func (c *Call) Record(ctx context.Context, record []byte) error {
	switch {
	case len(record) == 0:
		return errors.New("record is empty")
	case len(record) > MaxRecord:
		return fmt.Errorf("record of %d bytes: %w", len(record), ErrJournal)
	}
	if hub := c.journaler(); hub != nil {
		return hub.Record(ctx, record)
	}
	return nil
}

// journaler returns the Journaler of the run, or nil.
func (c *Call) journaler() Journaler {
	if c == nil {
		return nil
	}
	hub, _ := c.run.(Journaler)
	return hub
}
