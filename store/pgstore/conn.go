package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// queries are the texts of all statements. It is filled while the package is
// initialised and only read afterwards.
var queries []string

// query is a statement that connections keep prepared.
type query int

// String returns the beginning of the statement, for errors.
func (q query) String() string {
	words := strings.Fields(queries[q])
	return strings.Join(words[:min(len(words), 3)], " ")
}

// prepared adds a statement.
func prepared(text string) query {
	queries = append(queries, text)
	return query(len(queries) - 1)
}

var (
	qBegin    = prepared("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	qBeginNow = prepared("BEGIN")
	qCommit   = prepared("COMMIT")
)

// closeTime limits the closing of a connection.
const closeTime = time.Second

// conn is a connection with its prepared statements. It belongs to one goroutine at a time.
type conn struct {
	raw *pgconn.PgConn
	// local begins each transaction behind a pooler, which may give the next one another session: it has the
	// settings, and no statement stays prepared. It is empty if the connection has a session of its own.
	local string
	// parsed is the statement that the session behind a pooler can execute again in this transaction.
	parsed query
	// locked is set while the session has the locks of a member.
	locked bool
	stmts  []*pgconn.StatementDescription
	names  tables.Names
	// damages counts damaged data that does not end a read; nil if it is not counted.
	damages *damages
	// touched is called for each topic that a statement changes; nil in a reading connection.
	touched func(topic string)
	// pipe is set while statements are sent without waiting for the results of earlier ones.
	pipe *pgconn.Pipeline
	// waiting are the statements in pipe whose results were not read yet.
	waiting []*reply
	// These hold the values of the statement that is being bound.
	values  [][]byte
	types   []uint32
	numbers [maxValues][8]byte
}

// maxValues is the largest number of values of a statement.
const maxValues = 24

// formats select the binary format for all values and columns.
var formats = func() (all [maxValues]int16) {
	for i := range all {
		all[i] = 1
	}
	return all
}()

// reply is the result of a statement.
type reply struct {
	q       query
	rows    [][][]byte
	changed int64
}

func (c *conn) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return c.raw.Close(ctx)
}

// limit makes all reads and writes of the connection fail after d, because a database that
// stands still sends no error.
func (c *conn) limit(d time.Duration) error {
	if c.raw.IsClosed() {
		return errors.New("connection is closed")
	}
	return c.raw.Conn().SetDeadline(time.Now().Add(d))
}

// script runs statements that are executed once.
func (c *conn) script(ctx context.Context, text string) error {
	if c.local != "" && c.raw.TxStatus() == idle {
		text = c.local + "; " + text // in one transaction
	}
	_, err := c.raw.Exec(ctx, text).ReadAll()
	return err
}

// idle is the status of a connection outside a transaction.
const idle = 'I'

// none is no statement.
const none query = -1

// open begins a transaction with qBeginNow or qBegin.
func (c *conn) open(q query) error {
	switch {
	case c.local == "":
		return c.run(q)
	case c.pipe == nil:
		_, err := c.raw.Exec(context.Background(), queries[q]+"; "+c.local).ReadAll()
		return err
	}
	if err := c.run(q); err != nil {
		return err
	}
	c.sendLocal()
	return nil
}

// sendLocal sends the settings of the transaction.
func (c *conn) sendLocal() {
	c.parsed = none
	c.pipe.SendQueryParams(c.local, nil, nil, nil, nil)
	c.waiting = append(c.waiting, &reply{q: qBeginNow})
}

// begin starts to send statements without waiting for the results of earlier ones.
func (c *conn) begin() { c.pipe = c.raw.StartPipeline(context.Background()) }

// sync waits for the results of all statements that were sent.
func (c *conn) sync() error {
	if c.pipe == nil || len(c.waiting) == 0 {
		return nil
	}
	if err := c.pipe.Sync(); err != nil {
		return err
	}
	for i, r := range c.waiting {
		got, err := c.pipe.GetResults()
		if err != nil {
			return fmt.Errorf("%s: %w", r.q, err)
		}
		rows, ok := got.(*pgconn.ResultReader)
		if !ok {
			return errors.New("result of a statement is missing")
		}
		if err := r.read(rows); err != nil {
			return fmt.Errorf("%s: %w", r.q, err)
		}
		c.waiting[i] = nil
	}
	c.waiting = c.waiting[:0]
	_, err := c.pipe.GetResults() // of the sync itself
	return err
}

// end waits for all results and ends the pipeline.
func (c *conn) end() error {
	if c.pipe == nil {
		return nil
	}
	err := c.sync()
	err = errors.Join(err, c.pipe.Close())
	c.pipe = nil
	return err
}

// read reads all rows: a connection can execute another statement only when there are none left.
func (r *reply) read(rows *pgconn.ResultReader) error {
	for rows.NextRow() {
		r.rows = append(r.rows, own(rows.Values()))
	}
	tag, err := rows.Close()
	r.changed = tag.RowsAffected()
	return err
}

// own returns a copy of a row, in one piece of memory.
func own(row [][]byte) [][]byte {
	size := 0
	for _, v := range row {
		size += len(v)
	}
	mine, all := make([][]byte, len(row)), make([]byte, 0, size)
	for i, v := range row {
		if v == nil {
			continue
		}
		from := len(all)
		all = append(all, v...)
		mine[i] = all[from:len(all):len(all)]
	}
	return mine
}

// prepare prepares q, whose values have been bound.
func (c *conn) prepare(q query) (*pgconn.StatementDescription, error) {
	if d := c.stmts[q]; d != nil {
		return d, nil
	}
	piped := c.pipe != nil
	if err := c.end(); err != nil {
		return nil, err
	}
	d, err := c.raw.Prepare(context.Background(), "q"+strconv.Itoa(int(q)), queries[q], c.types)
	if err != nil {
		return nil, err
	}
	c.stmts[q] = d
	if piped {
		c.begin()
	}
	return d, nil
}

// send sends q with the bound values. Its result is there after the next sync.
func (c *conn) send(q query) (*reply, error) {
	r := &reply{q: q}
	switch {
	case c.local != "" && c.parsed == q:
		c.pipe.SendQueryPrepared("", c.values, formats[:len(c.values)], formats[:1])
	case c.local != "":
		c.parsed = q
		c.pipe.SendQueryParams(queries[q], c.values, c.types, formats[:len(c.values)], formats[:1])
	default:
		d, err := c.prepare(q)
		if err != nil {
			return nil, err
		}
		c.pipe.SendQueryStatement(d, c.values, formats[:len(c.values)], formats[:1])
	}
	c.waiting = append(c.waiting, r)
	return r, nil
}

// exec executes q with the bound values.
func (c *conn) exec(q query) (*reply, error) {
	if c.pipe != nil {
		r, err := c.send(q)
		if err == nil {
			err = c.sync()
		}
		return r, err
	}
	if c.local != "" {
		return c.execLocal(q)
	}
	d, err := c.prepare(q)
	if err != nil {
		return nil, err
	}
	r := new(reply)
	return r, r.read(c.raw.ExecStatement(context.Background(), d, c.values, formats[:len(c.values)], formats[:1]))
}

// execLocal is exec behind a pooler. Outside a transaction, the settings and q are one.
func (c *conn) execLocal(q query) (*reply, error) {
	if c.raw.TxStatus() != idle {
		r := new(reply)
		c.parsed = none
		return r, r.read(c.raw.ExecParams(context.Background(), queries[q], c.values, c.types, formats[:len(c.values)], formats[:1]))
	}
	c.begin()
	c.sendLocal()
	r, err := c.send(q)
	return r, errors.Join(err, c.end())
}
