package sqlstore

import "sync"

// MaxDamages limits the number of damaged objects that a store counts.
const MaxDamages = 1000

// Damages remembers the damaged objects that a store has met, by their names. The zero value is
// ready. Methods are safe for concurrent use.
type Damages struct {
	mu   sync.Mutex // guards the field below
	seen map[string]struct{}
}

// Add reports whether the object is a new one. After MaxDamages of them it never is.
func (d *Damages) Add(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.seen[name]; known || len(d.seen) >= MaxDamages {
		return false
	}
	if d.seen == nil {
		d.seen = make(map[string]struct{})
	}
	d.seen[name] = struct{}{}
	return true
}

// Len returns the number of objects, at most MaxDamages.
func (d *Damages) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.seen)
}
