package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Bounds of a journal.
const (
	// MaxRecord is the largest size of a record in bytes.
	MaxRecord = 16 << 20
	// MaxJournal is the largest size of all records of a task in bytes.
	MaxJournal = 64 << 20
	// MaxRecords is how many records a task may have.
	MaxRecords = 10_000
)

// ErrJournal is returned for a record that the journal has no room for.
var ErrJournal = errors.New("the journal of the task is full")

// Journaler is the ability of a hub to keep a journal for a run. A Run may have it; its
// methods are called by the executor's goroutine.
type Journaler interface {
	// Journal yields the records of the task that are durable, the oldest first.
	Journal(ctx context.Context) iter.Seq2[[]byte, error]
	// Record adds a record to the journal.
	Record(ctx context.Context, record []byte) error
}

// Journal yields what executions of a Resumable agent for the task have recorded, the
// oldest first: that of earlier ones, and that of this one as far as it is durable. A
// journal is for what grows with the work, and a Checkpoint for where it stands. Outside a
// hub, for other agents, and where the store keeps none, there is nothing.
func Journal(ctx context.Context) iter.Seq2[[]byte, error] {
	if hub := journalerOf(ctx); hub != nil {
		return hub.Journal(ctx)
	}
	return func(func([]byte, error) bool) {}
}

// Record adds a record to the journal of the task. It becomes durable in one step with the
// event that the executor yields next, never after that event and never without those
// before it; so does what is recorded after it until then. If that event changes nothing
// of the task, or none follows, it becomes durable by itself a little later; Flush waits
// for it. With an event that ends the task nothing is recorded any more. record must not
// be empty and must not change any more. Where there is no journal it does nothing.
func Record(ctx context.Context, record []byte) error {
	switch {
	case len(record) == 0:
		return errors.New("record is empty")
	case len(record) > MaxRecord:
		return fmt.Errorf("record of %d bytes: %w", len(record), ErrJournal)
	}
	if hub := journalerOf(ctx); hub != nil {
		return hub.Record(ctx, record)
	}
	return nil
}

// journalerOf returns the journal of a run, or nil.
func journalerOf(ctx context.Context) Journaler {
	if c := CallFrom(ctx); c != nil {
		hub, _ := c.run.(Journaler)
		return hub
	}
	return nil
}
