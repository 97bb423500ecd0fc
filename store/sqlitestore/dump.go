package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// rowWriter receives the rows of tables.
type rowWriter interface {
	Table(*dump.Table) error
	// Row receives a row of the table; its bytes are valid until it returns.
	Row([]dump.Value) error
}

// rowSource has the rows of tables.
type rowSource interface {
	// Each calls a function for each table, which reads its rows. It returns nil once all of them
	// have been verified.
	Each(context.Context, func(*dump.Table) error) error
	// Row reads the next row; false means that there is none.
	Row([]dump.Value) (bool, error)
}

// Dump writes the tables of the file at path, as of one moment. A hub may use the file meanwhile.
// It returns ErrNoStore if there is no file, and a *Loss for a file that is known to have had more data.
func Dump(ctx context.Context, path string, w rowWriter) error {
	if err := dumpFile(ctx, path, w); err != nil {
		return fmt.Errorf("dump %s: %w", path, errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

func dumpFile(ctx context.Context, path string, w rowWriter) error {
	c, err := openKnown(path, false)
	if err != nil {
		return err
	}
	c.raw.SetInterrupt(ctx.Done())
	err = c.dumpTables(w)
	return errors.Join(err, c.close())
}

func (r *toRead) dumpTables(w rowWriter) error {
	c := r.conn
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		return err
	}
	if err := c.run(qBegin); err != nil {
		return err
	}
	have, err := recognize(c, steps)
	if err == nil && have < len(steps) {
		err = fmt.Errorf("%w: start the hub once", ErrOlder)
	}
	if err != nil {
		return err
	}
	loss, err := r.lost(c)
	if err != nil {
		return err
	}
	if loss != nil {
		return loss
	}
	for _, t := range dump.Tables() {
		if err := dumpTable(c, w, &t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

func dumpTable(c *conn, w rowWriter, t *dump.Table) error {
	if err := w.Table(t); err != nil {
		return err
	}
	raw, _, err := c.raw.PrepareTransient("SELECT " + t.Names() + " FROM " + t.Name + " ORDER BY " + t.Order())
	if err != nil {
		return err
	}
	defer raw.Finalize() //nolint:errcheck // its last step reports the error
	s := stmt{conn: c, raw: raw}
	row := make([]dump.Value, len(t.Columns))
	for s.next() {
		for i, column := range t.Columns {
			switch column.Kind {
			case dump.Int:
				row[i].Int = s.Int()
			case dump.ID:
				row[i].Bytes = []byte(s.ID())
			default:
				row[i].Bytes = s.Blob()
			}
		}
		if err := wholeRow(c, t, row); err != nil {
			return err
		}
		if t.Includes(row) {
			if err := w.Row(row); err != nil {
				return err
			}
		}
	}
	return s.err
}

// wholeRow replaces references by their content.
func wholeRow(c *conn, t *dump.Table, row []dump.Value) (err error) {
	data := &row[len(row)-1].Bytes
	switch t.Name {
	case "entries":
		*data, err = c.whole(*data)
	case "tasks":
		*data, err = c.wholeRest(task.Key(row[0].Int), *data)
	}
	return err
}

// Load stores the rows of r in one commit: all of them or none. It refuses a store with data.
func (db *DB) Load(ctx context.Context, r rowSource) error {
	var failed error // without the additions of the writer
	err := db.write(ctx, func(w *writer) error {
		failed = w.load(ctx, r)
		return failed
	})
	if err = cmp.Or(failed, err); err != nil {
		return fmt.Errorf("load %s: %w", db.path, err)
	}
	return nil
}

func (w *writer) load(ctx context.Context, r rowSource) error {
	empty := func(query string) (bool, error) {
		rows, err := w.conn.texts(query)
		return len(rows) == 0, err
	}
	if err := dump.Vacant("folder", empty); err != nil {
		return err
	}
	if err := w.conn.script(dump.Clear); err != nil {
		return err
	}
	err := r.Each(ctx, func(t *dump.Table) error {
		if err := w.loadTable(r, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return indexNotes(w.conn)
}

// loadTable inserts the rows of a table. The commit that a job is part of counts and caches no
// number that the rows change.
func (w *writer) loadTable(r rowSource, t *dump.Table) error {
	text := "INSERT INTO " + t.Name + " (" + t.Names() + ") VALUES (?" + strings.Repeat(", ?", len(t.Columns)-1) + ")"
	if t.Name == "sequence" {
		text = "UPDATE sequence SET next_key = ?"
	}
	raw, _, err := w.conn.raw.PrepareTransient(text)
	if err != nil {
		return err
	}
	defer raw.Finalize() //nolint:errcheck // its steps report errors
	row := make([]dump.Value, len(t.Columns))
	for {
		more, err := r.Row(row)
		if err != nil || !more {
			return err
		}
		s := stmt{conn: w.conn, raw: raw}
		for i, c := range t.Columns {
			bindValue(&s, c.Kind, &row[i])
		}
		if err := s.done(); err != nil {
			return fmt.Errorf("%w: %w", dump.ErrDamaged, err)
		}
	}
}

func bindValue(s *stmt, kind dump.Kind, v *dump.Value) {
	switch kind {
	case dump.Int:
		s.int(v.Int)
	case dump.Text:
		s.text(string(v.Bytes))
	case dump.ID:
		s.id(string(v.Bytes))
	default:
		s.blob(v.Bytes)
	}
}
