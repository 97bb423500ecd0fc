package dump

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/varint"
)

// Version is the version of the format that a Writer writes.
const Version = 2

const magic = "PARLEYEX"

// frameSize is the size at which rows and pieces become a frame.
const frameSize = 256 << 10

// kind is the kind of a frame.
type kind byte

const (
	kindHeader kind = 'H'
	kindTable  kind = 'T'
	kindRows   kind = 'R'
	kindFile   kind = 'F'
	kindPiece  kind = 'D'
	kindEnd    kind = 'E'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the first frame of a file.
type Header struct {
	// Version is set by the Writer.
	Version int `json:"version"`
	// Parley is the version of the program, and Store the kind of the store: sqlite or postgres.
	Parley string    `json:"parley"`
	Store  string    `json:"store"`
	Made   time.Time `json:"made"`
	// MasterCheck is a text sealed with the master key of the hub; nil if no key exists.
	MasterCheck []byte `json:"masterCheck,omitempty"`
}

// FileHead describes a file.
type FileHead struct {
	// Name is the path in the folder of parts, with slashes.
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// End is the last frame of a file.
type End struct {
	// Rows counts the rows of each table.
	Rows map[string]int64 `json:"rows"`
	// Files counts the files.
	Files int64 `json:"files"`
	// SHA256 is that of all bytes before the frame.
	SHA256 string `json:"sha256"`
}

// Value is a value of a row: Int of a number, Bytes of others; nil Bytes are NULL.
type Value struct {
	Int   int64
	Bytes []byte
}

// Writer writes a file. Close completes it.
type Writer struct {
	out   *bufio.Writer
	sum   hash.Hash
	table *Table
	rows  []byte
	buf   []byte
	end   End
}

// NewWriter writes the beginning of a file to w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = Version
	sum := sha256.New()
	d := &Writer{out: bufio.NewWriterSize(io.MultiWriter(w, sum), frameSize), sum: sum, end: End{Rows: make(map[string]int64)}}
	if _, err := d.out.WriteString(magic); err != nil {
		return nil, err
	}
	return d, d.json(kindHeader, h)
}

func (w *Writer) json(k kind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.frame(k, text)
}

func (w *Writer) frame(k kind, content []byte) error {
	b := append(binary.AppendUvarint(w.buf[:0], uint64(len(content))), byte(k))
	w.buf = b
	crc := crc32.Update(crc32.Checksum([]byte{byte(k)}, castagnoli), castagnoli, content)
	_, err := w.out.Write(b)
	if err == nil {
		_, err = w.out.Write(content)
	}
	if err == nil {
		_, err = w.out.Write(binary.BigEndian.AppendUint32(nil, crc))
	}
	return err
}

// Table begins a table.
func (w *Writer) Table(t *Table) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.table = t
	w.end.Rows[t.Name] = 0
	return w.json(kindTable, t)
}

// Row adds a row to the table. The Writer does not keep the values.
func (w *Writer) Row(row []Value) error {
	for i, c := range w.table.Columns {
		switch v := row[i]; {
		case c.Kind == Int:
			w.rows = binary.AppendVarint(w.rows, v.Int)
		case v.Bytes == nil:
			w.rows = append(w.rows, 0)
		default:
			w.rows = append(binary.AppendUvarint(w.rows, uint64(len(v.Bytes))+1), v.Bytes...)
		}
	}
	w.end.Rows[w.table.Name]++
	if len(w.rows) < frameSize {
		return nil
	}
	return w.flush()
}

// flush writes the rows that wait.
func (w *Writer) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	err := w.frame(kindRows, w.rows)
	w.rows = w.rows[:0]
	if cap(w.rows) > 4*frameSize {
		w.rows = nil
	}
	return err
}

// File writes a file of the size in its head.
func (w *Writer) File(h FileHead, content io.Reader) error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.json(kindFile, h); err != nil {
		return err
	}
	piece := make([]byte, min(frameSize, h.Size))
	for left := h.Size; left > 0; {
		n, err := io.ReadFull(content, piece[:min(left, int64(len(piece)))])
		if err != nil {
			return fmt.Errorf("file %s: %w", h.Name, err)
		}
		if err := w.frame(kindPiece, piece[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	w.end.Files++
	return nil
}

// Close writes the end, and returns it.
func (w *Writer) Close() (*End, error) {
	if err := errors.Join(w.flush(), w.out.Flush()); err != nil {
		return nil, err
	}
	w.end.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return &w.end, errors.Join(w.json(kindEnd, &w.end), w.out.Flush())
}

// decodeRow reads a row into row, whose bytes alias r.
func decodeRow(t *Table, r *varint.Reader, row []Value) {
	for i, c := range t.Columns {
		if c.Kind == Int {
			row[i] = Value{Int: r.Int()}
			continue
		}
		n := r.Uint()
		if n == 0 || r.Bad || n-1 > uint64(len(r.Left)) {
			r.Bad = r.Bad || n != 0
			row[i] = Value{}
			continue
		}
		row[i] = Value{Bytes: slices.Clip(r.Left[:n-1])}
		r.Left = r.Left[n-1:]
	}
}
