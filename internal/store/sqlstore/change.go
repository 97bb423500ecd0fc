package sqlstore

import (
	"bytes"

	"github.com/parley-a2a/parley/internal/task"
)

// Change is a task.Change in its stored form. It shares no memory with the caller, which may
// return before it is written.
type Change struct {
	Prev Expected
	Next task.Head
	// Status is set if columns change on which an index depends.
	Status bool
	// Rest encodes the fields of Next that have no column.
	Rest []byte
	Rows []Row
	Data []byte
	// Hook is stored together with the change; nil for none.
	Hook *task.Hook
	// Request is stored together with the change; nil for none.
	Request *task.Request
	// Alias is stored together with the change; empty for none.
	Alias string
	// Sidecars are stored together with the change, in their stored form; nil for none.
	Sidecars [task.SidecarKinds][]byte
	// Journal is added together with the change, in its stored form; Forget empties the journal before.
	Journal []task.Record
	Forget  bool
}

// Expected holds the stored values that a change requires.
type Expected struct {
	Rev, Version int64
	State        task.State
	Shown        task.Visibility
}

// Row is a row of the log: its first version, and the end of its bytes.
type Row struct {
	First int64
	End   int
}

// Set copies c into the empty ch. rest is the encoded rest of the head.
func (ch *Change) Set(c *task.Change, rest []byte) {
	ch.Prev = Expected{c.Prev.Rev, c.Prev.Version, c.Prev.State, c.Prev.Visibility}
	ch.Next, ch.Rest = c.Next, rest
	ch.Status = c.Prev.State != c.Next.State || c.Prev.Visibility != c.Next.Visibility ||
		c.Prev.StatusAt != c.Next.StatusAt || c.Prev.Due() != c.Next.Due()
	for es := c.Entries; len(es) > 0; {
		n := Fit(es)
		ch.Data = AppendEntries(ch.Data, es[:n])
		ch.Rows = append(ch.Rows, Row{First: es[0].Version, End: len(ch.Data)})
		es = es[n:]
	}
	if c.Hook != nil {
		ch.Hook = OwnHook(c.Hook)
	}
	if c.Request != nil {
		mine := *c.Request
		mine.Fingerprint = bytes.Clone(mine.Fingerprint)
		ch.Request = &mine
	}
	ch.Alias = c.Alias
	for i, data := range c.Sidecars {
		ch.Sidecars[i] = Checked(data)
	}
	for _, r := range c.Journal {
		ch.Journal = append(ch.Journal, task.Record{Number: r.Number, Data: Checked(r.Data)})
	}
	ch.Forget = c.Forget
}

// Emptied returns an empty change with the buffers of ch.
func (ch *Change) Emptied() Change {
	return Change{Rows: ch.Rows[:0], Rest: Kept(ch.Rest), Data: Kept(ch.Data)}
}

// Moments adds the entries of the change to m, if it has any.
func (ch *Change) Moments(m *Moments) {
	if len(ch.Rows) > 0 {
		m.AddChange(ch.Next.Key, ch.Rows[0].First, ch.Next.Version)
	}
}

// OwnHook returns a copy of h.
func OwnHook(h *task.Hook) *task.Hook {
	mine := *h
	mine.Secret = bytes.Clone(h.Secret)
	return &mine
}

// BesideBytes returns the size of the sidecars and records of a change in bytes.
func BesideBytes(c *task.Change) (n int) {
	for _, data := range c.Sidecars {
		n += len(data)
	}
	for i := range c.Journal {
		n += len(c.Journal[i].Data)
	}
	return n
}

// maxKept is the largest buffer that is reused.
const maxKept = 64 << 10

// Kept returns an empty buffer for the next use of b, without memory if b is large.
func Kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}
