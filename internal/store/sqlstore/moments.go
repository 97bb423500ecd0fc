package sqlstore

import (
	"bytes"
	"encoding/binary"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/varint"
)

// Moments are the moments of one commit in their stored form: a row of the timeline. The zero
// value has none.
type Moments struct {
	// N is the number of moments in Data.
	N    int64
	Data []byte
}

// AddChange adds the change of a task that has stored the entries from first to last.
func (m *Moments) AddChange(key task.Key, first, last int64) {
	m.N++
	m.Data = binary.AppendUvarint(m.Data, uint64(key))
	m.Data = binary.AppendUvarint(m.Data, uint64(first))
	m.Data = binary.AppendUvarint(m.Data, uint64(last))
}

// AddNotice adds a notice, in the place of a task the key zero.
func (m *Moments) AddNotice(notice []byte) {
	m.N++
	m.Data = varint.AppendBytes(append(m.Data, 0), notice)
}

// Reset removes all moments.
func (m *Moments) Reset() { m.N, m.Data = 0, Kept(m.Data) }

// DecodeMoment reads a moment without its position and head. r.Bad is set if it is damaged.
func DecodeMoment(r *varint.Reader) task.Moment {
	m := task.Moment{Key: task.Key(r.Uint())}
	if m.Key == 0 {
		m.Notice = bytes.Clone(r.Bytes())
	} else {
		m.First, m.Last = int64(r.Uint()), int64(r.Uint())
	}
	return m
}
