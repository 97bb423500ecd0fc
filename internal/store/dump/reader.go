package dump

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/parley-a2a/parley/internal/varint"
)

// Errors of a Reader. Callers test for them with errors.Is.
var (
	// ErrFormat is returned for a file of another kind, or of a newer version.
	ErrFormat = errors.New("the file is not an export that this version can read")
	// ErrDamaged is returned for a file that was cut off or changed.
	ErrDamaged = errors.New("the export is damaged")
)

// maxFrame limits a frame: one row may have an append of 256 MiB.
const maxFrame = 1 << 30

// Section is a table or a file.
type Section struct {
	Table *Table // nil for a file
	File  FileHead
}

// Reader reads a file.
type Reader struct {
	// Header is the first frame.
	Header Header

	in      *bufio.Reader
	at      int64 // the position of the next frame
	sum     hash.Hash
	end     End
	known   []Table // those that can still come
	section Section
	rows    varint.Reader
	left    int64 // of the file
	// next is a frame that was read too early.
	next *frame
}

type frame struct {
	kind    kind
	content []byte
	at      int64
}

// NewReader reads the beginning of a file.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{in: bufio.NewReaderSize(r, frameSize), sum: sha256.New(), known: Tables(), end: End{Rows: make(map[string]int64)}}
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(d.in, begin); err != nil || string(begin) != magic {
		return nil, ErrFormat
	}
	d.at = int64(len(magic))
	d.sum.Write(begin)
	f, err := d.frame()
	if err != nil {
		return nil, err
	}
	if err := d.parse(f, kindHeader, &d.Header); err != nil {
		return nil, err
	}
	if v := d.Header.Version; v < 1 || v > Version {
		return nil, fmt.Errorf("%w: its format has version %d, and this parley reads %d: use parley %s", ErrFormat, v, Version, d.Header.Parley)
	}
	return d, nil
}

// place describes the section that is being read.
func (r *Reader) place() string {
	switch {
	case r.section.Table != nil:
		return fmt.Sprintf("after row %d of table %s", r.end.Rows[r.section.Table.Name], r.section.Table.Name)
	case r.section.File.Name != "":
		return "in file " + r.section.File.Name
	}
	return "in its beginning"
}

func (r *Reader) damaged(at int64, reason string) error {
	return fmt.Errorf("%w at byte %d, %s: %s: use another export", ErrDamaged, at, r.place(), reason)
}

// frame reads the next frame.
func (r *Reader) frame() (*frame, error) {
	if f := r.next; f != nil {
		r.next = nil
		return f, nil
	}
	at := r.at
	head, err := r.in.Peek(binary.MaxVarintLen64)
	size, n := binary.Uvarint(head)
	switch {
	case n == 0:
		return nil, r.broken(at, err)
	case n < 0 || size > maxFrame:
		return nil, r.broken(at, nil)
	}
	if _, err := r.in.Discard(n); err != nil {
		return nil, r.broken(at, err)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r.in, int64(size)+5); err != nil {
		return nil, r.broken(at, err)
	}
	content, crc := b.Bytes()[:size+1], b.Bytes()[size+1:]
	if crc32.Checksum(content, castagnoli) != binary.BigEndian.Uint32(crc) {
		return nil, r.damaged(at, "its checksum does not match")
	}
	f := &frame{kind(content[0]), content[1:], at}
	r.at += int64(n + b.Len())
	if f.kind != kindEnd {
		r.sum.Write(binary.AppendUvarint(nil, size))
		r.sum.Write(b.Bytes())
	}
	return f, nil
}

// broken describes a frame that cannot be read.
func (r *Reader) broken(at int64, err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return r.damaged(at, "it is cut off there")
	case err != nil:
		return fmt.Errorf("read at byte %d: %w", at, err)
	}
	return r.damaged(at, "its length is not possible")
}

func (r *Reader) parse(f *frame, want kind, v any) error {
	if f.kind != want {
		return r.damaged(f.at, fmt.Sprintf("frame %q is out of place", f.kind))
	}
	if err := json.Unmarshal(f.content, v); err != nil {
		return r.damaged(f.at, err.Error())
	}
	return nil
}

// Next begins the next section. It returns io.EOF at the end of a file that is complete.
func (r *Reader) Next() (*Section, error) {
	if len(r.rows.Left) > 0 || r.left > 0 {
		return nil, errors.New("the section was not read to its end")
	}
	f, err := r.frame()
	if err != nil {
		return nil, err
	}
	switch f.kind {
	case kindTable:
		return r.beginTable(f)
	case kindFile:
		r.section = Section{}
		if err := r.parse(f, kindFile, &r.section.File); err != nil {
			return nil, err
		}
		r.left = r.section.File.Size
		r.end.Files++
		return &r.section, nil
	case kindEnd:
		return nil, r.finish(f)
	}
	return nil, r.damaged(f.at, fmt.Sprintf("frame %q is out of place", f.kind))
}

func (r *Reader) beginTable(f *frame) (*Section, error) {
	var t Table
	if err := r.parse(f, kindTable, &t); err != nil {
		return nil, err
	}
	t.rename()
	i := slices.IndexFunc(r.known, func(k Table) bool { return k.Name == t.Name })
	if i < 0 || !slices.Equal(r.known[i].Columns, t.Columns) {
		return nil, fmt.Errorf("%w: table %s at byte %d is unknown, a duplicate, or has other columns", ErrFormat, t.Name, f.at)
	}
	r.known = slices.Delete(r.known, i, i+1)
	r.end.Rows[t.Name] = 0
	r.section, r.rows = Section{Table: &t}, varint.Reader{}
	return &r.section, nil
}

// finish compares the end with all that was read.
func (r *Reader) finish(f *frame) error {
	var end End
	if err := r.parse(f, kindEnd, &end); err != nil {
		return err
	}
	r.end.SHA256 = hex.EncodeToString(r.sum.Sum(nil))
	if end.SHA256 != r.end.SHA256 || end.Files != r.end.Files || !maps.Equal(end.Rows, r.end.Rows) || len(r.known) > 0 {
		return r.damaged(f.at, "a part of it is missing or was changed")
	}
	if _, err := r.in.ReadByte(); err != io.EOF {
		return r.damaged(r.at, "more bytes follow its end")
	}
	return io.EOF
}

// Row reads the next row of the table into row, which has a value for each column. It reports
// false after the last one. The bytes are valid until the next call.
func (r *Reader) Row(row []Value) (bool, error) {
	if len(r.rows.Left) == 0 {
		f, err := r.frame()
		if err != nil {
			return false, err
		}
		if f.kind != kindRows {
			r.next = f
			return false, nil
		}
		r.rows = varint.Reader{Left: f.content}
	}
	decodeRow(r.section.Table, &r.rows, row)
	if r.rows.Bad {
		return false, r.damaged(r.at, "a row before it cannot be read")
	}
	r.end.Rows[r.section.Table.Name]++
	return true, nil
}

// Read reads bytes of the file. It implements io.Reader.
func (r *Reader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if len(r.rows.Left) == 0 {
		f, err := r.frame()
		if err != nil {
			return 0, err
		}
		if f.kind != kindPiece || len(f.content) == 0 || int64(len(f.content)) > r.left {
			return 0, r.damaged(f.at, "the file has another size")
		}
		r.rows.Left = f.content
	}
	n := copy(b, r.rows.Left)
	r.rows.Left = r.rows.Left[n:]
	r.left -= int64(n)
	return n, nil
}

// End returns the counts after Next has returned io.EOF.
func (r *Reader) End() *End { return &r.end }
