package sqlitestore

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// applicationID marks a file as Parley's ("Prly").
const applicationID = 0x50726c79

//go:embed schema/*.sql
var schema embed.FS

// fills are the functions that fill tables of a step from earlier ones, by the name of the step.
var fills = map[string]func(*conn) error{"0014_note_words.sql": indexNotes}

// recognize returns the number of steps that were applied to the file of c. It returns an error
// if the file is not Parley's, or if it is newer than steps.
func recognize(c *conn, steps []sqlstore.Migration) (have int, err error) {
	if have, err = layout(c); err != nil {
		return 0, err
	}
	if have > len(steps) {
		return 0, fmt.Errorf("%w (layout %d, this one knows %d): use a newer parley or another data folder",
			ErrNewer, have, len(steps))
	}
	if have > 0 {
		err = verify(c, steps[:have])
	}
	return have, err
}

// migrate migrates the file of c to the newest layout, from a file to which the first have
// steps were applied.
func migrate(c *conn, steps []sqlstore.Migration, have int) error {
	if have < len(steps) {
		if err := apply(c, steps, have); err != nil {
			return err
		}
	}
	if err := c.script("PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	// Only a connection that has opened the journal removes it at the end, and a connection
	// opens it when it reads or writes.
	_, err := c.number("SELECT count(*) FROM sqlite_schema")
	return err
}

// layout returns the number of steps applied to the file of c, after checking that the file is
// Parley's or empty.
func layout(c *conn) (int, error) {
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	switch {
	case id == applicationID && version > 0:
		return int(version), nil
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	}
	return 0, fmt.Errorf("%w (application id %#x): choose another path", ErrForeign, uint32(id))
}

// apply applies the steps after the first have, all in one transaction.
func apply(c *conn, steps []sqlstore.Migration, have int) error {
	if have == 0 {
		// These take effect only before the first table is created.
		if err := c.script("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	if err := c.run(qBeginNow); err != nil {
		return err
	}
	if err := applyAll(c, steps, have); err != nil {
		return errors.Join(err, c.run(qRollback))
	}
	return c.run(qCommit)
}

func applyAll(c *conn, steps []sqlstore.Migration, have int) error {
	const ledger = `CREATE TABLE IF NOT EXISTS migrations (
	step       INTEGER PRIMARY KEY,
	name       TEXT    NOT NULL,
	checksum   TEXT    NOT NULL,
	applied_at INTEGER NOT NULL
) STRICT`
	if err := c.script(ledger); err != nil {
		return err
	}
	for i := have; i < len(steps); i++ {
		if err := c.script(steps[i].Text); err != nil {
			return fmt.Errorf("migration %s: %w", steps[i].Name, err)
		}
		if fill := fills[steps[i].Name]; fill != nil && have > 0 {
			if err := fill(c); err != nil {
				return fmt.Errorf("migration %s: %w", steps[i].Name, err)
			}
		}
		if err := record(c, i+1, steps[i]); err != nil {
			return fmt.Errorf("migration %s: %w", steps[i].Name, err)
		}
	}
	return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
		applicationID, len(steps)))
}

var (
	qRecord = prepared("INSERT INTO migrations VALUES (?, ?, ?, ?)")
	qLedger = prepared("SELECT step, name, checksum FROM migrations ORDER BY step")
)

func record(c *conn, step int, m sqlstore.Migration) error {
	s := c.start(qRecord)
	s.int(int64(step))
	s.text(m.Name)
	s.text(m.Checksum())
	s.int(time.Now().UnixMilli())
	return s.done()
}

// verify compares the steps recorded in the file with the given ones.
func verify(c *conn, steps []sqlstore.Migration) error {
	s := c.start(qLedger)
	n := 0
	for s.next() {
		step, name, sum := s.Int(), s.Text(), s.Text()
		if n >= len(steps) || step != int64(n+1) || sum != steps[n].Checksum() {
			s.close()
			return fmt.Errorf("%w: migration %s is not the one that this parley knows: use the parley that made the file",
				ErrForeign, name)
		}
		n++
	}
	if s.err != nil {
		return s.err
	}
	if n != len(steps) {
		return fmt.Errorf("%w: %d of %d migrations are recorded: restore a backup", ErrDamaged, n, len(steps))
	}
	return nil
}

// Pending returns the names of the migrations that Open would apply to the file at path. It changes nothing, and
// a hub may use the file meanwhile. It returns ErrNoStore if there is no file, and ErrNewer as Open does.
func Pending(path string) (names []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the layout of %s: %w", path, unread(err))
		}
	}()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if empty, err := examineHead(path); err != nil || empty {
		return nil, errors.Join(err, ErrNoStore)
	}
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		return nil, err
	}
	open := openToRead
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		open = openFrozen // no hub uses the file, and none of the files beside it is made
	}
	c, err := open(path, 1<<20)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	have, err := recognize(c, steps)
	if err != nil {
		return nil, err
	}
	for _, m := range steps[have:] {
		names = append(names, m.Name)
	}
	return names, nil
}
