package pgstore

import (
	"errors"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// Damage describes a read or write that has met damaged data.
type Damage struct {
	// Err is the error that the caller gets.
	Err error
	// First is set if it is the first damage with this error. After 1,000 of them it is never set.
	First bool
}

// damages remembers the damaged objects that were met, by their errors.
type damages struct {
	report func(Damage) // nil if not configured
	seen   sqlstore.Damages
}

// Damages returns the number of damaged objects that reads and writes have met since Open, at most
// 1,000.
func (db *DB) Damages() int { return db.writer.damages.seen.Len() }

// met reports err if it is about damaged data, and returns it.
func (d *damages) met(err error) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	first := d.seen.Add(err.Error())
	if d.report != nil {
		d.report(Damage{err, first})
	}
	return err
}
