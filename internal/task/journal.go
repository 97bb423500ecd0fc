package task

import "context"

// Record is an item of a task's journal, written by a run.
type Record struct {
	// Number counts the records of a task, from 1.
	Number int64
	Data   []byte
}

// Journals keeps a journal for each task, a list of records to which runs append:
// Change.Journal.
type Journals interface {
	// Journal returns the records of a task with numbers above after, in order: as many as fit
	// in a page (at most 256 records or about 1 MiB, at least one). An empty result means that
	// there are no more.
	Journal(ctx context.Context, key Key, after int64) ([]Record, error)
}
