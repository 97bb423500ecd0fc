package sqlitestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
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
	// Unreadable says why no table could be read; otherwise it is empty.
	Unreadable string

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
	err := copyFile(from, private)
	if err == nil {
		err = restoreSize(private)
	}
	if err != nil {
		return err
	}
	switch other, err := mixed(r.Source); {
	case err != nil:
		return err
	case other != nil:
		return nil // the log is that of another or a newer file
	}
	return copyFile(r.Source+"-wal", private+"-wal")
}

// restoreSize adds zeros to a file that was cut off, up to the number of pages in its head. SQLite reads
// nothing of a file that ends before the beginning of one of its tables.
func restoreSize(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 32)
	n, err := f.ReadAt(head, 0)
	if n < len(head) {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	have, want := info.Size(), int64(binary.BigEndian.Uint32(head[28:]))*pageSize
	if want <= have || want > 16*have { // a damaged number may be huge
		return nil
	}
	return f.Truncate(want)
}

// copyFile copies a file to a new one, which only its user may read. A missing file is empty.
func copyFile(from, to string) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return out.Close()
	}
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, in.Close())
	}
	return errors.Join(err, out.Close())
}

// fill copies all tables, and makes them consistent.
func (r *Salvaged) fill(ctx context.Context, db *DB, private string) error {
	err := db.write(ctx, func(w *writer) error {
		all, err := w.conn.texts(qTables)
		for _, name := range all {
			if !slices.Contains(notCopied, name) && !strings.HasPrefix(name, "note_words") && !strings.HasPrefix(name, "task_words") {
				r.Tables = append(r.Tables, SalvagedTable{Name: name})
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	old, err := openConn(connOptions{path: private, cache: 8 << 20})
	if err == nil {
		var tables int64
		if tables, err = old.number("SELECT count(*) FROM sqlite_schema"); err == nil && tables == 0 {
			err = errors.New("the file is missing or empty")
		}
	}
	if err != nil {
		r.Unreadable = err.Error()
		return nil
	}
	_ = old.script("PRAGMA writable_schema = ON")
	if steps, err := sqlstore.Migrations(schema); err == nil {
		if have, err := recognize(old, steps); err == nil && have < len(steps) {
			if migrate(old, steps, have) != nil { // the tables that it has are copied
				_ = old.script("ALTER TABLE hooks RENAME COLUMN told TO delivered")
			}
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
var notCopied = []string{"migrations", "identity", "sequence", "counters", "snapshots", "timeline_id", "note_terms", "text_index"}
