package sqlstore

import (
	"bytes"

	"github.com/parley-a2a/parley/task"
)

// These functions return copies that share no memory with their arguments, because a writer may
// still use them after the caller has returned.

// OwnHook returns a copy of h.
func OwnHook(h *task.Hook) *task.Hook {
	mine := *h
	mine.Secret = bytes.Clone(h.Secret)
	return &mine
}

// OwnRequest returns a copy of r.
func OwnRequest(r *task.Request) *task.Request {
	mine := *r
	mine.Fingerprint = bytes.Clone(r.Fingerprint)
	return &mine
}

// OwnSidecars returns copies of the sidecars.
func OwnSidecars(sidecars *[task.SidecarKinds][]byte) (own [task.SidecarKinds][]byte) {
	for i, data := range sidecars {
		own[i] = bytes.Clone(data)
	}
	return own
}

// OwnRecords returns a copy of records; nil for none.
func OwnRecords(records []task.Record) []task.Record {
	if len(records) == 0 {
		return nil
	}
	own := make([]task.Record, len(records))
	for i, r := range records {
		own[i] = task.Record{Number: r.Number, Data: bytes.Clone(r.Data)}
	}
	return own
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
