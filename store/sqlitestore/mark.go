package sqlitestore

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/task"
)

// MarkSuffix ends the name of the file with the mark, as "-wal" ends that of the write-ahead log.
const MarkSuffix = "-mark"

// mark is a claim about a file: the store in it, and commits that are certainly on the disk. It
// is written after the commit and without a sync: a power cut leaves an older, smaller claim.
type mark struct {
	store   string // 16 bytes
	commits int64
	at      task.Millis // of the last of these commits; zero if unknown
}

// markForm has a fixed length below that of a sector, so that a mark is replaced as a whole.
const (
	markForm = "parley-mark 1 %x %020d %020d "
	markSize = 14 + 32 + 1 + 20 + 1 + 20 + 1 + 8 + 1
)

// appendTo appends the text of the mark to b.
func (m *mark) appendTo(b []byte) []byte {
	b = append(b, "parley-mark 1 "...)
	b = append(hex.AppendEncode(b, []byte(m.store)), ' ')
	b = append(appendDigits(b, uint64(m.commits), 20), ' ')
	b = append(appendDigits(b, uint64(m.at), 20), ' ')
	sum := crc32.ChecksumIEEE(b)
	b = hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, '\n')
}

// appendDigits appends n with leading zeros.
func appendDigits(b []byte, n uint64, digits int) []byte {
	from := len(b)
	for range digits {
		b = append(b, '0')
	}
	for i := len(b) - 1; i >= from && n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// parseMark is the inverse of appendTo.
func parseMark(text []byte) (m mark, ok bool) {
	var store []byte
	var at int64
	if len(text) != markSize {
		return m, false
	}
	if n, err := fmt.Sscanf(string(text), markForm, &store, &m.commits, &at); n != 3 || err != nil {
		return m, false
	}
	m.store, m.at = string(store), task.Millis(at)
	return m, string(m.appendTo(nil)) == string(text)
}

// readMark reads the mark of the file at path. The mark is nil if there is none; a mark that
// cannot be read is the zero mark.
func readMark(path string) (*mark, error) {
	text, err := os.ReadFile(path + MarkSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, ok := parseMark(text)
	if !ok {
		return new(mark), nil
	}
	return &m, nil
}

// markFile is the open file of a mark. The zero value writes nothing.
type markFile struct {
	file *os.File
	buf  []byte
}

// openMark writes m as the mark of the file at path, and opens it for more.
func openMark(path string, m *mark) (f markFile, err error) {
	path += MarkSuffix
	if old, err := os.ReadFile(path); err != nil || len(old) != markSize {
		if err := atomicfile.Replace(path, m.appendTo(nil), 0o600); err != nil {
			return f, err
		}
	}
	if f.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return f, fmt.Errorf("open mark %s: %w", filepath.Base(path), err)
	}
	f.write(m)
	return f, nil
}

// write replaces the mark. An error only leaves an older mark, which claims less.
func (f *markFile) write(m *mark) {
	if f.file == nil {
		return
	}
	f.buf = m.appendTo(f.buf[:0])
	_, _ = f.file.WriteAt(f.buf, 0)
}

// close syncs and closes the mark.
func (f *markFile) close() error {
	if f.file == nil {
		return nil
	}
	return errors.Join(atomicfile.Sync(f.file), f.file.Close())
}

// ErrLost is wrapped by a Loss.
var ErrLost = errors.New("data is missing")

// Loss describes data that a file should have. It is an error that wraps ErrLost.
type Loss struct {
	// Reason describes the difference.
	Reason string
	// Known is the number of commits that the file is known to have had, and Found the number
	// of those in it. Known is zero if it is not known.
	Known, Found int64
	// At is the time of the last known commit, zero if it is not known.
	At time.Time
	// Rescued is the path of a copy with all data, made by the process that noticed the loss;
	// empty if there is none.
	Rescued string
}

// Error describes the loss, and names the copy if there is one.
func (l *Loss) Error() string {
	text := ErrLost.Error() + ": " + l.Reason
	if l.Rescued != "" {
		text += "; " + l.Rescued + " is a whole copy"
	}
	return text
}

// Unwrap returns ErrLost.
func (l *Loss) Unwrap() error { return ErrLost }

// loss compares the mark with a file: nil if the file has all that the mark claims. A file
// without data has no identity.
func (m *mark) loss(found mark) *Loss {
	l := &Loss{Known: m.commits, Found: found.commits}
	if m.at > 0 {
		l.At = m.at.Time().UTC()
	}
	last := ""
	if !l.At.IsZero() {
		last = " of " + l.At.Format(time.RFC3339)
	}
	switch {
	case m.store == "" && found.store == "":
		l.Reason = "the file is new or empty, and the mark of an earlier one cannot be read"
	case m.store == "":
		return nil // the file is whole, as far as it can be known
	case found.store == "":
		l.Reason = fmt.Sprintf("the file is missing, empty or older than its mark, which knows %d commits, up to that%s", m.commits, last)
	case m.store != found.store:
		l.Reason = fmt.Sprintf("the file belongs to another data folder: its store is %x, and the mark names %x with %d commits, up to that%s",
			found.store, m.store, m.commits, last)
	case m.commits > found.commits:
		l.Reason = fmt.Sprintf("the file ends with commit %d, and the mark knows commit %d%s: %d commits are missing",
			found.commits, m.commits, last, m.commits-found.commits)
	default:
		return nil
	}
	return l
}
