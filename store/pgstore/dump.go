package pgstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// alone opens a connection without limits of time. With the lock, no hub uses the database until
// the connection is closed.
func alone(ctx context.Context, address string, locked bool) (*conn, error) {
	at, err := parseAddress(address, &Options{})
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", at, unavailable(err))
	}
	if locked {
		if err := c.exclude(ctx, &Options{LockWait: defaultConnectTime}); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", at, unavailable(err)), c.close())
		}
	}
	return c, nil
}

// exclude keeps hubs out of the database until the connection is closed.
func (c *conn) exclude(ctx context.Context, o *Options) error {
	if c.local != "" {
		return errPooler
	}
	if err := lock(ctx, c, o); err != nil {
		return err
	}
	return patient(ctx, func() error { return c.unleased(ctx) })
}

// ReadNote returns a note of the directory from the database at address; nil if it has none. It
// changes nothing, and a hub may use the database meanwhile.
func ReadNote(ctx context.Context, address, name string) ([]byte, error) {
	c, err := alone(ctx, address, false)
	if err != nil {
		return nil, err
	}
	if err := c.open(qBegin); err != nil {
		return nil, errors.Join(err, c.close())
	}
	result := c.raw.ExecParams(ctx, "SELECT note FROM notes WHERE name = $1", [][]byte{[]byte(name)}, []uint32{typeBytes}, formats[:1], formats[:1]).Read()
	if err := errors.Join(result.Err, c.close()); err != nil || len(result.Rows) == 0 {
		return nil, err
	}
	return result.Rows[0][0], nil
}

// Dump writes the tables of the database at address, as of one moment. It returns ErrInUse if a
// hub uses the database, unless running is set.
func Dump(ctx context.Context, address string, running bool, w *dump.Writer) error {
	c, err := alone(ctx, address, !running)
	if err != nil {
		return err
	}
	if err = dumpTables(ctx, c, w); err != nil {
		err = fmt.Errorf("dump the database: %w", err)
	}
	return errors.Join(err, c.close())
}

func dumpTables(ctx context.Context, c *conn, w *dump.Writer) error {
	have, known, err := inspect(ctx, c, "")
	if err == nil && have > known {
		err = newer(have, known)
	}
	if err != nil {
		return err
	}
	for _, t := range dump.Tables() {
		if err := dumpTable(ctx, c, w, &t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := dumpParts(c, w); err != nil {
		return fmt.Errorf("large parts: %w", err)
	}
	return nil
}

// nextKey has the lowest key that was not given out, as the table sequence of a dump.
var nextKey = fmt.Sprintf("(SELECT last_value + CASE WHEN is_called THEN %d ELSE 0 END AS next_key FROM task_keys) given", keyBlock)

// dumped are the tables of a dump that are made from several rows, or from others.
var dumped = map[string]string{
	"counters": "(SELECT scope, state, sum(n)::bigint AS n FROM counters GROUP BY scope, state) counted",
	"sequence": nextKey,
	"timeline": `(SELECT seq, n, data FROM timeline UNION ALL
		SELECT (` + newest + ` + sum(n) OVER (ORDER BY id) - n + 1)::bigint, n, data
		FROM moments) numbered`,
}

func dumpTable(ctx context.Context, c *conn, w *dump.Writer, t *dump.Table) error {
	if err := w.Table(t); err != nil {
		return err
	}
	rows := c.raw.ExecParams(ctx, "SELECT "+t.Names()+" FROM "+cmp.Or(dumped[t.Name], t.Name)+" ORDER BY "+t.Order(), nil, nil, nil, formats[:1])
	row := make([]dump.Value, len(t.Columns))
	for rows.NextRow() {
		s := stmt{conn: c, row: rows.Values(), at: -1}
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
		if s.err == nil && t.Includes(row) {
			s.err = w.Row(row)
		}
		if s.err != nil {
			_, err := rows.Close()
			return errors.Join(s.err, err)
		}
	}
	_, err := rows.Close()
	return err
}

// Load stores the content of r in the database at address in one commit: all of it or nothing. It
// creates the schema if it does not exist. The check of the master key in the header becomes that of
// the database. The error is dump.ErrNotEmpty if the database has data, and ErrInUse if a hub uses
// it.
func Load(ctx context.Context, address string, r *dump.Reader) error {
	c, err := alone(ctx, address, true)
	if err != nil {
		return err
	}
	steps, err := sqlstore.Migrations(schema)
	if err == nil {
		err = migrate(ctx, c, steps)
	}
	if err == nil {
		err = load(ctx, c, r)
	}
	if err != nil {
		err = fmt.Errorf("load the database: %w", err)
	}
	return errors.Join(err, c.close())
}

func load(ctx context.Context, c *conn, r *dump.Reader) error {
	if err := c.script(ctx, "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; BEGIN"); err != nil {
		return err
	}
	empty := func(query string) (bool, error) {
		found := c.raw.ExecParams(ctx, query, nil, nil, nil, nil).Read()
		return len(found.Rows) == 0, found.Err
	}
	if err := dump.Vacant("database", empty, "part_refs"); err != nil {
		return err
	}
	if err := c.script(ctx, dump.Clear); err != nil {
		return err
	}
	if note := r.Header.MasterCheck; note != nil {
		const put = `INSERT INTO notes VALUES ('master.check', $1) ON CONFLICT (name) DO UPDATE SET note = excluded.note`
		if err := c.raw.ExecParams(ctx, put, [][]byte{note}, []uint32{typeBytes}, formats[:1], nil).Read().Err; err != nil {
			return err
		}
	}
	table := func(t *dump.Table) error {
		if err := loadTable(ctx, c, r, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		return nil
	}
	to := dump.Sink{Table: table, File: c.loadPart, Done: func() error { return nil }}
	if err := dump.Load(ctx, r, to); err != nil {
		return err
	}
	return c.script(ctx, "COMMIT; ANALYZE")
}

// loadTable copies the rows of a table into the database.
func loadTable(ctx context.Context, c *conn, r *dump.Reader, t *dump.Table) error {
	if t.Name == "sequence" {
		return loadSequence(ctx, c, r)
	}
	names := t.Names()
	if t.Name == "tasks" {
		names += ", epoch, dispatch, holder"
	}
	widths, err := widthsOf(ctx, c, t.Name, names)
	if err != nil {
		return err
	}
	in := &copier{r: r, table: t, widths: widths, row: make([]dump.Value, len(t.Columns))}
	in.buf = append(in.buf, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	if _, err := c.raw.CopyFrom(ctx, in, "COPY "+t.Name+" ("+names+") FROM STDIN (FORMAT binary)"); err != nil {
		if in.err != nil {
			return in.err
		}
		if failed := new(pgconn.PgError); errors.As(err, &failed) && (failed.Code[:2] == "22" || failed.Code[:2] == "23") {
			return fmt.Errorf("%w: %w", dump.ErrDamaged, err)
		}
		return err
	}
	if serial := t.Serial(); serial != "" {
		return c.script(ctx, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', '%s'), (SELECT max(%s) FROM %s))",
			t.Name, serial, serial, t.Name))
	}
	return nil
}

func loadSequence(ctx context.Context, c *conn, r *dump.Reader) error {
	row := make([]dump.Value, 1)
	for {
		more, err := r.Row(row)
		if err != nil || !more {
			return err
		}
		if err := c.script(ctx, fmt.Sprintf("SELECT setval('task_keys', %d, false)", row[0].Int)); err != nil {
			return err
		}
	}
}

// widthsOf returns the sizes of the columns with numbers; zero for others.
func widthsOf(ctx context.Context, c *conn, table, names string) ([]int, error) {
	d, err := c.raw.Prepare(ctx, "", "SELECT "+names+" FROM "+table, nil)
	if err != nil {
		return nil, err
	}
	const typeSmall = 21
	widths := make([]int, len(d.Fields))
	for i, f := range d.Fields {
		switch f.DataTypeOID {
		case typeInt:
			widths[i] = 8
		case typeSmall:
			widths[i] = 2
		}
	}
	return widths, nil
}

// copier reads rows of a dump in the binary form of COPY. It implements io.Reader.
type copier struct {
	r      *dump.Reader
	table  *dump.Table
	widths []int
	row    []dump.Value
	buf    []byte
	ended  bool
	err    error // of the dump
}

func (cp *copier) Read(b []byte) (int, error) {
	for len(cp.buf) == 0 {
		if cp.ended {
			return 0, io.EOF
		}
		more, err := cp.r.Row(cp.row)
		if err == nil && more {
			err = cp.add()
		}
		if err != nil {
			cp.err = err
			return 0, err
		}
		if !more {
			cp.ended = true
			cp.buf = append(cp.buf[:0], 0xff, 0xff)
		}
	}
	n := copy(b, cp.buf)
	cp.buf = cp.buf[n:]
	return n, nil
}

// add appends the current row to the empty buffer.
func (cp *copier) add() error {
	b := binary.BigEndian.AppendUint16(cp.buf[:0:cap(cp.buf)], uint16(len(cp.widths)))
	for i, c := range cp.table.Columns {
		v := cp.row[i].Bytes
		if c.Kind == dump.ID {
			v = packedID(string(v))
		}
		b = appendField(b, cp.widths[i], cp.row[i].Int, v)
	}
	if cp.table.Name == "tasks" {
		var h task.Head
		if err := sqlstore.DecodeHead(cp.row[len(cp.row)-1].Bytes, &h); err != nil {
			return fmt.Errorf("%w: task %d: %w", dump.ErrDamaged, cp.row[0].Int, err)
		}
		n := len(cp.table.Columns)
		b = appendField(b, cp.widths[n], h.Run.Epoch, nil)
		b = appendField(b, cp.widths[n+1], int64(h.Run.Dispatch), nil)
		b = appendField(b, cp.widths[n+2], 0, append([]byte{}, h.Run.Holder...))
	}
	cp.buf = b
	return nil
}

// appendField appends the length of a value and the value. The width of bytes is zero.
func appendField(b []byte, width int, number int64, v []byte) []byte {
	switch {
	case width == 8:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(number))
	case width == 2:
		return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(b, 2), uint16(number))
	case v == nil:
		return binary.BigEndian.AppendUint32(b, 0xffffffff)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}
