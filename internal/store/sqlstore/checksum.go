package sqlstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/parley-a2a/parley/internal/task"
)

// Stored bytes begin with a mark and the CRC-32C of their content. Bytes that an earlier version has
// stored have neither.
const (
	// checked is the mark. No stored form begins with it, nor with a byte that differs by one bit.
	checked = 0xcc
	// checkBytes is the length of the mark and the checksum.
	checkBytes = 1 + crc32.Size
)

// ErrChecksum is returned for stored bytes that have changed. It wraps task.ErrCorrupt.
var ErrChecksum = fmt.Errorf("wrong checksum: %w", task.ErrCorrupt)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BeginChecked appends space for the checksum of the content that the caller appends next.
func BeginChecked(b []byte) []byte { return append(b, checked, 0, 0, 0, 0) }

// EndChecked sets the checksum of b, which begins with the space that BeginChecked has appended.
func EndChecked(b []byte) {
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[checkBytes:], castagnoli))
}

// Checked returns a copy of data with a checksum; nil for nil.
func Checked(data []byte) []byte {
	if data == nil {
		return nil
	}
	b := append(BeginChecked(make([]byte, 0, checkBytes+len(data))), data...)
	EndChecked(b)
	return b
}

// Content returns the content of stored bytes, which it shares. The error is ErrChecksum if they have
// changed.
func Content(b []byte) (content []byte, err error) {
	if len(b) == 0 || b[0] != checked {
		return b, nil
	}
	if len(b) < checkBytes {
		return nil, ErrChecksum
	}
	content = b[checkBytes:]
	if binary.BigEndian.Uint32(b[1:]) != crc32.Checksum(content, castagnoli) {
		err = ErrChecksum
	}
	return content, err
}

// AppendEntries appends a row of the log.
func AppendEntries(b []byte, es []task.Entry) []byte {
	from := len(b)
	b = task.AppendEntries(BeginChecked(b), es)
	EndChecked(b[from:])
	return b
}

// DecodeEntries returns the entries of a row of the log. Their slices alias row.
func DecodeEntries(row []byte) ([]task.Entry, error) {
	content, err := Content(row)
	if err != nil {
		return nil, err
	}
	return task.DecodeEntries(content)
}

// Excerpt returns the entry of a version from a row of entries; the zero Entry if the row does not have it,
// or cannot be read: the reader of the whole task reports that.
func Excerpt(row []byte, version int64) task.Entry {
	all, err := DecodeEntries(row)
	if err != nil || len(all) == 0 {
		return task.Entry{}
	}
	i := version - all[0].Version
	if i < 0 || i >= int64(len(all)) {
		return task.Entry{}
	}
	return all[i]
}
