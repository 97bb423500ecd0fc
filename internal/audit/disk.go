package audit

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// disk is the writer's state of the folder of a log.
type disk struct {
	dir string
	id  string
	key ed25519.PrivateKey
	// file is the current segment, nil if it has to be opened; path is its name, empty if the
	// next batch begins a segment.
	file *os.File
	path string
	// size is the number of its bytes on disk.
	size int64
}

// segmentEnd is the suffix of the names of segments; the number of the first entry precedes it.
const segmentEnd = ".jsonl"

// segmentName returns the name of the segment that begins with an entry.
func segmentName(first uint64) string { return fmt.Sprintf("%012d%s", first, segmentEnd) }

// store appends a batch. After an error, the segment is unchanged, or is restored by the next
// write.
func (d *disk) store(b *batch) error {
	if err := d.open(b.first); err != nil {
		return err
	}
	_, err := d.file.WriteAt(b.buf, d.size)
	if err == nil {
		err = atomicfile.Sync(d.file)
	}
	if err == nil && b.seal {
		err = writeHead(d, b.last)
	}
	if err != nil {
		return errors.Join(err, d.rollBack())
	}
	d.size += int64(len(b.buf))
	for _, path := range b.remove {
		_ = os.Remove(path) // if that fails, the next attempt removes it
	}
	if b.rotate {
		err := d.file.Close()
		d.file, d.path, d.size = nil, "", 0
		return err
	}
	return nil
}

// open opens the segment for a batch; a new segment begins with the entry first.
func (d *disk) open(first uint64) (err error) {
	if d.file != nil {
		return nil
	}
	if d.path != "" {
		if d.file, err = os.OpenFile(d.path, os.O_WRONLY, 0o600); err != nil {
			return err
		}
		// Remove the remains of an earlier attempt behind the last entry.
		if err := d.file.Truncate(d.size); err != nil {
			return errors.Join(err, d.rollBack())
		}
		return nil
	}
	path := filepath.Join(d.dir, segmentName(first))
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s already exists", path)
	}
	if d.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return err
	}
	d.path, d.size = path, 0
	return atomicfile.SyncFolder(d.dir)
}

// rollBack restores and closes a segment after a failed write.
func (d *disk) rollBack() error {
	err := errors.Join(d.file.Truncate(d.size), d.file.Close())
	d.file = nil
	return err
}

func (d *disk) close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}

// segment is a file of a log.
type segment struct {
	path string
	// first is the number of its first entry, according to its name.
	first uint64
}

// segments returns the files of the log in a folder, in order.
func segments(dir string) ([]segment, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []segment
	for _, e := range names {
		digits, ok := strings.CutSuffix(e.Name(), segmentEnd)
		first, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil || e.Name() != segmentName(first) {
			continue
		}
		all = append(all, segment{filepath.Join(dir, e.Name()), first})
	}
	slices.SortFunc(all, func(a, b segment) int { return cmp.Compare(a.first, b.first) })
	return all, nil
}

// plan lists the segments to remove, and the beginning of the log after that.
type plan struct {
	remove []string
	begin  position
}

// planEvery is the interval at which old segments are looked for, in addition to the end of
// each segment.
const planEvery = time.Hour

// outdated returns the segments beyond the limits of age and size. Unreadable segments are
// kept.
func (d *disk) outdated(o *Options, now time.Time) plan {
	var p plan
	if o.KeepAge <= 0 && o.KeepSize <= 0 {
		return p
	}
	all, err := segments(d.dir)
	if err != nil {
		return p
	}
	total := int64(0)
	for _, s := range all {
		total += sizeOf(s.path)
	}
	for len(all) > 1 {
		next, err := firstEntry(all[1].path) // every entry of the segment before is older
		tooMuch := o.KeepSize > 0 && total > o.KeepSize
		if err != nil || !tooMuch && (o.KeepAge <= 0 || now.Sub(next.At) <= o.KeepAge) {
			return p
		}
		p.begin = position{next.Seq, next.Prev}
		p.remove = append(p.remove, all[0].path)
		total -= sizeOf(all[0].path)
		all = all[1:]
	}
	return p
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// firstEntry reads the first line of a segment.
func firstEntry(path string) (*Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, maxLine).ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return Parse(line)
}

// end is the end of a segment.
type end struct {
	// last is the entry on the last complete line; nil if the line is not an entry.
	last *Entry
	// size is the end of the last complete line, and rest the bytes after it.
	size int64
	rest []byte
}

// readEnd reads the end of a segment.
func readEnd(path string) (*end, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-2*maxLine)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return nil, err
	}
	lines := strings.LastIndexByte(string(text), '\n') + 1
	e := &end{size: from + int64(lines), rest: text[lines:]}
	if lines > 0 {
		begin := strings.LastIndexByte(string(text[:lines-1]), '\n') + 1
		if e.last, err = Parse(text[begin:lines]); err != nil {
			e.last = nil
		}
	}
	return e, nil
}

// missing reports whether err means that a file does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
