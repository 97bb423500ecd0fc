package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/parley-a2a/parley/internal/execution"
)

// ErrJournal is returned for a record that exceeds a limit of the journal: 16 MiB in a record,
// 64 MiB or 10,000 records in a journal.
var ErrJournal = errors.New("the journal of the task is full")

// Journal yields the records that executions of an agent with AfterCrash Resume have added for the task, the
// oldest first. It yields those of this execution only once they are durable. A journal
// holds data that grows with the work, and a Checkpoint its current position. Journal yields
// nothing outside a hub, for other agents, and if the store does not support journals.
func (c *Call) Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	if c.outside() {
		return func(func([]byte, error) bool) {}
	}
	return c.run.Journal(ctx)
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
	case len(record) > execution.MaxRecord:
		return fmt.Errorf("record of %d bytes: %w", len(record), ErrJournal)
	}
	if c.outside() {
		return nil
	}
	return c.run.Record(ctx, record)
}
