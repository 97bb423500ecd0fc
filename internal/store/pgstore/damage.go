package pgstore

import (
	"errors"
	"sync"
)

// maxDamages limits the number of damaged objects that are counted.
const maxDamages = 1000

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

	mu   sync.Mutex // guards the field below
	seen map[string]struct{}
}

// Damages returns the number of damaged objects that reads and writes have met since Open, at most
// 1,000.
func (db *DB) Damages() int {
	d := &db.writer.damages
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.seen)
}

// met reports err if it is about damaged data, and returns it.
func (d *damages) met(err error) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	first := d.add(err.Error())
	if d.report != nil {
		d.report(Damage{err, first})
	}
	return err
}

func (d *damages) add(name string) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.seen[name]; known || len(d.seen) >= maxDamages {
		return false
	}
	if d.seen == nil {
		d.seen = make(map[string]struct{})
	}
	d.seen[name] = struct{}{}
	return true
}
