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

// disk is the folder of a log as its writer sees it.
type disk struct {
	dir string
	id  string
	key ed25519.PrivateKey
	// file is the segment that is written, nil if it has to be opened; path is its name,
	// empty if the next batch begins one.
	file *os.File
	path string
	// size is how many bytes of it are on the disk.
	size int64
}

// segmentEnd is how the names of segments end; before it is the number of the first entry.
const segmentEnd = ".jsonl"

// segmentName is the name of the segment that begins with an entry.
func segmentName(first uint64) string { return fmt.Sprintf("%012d%s", first, segmentEnd) }

// store appends a batch. If it returns an error, the segment is as it was before, or will
// be when it is written to the next time.
func (d *disk) store(b *batch) error {
	if err := d.open(b.first); err != nil {
		return err
	}
	_, err := d.file.WriteAt(b.buf, d.size)
	if err == nil {
		err = d.file.Sync()
	}
	if err == nil && b.seal {
		err = writeHead(d, b.last)
	}
	if err != nil {
		return errors.Join(err, d.rollBack())
	}
	d.size += int64(len(b.buf))
	for _, path := range b.remove {
		_ = os.Remove(path) // what stays is removed the next time
	}
	if b.rotate {
		return d.endSegment()
	}
	return nil
}

// open opens the segment that a batch belongs to, which begins with an entry if it is a
// new one.
func (d *disk) open(first uint64) (err error) {
	if d.file != nil {
		return nil
	}
	if d.path != "" {
		if d.file, err = os.OpenFile(d.path, os.O_WRONLY, 0o600); err != nil {
			return err
		}
		// What an earlier try has left behind the last entry goes.
		if err := d.file.Truncate(d.size); err != nil {
			return errors.Join(err, d.rollBack())
		}
		return nil
	}
	path := filepath.Join(d.dir, segmentName(first))
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s is there already", path)
	}
	if d.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return err
	}
	d.path, d.size = path, 0
	return atomicfile.SyncFolder(d.dir)
}

// rollBack gives a segment up that could not be written.
func (d *disk) rollBack() error {
	err := errors.Join(d.file.Truncate(d.size), d.file.Close())
	d.file = nil
	return err
}

// endSegment begins another one with the next batch.
func (d *disk) endSegment() error {
	err := d.file.Close()
	d.file, d.path, d.size = nil, "", 0
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
	// first is the number of its first entry, by its name.
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

// plan says which segments are to go, and where the log begins then.
type plan struct {
	remove []string
	begin  position
}

// planEvery is how often old segments are looked for beside the end of each.
const planEvery = time.Hour

// outdated returns which segments are too old or too much. What cannot be read stays.
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
		next, err := firstEntry(all[1].path) // nothing in the segment before is younger
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
	// last is the last complete line as an entry; nil if it is none.
	last *Entry
	// size is where the last complete line ends, rest what comes after it.
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

// missing reports whether err says that there is no such file.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
