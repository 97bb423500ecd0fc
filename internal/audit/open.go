package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/wake"
)

// Open opens the log in a folder, or creates one, and repairs an unfinished last line left by a
// crash. The caller must close the log. Only one process may have it open.
func Open(o Options) (*Log, error) {
	if o.Level == Off || len(o.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("open audit log: it is off or has no key")
	}
	if o.SegmentSize <= 0 {
		o.SegmentSize = defaultSegment
	}
	l := &Log{
		o: o, wake: wake.New(), note: wake.New(), quit: make(chan struct{}), signed: time.Now(),
		disk: disk{dir: o.Dir, key: o.Key},
	}
	found, err := l.find()
	if err != nil {
		return nil, fmt.Errorf("open audit log %s: %w", o.Dir, err)
	}
	l.begin(found)
	l.wg.Go(l.write)
	return l, nil
}

// found holds the findings of Open for the log.
type found struct {
	// mended is the number of bytes of an unfinished line that were removed; completed is set
	// if only its newline was missing.
	mended    int
	completed bool
	// damage describes the damage; empty if there is none.
	damage string
}

// find determines the position at which the log continues.
func (l *Log) find() (*found, error) {
	if err := os.MkdirAll(l.o.Dir, 0o700); err != nil {
		return nil, err
	}
	f := new(found)
	h, err := readHead(l.o.Dir)
	if err != nil {
		f.damage = err.Error()
	}
	all, err := segments(l.o.Dir)
	if err != nil {
		return nil, err
	}
	for i := len(all) - 1; i >= 0 && l.head.Seq == 0; i-- {
		if err := l.findEnd(&all[i], f); err != nil {
			return nil, err
		}
	}
	l.fresh = l.disk.path == ""
	l.continueFrom(h, len(all) > 0, f)
	return f, atomicfile.SyncFolder(filepath.Dir(l.o.Dir))
}

// findEnd continues the last segment behind its last valid line.
func (l *Log) findEnd(s *segment, f *found) error {
	e, err := readEnd(s.path)
	if err != nil {
		return err
	}
	if len(e.rest) > 0 {
		if err := repair(s.path, e, f); err != nil {
			return err
		}
	}
	switch {
	case e.last == nil && e.size > 0:
		f.damage = "the last line of " + filepath.Base(s.path) + " is not an entry"
		l.head, err = afterDamage(s)
		return err
	case e.last == nil: // the process ended before it wrote the first line
		return os.Remove(s.path)
	default:
		l.head = Mark{e.last.Seq, e.last.Hash}
		l.disk.path, l.disk.size = s.path, e.size
	}
	return nil
}

// afterDamage returns the end of a segment whose last lines are not valid entries; each line
// counts as one entry.
func afterDamage(s *segment) (Mark, error) {
	m := Mark{Seq: s.first - 1}
	err := eachLine(s.path, func(line []byte) error {
		m.Seq++
		if e, err := Parse(line); err == nil {
			m = Mark{e.Seq, e.Hash}
		}
		return nil
	})
	return m, err
}

// repair completes the unfinished line at the end of a segment if only its newline is missing,
// and removes it otherwise.
func repair(path string, e *end, f *found) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if whole, err := Parse(e.rest); err == nil && (e.last == nil || whole.Prev == e.last.Hash) {
		_, err = file.WriteAt([]byte{'\n'}, e.size+int64(len(e.rest)))
		e.last, e.size = whole, e.size+int64(len(e.rest))+1
		f.completed = true
		return errors.Join(err, atomicfile.Sync(file), file.Close())
	}
	f.mended = len(e.rest)
	return errors.Join(file.Truncate(e.size), atomicfile.Sync(file), file.Close())
}

// continueFrom sets the position of the next entry. If the log does not match head.json, it continues
// behind both in a new segment, so that the mismatch can still be found.
func (l *Log) continueFrom(h *head, there bool, f *found) {
	l.id = rand.Text()
	switch {
	case h == nil && !there:
	case h == nil && f.damage == "":
		f.damage = headName + " is missing"
	case h == nil:
	case h.Seq > l.head.Seq:
		f.damage = fmt.Sprintf("entries %d to %d are missing at the end", l.head.Seq+1, h.Seq)
		l.head = Mark{h.Seq, h.Hash}
	case h.Seq == l.head.Seq && h.Hash != l.head.Hash && f.damage == "":
		f.damage = fmt.Sprintf("entry %d is not the one that %s names", h.Seq, headName)
	}
	if h != nil {
		l.id = h.Log
	}
	if f.damage != "" || h != nil && h.Key != KeyText(l.Key()) {
		l.disk.path, l.disk.size, l.fresh = "", 0, true
	}
	l.disk.id = l.id
	l.place = position{l.head.Seq + 1, l.head.Hash}
}

// begin adds the findings to the first batch.
func (l *Log) begin(f *found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newBatchLocked()
	subject := Subject{Kind: "audit", ID: l.id}
	switch {
	case f.completed:
		l.addLocked(&Record{Actor: itself, Action: auditMended, Subject: subject, Reason: "the newline of the last line was missing"})
	case f.mended > 0:
		l.addLocked(&Record{
			Actor: itself, Action: auditMended, Subject: subject, Reason: "the last line was unfinished",
			Detail: []Field{{"bytes", strconv.Itoa(f.mended)}},
		})
	}
	if f.damage != "" {
		l.addLocked(&Record{Actor: itself, Action: auditDamaged, Subject: subject, Outcome: Failed, Reason: f.damage})
		if l.o.Logger != nil {
			l.o.Logger.Error("the audit log was changed outside the hub, or is damaged; check it with: parley audit verify",
				"folder", l.o.Dir, "problem", f.damage)
		}
	}
	l.batch.seal = true
	l.wake.Send()
}
