package sqlitestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

// Salvaged is the result of Salvage.
type Salvaged struct {
	// Tables counts the rows that were saved, in the order of their names.
	Tables []SalvagedTable
	// Tasks and Entries count the tasks that were saved, and the entries of their logs.
	Tasks, Entries int64
	// Cut are the tasks of which only the beginning of the log was saved. They have failed.
	Cut []a2a.TaskID
	// Lost is the number of tasks of which something was found, but too little.
	Lost int64
	// Renamed is the number of owners, and of agents of an owner, whose names are lost. They are
	// called lost- and a number now, and only administrators find their tasks.
	Renamed int64
	// Source is the file that was read. It is the copy that a running hub has made if the file
	// itself is gone.
	Source string
	// LogPages is the number of pages that came from the write-ahead log, and BadLogPages that
	// of damaged ones in it.
	LogPages, BadLogPages int

	ends []task.Moment // of the tasks that were cut
}

// SalvagedTable is a table of a salvaged file.
type SalvagedTable struct {
	Name string
	// Rows is the number of rows that were saved, and Refused that of rows that were read but are
	// not possible. Gaps is the number of places at which rows could not be read.
	Rows, Refused, Gaps int64
}

// Salvage copies the readable data of the file at from into a new file at to, which must not
// exist. It changes neither from nor its write-ahead log, and needs space for two copies. A task
// whose log is damaged keeps its beginning and fails; one without a beginning is lost. Counters
// and indexes are made anew; the timeline has another ID. The error is not about damage, but about the new file.
func Salvage(ctx context.Context, from, to string) (r *Salvaged, err error) {
	r = &Salvaged{Source: from}
	private := to + ".salvage"
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if gone := os.Remove(private + suffix); !errors.Is(gone, os.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	if err := r.copySource(private); err != nil {
		return r, fmt.Errorf("salvage %s: %w", from, err)
	}
	db, err := Open(to, Options{})
	if err != nil {
		return r, fmt.Errorf("salvage into %s: %w", to, err)
	}
	if err = r.fill(ctx, db, private); err != nil {
		err = fmt.Errorf("salvage into %s: %w", to, err)
	}
	return r, errors.Join(err, db.Close())
}

// copySource copies the file and its log into a private file.
func (r *Salvaged) copySource(private string) error {
	if err := regular(r.Source); err != nil && !errors.Is(err, ErrForeign) {
		return err
	}
	if info, err := os.Stat(r.Source); err != nil || info.Size() == 0 {
		if info, err := os.Stat(r.Source + rescuedSuffix); err == nil && info.Mode().IsRegular() {
			r.Source += rescuedSuffix
		}
	}
	from := r.Source
	if info, err := os.Stat(from); err == nil && !info.Mode().IsRegular() {
		from += ".none" // a pipe would not end
	}
	f, err := copyFile(from, private)
	if err != nil {
		return err
	}
	if !foreignLog(r.Source) {
		r.LogPages, r.BadLogPages, err = replay(f, r.Source+"-wal")
	}
	if err == nil {
		err = mendSchema(f)
	}
	return errors.Join(err, f.Close())
}

// pageSize is the size of the pages of all files of Parley.
const pageSize = 4096

// mendSchema makes the list of tables readable. If it is damaged, its pages are replaced by those
// of a new file, which has the same tables at the same places if the file was made by this
// version. The number of pages becomes that of the file.
func mendSchema(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() < 2*pageSize {
		return err
	}
	have, err := wholePages(f, info.Size()/pageSize)
	if err != nil {
		return err
	}
	if err := setPages(f, have); err != nil {
		return err
	}
	if hasSchema(f.Name()) {
		return nil
	}
	donor, err := newFile(f.Name() + ".new")
	if err != nil {
		return err
	}
	for _, n := range treePages(donor, 1) {
		if _, err := f.WriteAt(donor[(n-1)*pageSize:n*pageSize], int64(n-1)*pageSize); err != nil {
			return err
		}
	}
	return setPages(f, have)
}

// wholePages adds zeros to a file that was cut off, up to the number of pages in its head, and returns
// the number of its pages. SQLite opens no file of which a table would begin beyond the end.
func wholePages(f *os.File, have int64) (int64, error) {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, err
	}
	want := int64(binary.BigEndian.Uint32(head[28:]))
	if want <= have || want > 16*have+1024 { // the number may be damaged, too
		return have, nil
	}
	return want, f.Truncate(want * pageSize)
}

// setPages sets the number of pages in the head of a file, and forgets its free pages.
func setPages(f *os.File, pages int64) error {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	head[18], head[19] = 1, 1 // without a write-ahead log
	if int64(binary.BigEndian.Uint32(head[28:])) != pages {
		clear(head[32:40])
	}
	binary.BigEndian.PutUint32(head[28:], uint32(pages))
	copy(head[92:96], head[24:28])
	_, err := f.WriteAt(head, 0)
	return err
}

// hasSchema reports whether the list of tables of a file can be read.
func hasSchema(path string) bool {
	c, err := openConn(connOptions{path: path, readOnly: true, cache: 1 << 20})
	if err != nil {
		return false
	}
	n, err := c.number("SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL")
	return errors.Join(err, c.close()) == nil && n > 0
}

// newFile returns the content of a new store, for which it uses path.
func newFile(path string) ([]byte, error) {
	db, err := Open(path, Options{})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	return text, errors.Join(err, os.Remove(path), os.Remove(path+MarkSuffix), os.RemoveAll(path+reserveSuffix))
}

// treePages returns the pages of a table in an intact file, by the number of its root.
func treePages(text []byte, root int) []int {
	const interior = 5
	all, page := []int{root}, text[(root-1)*pageSize:root*pageSize]
	head := 0
	if root == 1 {
		head = 100
	}
	if page[head] != interior {
		return all
	}
	cells := int(binary.BigEndian.Uint16(page[head+3:]))
	children := []int{int(binary.BigEndian.Uint32(page[head+8:]))}
	for i := range cells {
		at := binary.BigEndian.Uint16(page[head+12+2*i:])
		children = append(children, int(binary.BigEndian.Uint32(page[at:])))
	}
	for _, child := range children {
		all = append(all, treePages(text, child)...)
	}
	return all
}

// fill copies all tables, and makes them consistent.
func (r *Salvaged) fill(ctx context.Context, db *DB, private string) error {
	err := db.write(ctx, func(w *writer) error { return r.names(w.conn) })
	if err != nil {
		return err
	}
	old, err := openConn(connOptions{path: private, cache: 8 << 20})
	if err != nil {
		return nil // nothing can be read, and all tables have zero rows
	}
	_ = old.script("PRAGMA writable_schema = ON")
	if steps, err := sqlstore.Migrations(schema); err == nil {
		if have, err := recognize(old, steps); err == nil && have < len(steps) {
			_ = migrate(old, steps, have) // otherwise the tables that it has are copied
		}
	}
	next, _ := old.number("SELECT next_key FROM sequence") // zero if it is lost
	for i := range r.Tables {
		t := &r.Tables[i]
		if err := db.write(ctx, func(w *writer) error { return t.copyAll(old, w.conn) }); err != nil {
			return fmt.Errorf("copy table %s: %w", t.Name, err)
		}
	}
	_ = old.close() // it was only read
	for i := range r.Tables {
		t := &r.Tables[i]
		if err := db.write(ctx, func(w *writer) error { return t.copyLeaves(private, w.conn) }); err != nil {
			return fmt.Errorf("copy pages of table %s: %w", t.Name, err)
		}
	}
	if err := db.write(ctx, func(w *writer) error { return r.mendNames(w.conn) }); err != nil {
		return err
	}
	if err := r.mendTasks(ctx, db); err != nil {
		return err
	}
	return db.write(ctx, func(w *writer) error {
		if err := indexNotes(w.conn); err != nil {
			return fmt.Errorf("index notes: %w", err)
		}
		used, err := r.mendTimeline(w)
		if err != nil {
			return err
		}
		return r.mendTables(w.conn, max(next, used))
	})
}

// notCopied are the tables that a new file has or makes for itself.
var notCopied = []string{"migrations", "identity", "sequence", "counters", "snapshots", "timeline_id", "note_terms"}

// names lists the tables to copy.
func (r *Salvaged) names(c *conn) error {
	all, err := c.texts(qTables)
	for _, name := range all {
		if !slices.Contains(notCopied, name) && !strings.HasPrefix(name, "note_words") {
			r.Tables = append(r.Tables, SalvagedTable{Name: name})
		}
	}
	return err
}
