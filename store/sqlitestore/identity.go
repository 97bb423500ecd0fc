package sqlitestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

var (
	qIdentity    = prepared("SELECT store, commits FROM identity WHERE one = 1")
	qCountCommit = prepared("UPDATE identity SET commits = commits + 1 WHERE one = 1 RETURNING commits")
)

// identity reads the identity of a file.
func identity(c *conn) (mark, error) {
	s := c.start(qIdentity)
	if !s.next() {
		if s.err == nil {
			s.err = fmt.Errorf("%w: it has no identity: restore a backup", ErrDamaged)
		}
		return mark{}, s.err
	}
	m := mark{store: string(s.Blob()), commits: s.Int()}
	s.close()
	return m, s.err
}

// compare compares the file of c with its mark. It returns the mark to
// continue with; nil if there is none. A Loss is an error unless it is accepted.
func (w *writer) compare(c *conn) (*mark, error) {
	claim, err := readMark(w.opts.path)
	if err != nil || claim == nil {
		return nil, err
	}
	loss, err := claim.lossIn(c)
	switch {
	case err != nil:
		return nil, err
	case loss == nil && claim.store == "":
		return nil, nil
	case loss == nil:
		return claim, nil
	case !w.accept:
		return nil, loss
	}
	if w.loss == nil { // otherwise prepare has found it
		w.loss = loss
	}
	return nil, nil
}

// lossIn compares the mark with the file of c. A nil mark knows nothing.
func (m *mark) lossIn(c *conn) (*Loss, error) {
	if m == nil {
		return nil, nil
	}
	// Files of earlier layouts have no identity.
	has, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'identity'")
	if err != nil {
		return nil, err
	}
	var found mark
	if has > 0 {
		if found, err = identity(c); err != nil {
			return nil, err
		}
	}
	return m.loss(found), nil
}

// prepare examines the files at path before SQLite does. SQLite takes an empty file for a new
// one, and removes the write-ahead log beside it; and it applies a log of another file. If accept
// is set, a loss is returned without an error, and the log is kept under another name.
func prepare(path string, accept bool) (*Loss, error) {
	if err := regular(path); err != nil {
		return nil, err
	}
	_, loss, err := filesLoss(path)
	switch {
	case err != nil || loss == nil:
		return nil, err
	case !accept:
		return nil, loss
	}
	return loss, setAside(path + "-wal")
}

// filesLoss reports whether the file at path is missing or empty, and returns the loss that shows before
// SQLite opens it: of the whole file, or of the file without the log beside it.
func filesLoss(path string) (empty bool, loss *Loss, err error) {
	if empty, err = examineHead(path); err != nil {
		return false, nil, err
	}
	if empty {
		loss, err = lossOfAll(path)
	} else {
		loss, err = mixed(path)
	}
	return empty, loss, err
}

// toRead is a file that another process reads, with the loss that is known of it.
type toRead struct {
	*conn
	claim *mark
	loss  *Loss
}

// openKnown opens a file to read all that it has. The error is a Loss if the file is known to have had
// more, unless accept is set, and ErrNoStore if there is no file. The log of another file is left out.
func openKnown(path string, accept bool) (*toRead, error) {
	// The mark is read first: a running hub commits more meanwhile.
	claim, err := readMark(path)
	if err != nil {
		return nil, err
	}
	empty, loss, err := filesLoss(path)
	switch {
	case err != nil:
		return nil, err
	case loss != nil && (empty || !accept):
		return nil, loss
	case empty:
		return nil, ErrNoStore
	}
	open := openToRead
	if loss != nil {
		open = openFrozen
	}
	c, err := open(path, 8<<20)
	if err != nil {
		return nil, err
	}
	return &toRead{c, claim, loss}, nil
}

// lost returns the loss of the file, as of the transaction of c, which may be a connection to a copy.
func (r *toRead) lost(c *conn) (*Loss, error) {
	if r.loss != nil {
		return r.loss, nil
	}
	return r.claim.lossIn(c)
}

// LossNote is the name of the note that a copy has of a loss that was accepted: lines of text.
const LossNote = "store.loss"

// NoteLoss notes a loss in the file at path, which no hub uses, for the hubs that use it later.
func NoteLoss(path string, lines []string) error {
	c, err := openConn(connOptions{path: path, cache: 1 << 20})
	if err != nil {
		return fmt.Errorf("note the loss in %s: %w", path, err)
	}
	note, err := tables.ReadNote(c, LossNote)
	if err == nil {
		if len(note) > 0 {
			lines = append([]string{string(note)}, lines...)
		}
		err = tables.WriteNote(c, LossNote, []byte(strings.Join(lines, "\n")))
	}
	if err == nil {
		err = c.script(forgetAuditHead) // the audit log may lack entries, too
	}
	if err = errors.Join(err, c.close()); err != nil {
		return fmt.Errorf("note the loss in %s: %w", path, err)
	}
	return nil
}

// lossOfAll returns the loss of a file that is missing or empty; nil if it is a new one.
func lossOfAll(path string) (*Loss, error) {
	claim, err := readMark(path)
	if err != nil {
		return nil, err
	}
	var loss *Loss
	if claim != nil {
		loss = claim.loss(mark{})
	} else if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		loss = &Loss{Reason: "the file is missing or empty, but its write-ahead log is there"}
	}
	if _, err := os.Stat(path + rescuedSuffix); err == nil && loss != nil {
		loss.Rescued = path + rescuedSuffix
	}
	return loss, nil
}

// setAside renames a file, if there is one, so that its data can still be examined.
func setAside(path string) error {
	for i := 1; ; i++ {
		to := path + ".old" + strconv.Itoa(i)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		err := os.Rename(path, to)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
}

// examineHead reports whether the file is missing or empty. It returns an error for a file that
// is not one of SQLite, or that was cut off.
func examineHead(path string) (empty bool, err error) {
	if err := openable(path); err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return true, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, err
	case !bytes.HasPrefix(head[:n], []byte(magic)):
		if strings.Trim(string(head[:n]), "\x00") == "" {
			return false, fmt.Errorf("%w: it begins with zeros: restore a backup", ErrDamaged)
		}
		return false, fmt.Errorf("%w, nor of SQLite: choose another path", ErrForeign)
	case n < len(head):
		return false, fmt.Errorf("%w: it has only %d bytes: restore a backup", ErrDamaged, n)
	}
	return false, cutOff(path, f, head)
}

// cutOff returns an error for a file with fewer pages than its head counts. A write-ahead log
// may have the others.
func cutOff(path string, f *os.File, head []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > walHeadSize {
		return nil
	}
	size, pages := int64(binary.BigEndian.Uint16(head[16:])), int64(binary.BigEndian.Uint32(head[28:]))
	current := bytes.Equal(head[24:28], head[92:96]) // otherwise the number of pages is that of an older file
	if have := info.Size(); current && have < size*pages {
		return fmt.Errorf("%w: it has %d of %d bytes: restore a backup", ErrDamaged, have, size*pages)
	}
	return nil
}

// examined handles a finding about the files: it decides whether a log that has become shorter
// has lost commits. A connection that opens the files now reads the last commit from the log.
func (w *writer) examined(s state, err error) error {
	if err != nil || s == intact {
		return err
	}
	c, err := openConn(w.opts)
	if err != nil {
		return fmt.Errorf("%w: the write-ahead log was shortened: %w", ErrReplaced, err)
	}
	switch found, err := identity(c); {
	case err != nil:
		err = fmt.Errorf("%w: the write-ahead log was shortened: %w", ErrReplaced, err)
		return errors.Join(err, c.close())
	case found.commits < w.known.commits:
		err = fmt.Errorf("%w: the write-ahead log was shortened: it ends with commit %d of %d", ErrReplaced, found.commits, w.known.commits)
		return errors.Join(err, c.close())
	}
	return c.close()
}

// rescuedSuffix ends the name of the copy that a process makes when its file was removed.
const rescuedSuffix = ".rescued"

// rescue saves the data of the open files, which are no longer those in the folder: into the
// file if only its log is gone, otherwise into a copy.
func (w *writer) rescue() {
	err := *w.gone.Load()
	defer func() { w.gone.Store(&err) }()
	if w.conn == nil {
		return
	}
	if w.files.inPlace() {
		busy, failed := w.conn.number("PRAGMA wal_checkpoint(FULL)")
		if failed == nil && busy != 0 {
			failed = errors.New("a reader was busy")
		}
		if failed == nil {
			err = fmt.Errorf("%w; all data was moved into the file, restart the hub", err)
			return
		}
	}
	to := w.opts.path + rescuedSuffix
	if failed := w.copyTo(to); failed != nil {
		err = fmt.Errorf("%w; the data could not be saved: %w", err, failed)
		return
	}
	err = fmt.Errorf("%w; all data was saved as %s", err, to)
}

// copyTo copies the open files to a new file.
func (w *writer) copyTo(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	err = w.conn.script("VACUUM INTO '" + strings.ReplaceAll(path, "'", "''") + "'")
	return errors.Join(err, atomicfile.Sync(f), f.Close())
}
