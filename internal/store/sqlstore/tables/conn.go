package tables

import (
	"context"
	"iter"
)

// DB is an open database.
type DB interface {
	// Read runs f with a connection. It may run f again with another one if the first has ended.
	Read(ctx context.Context, f func(Conn) error) error
	// View is like Read, with one consistent snapshot of the database for all statements of f.
	View(ctx context.Context, f func(Conn) error) error
	// Write runs f in the next transaction, and returns when it is durable. It may run f again, and
	// may return before f has run if ctx ends: f must not use values that its caller changes. An
	// error of f undoes the transaction. Other hubs of the database may write at the same time.
	Write(ctx context.Context, f func(Conn) error) error
	// WriteAlone is like Write, for an f that writes what it has read: no other hub runs such an f until
	// the transaction is durable.
	WriteAlone(ctx context.Context, f func(Conn) error) error
}

// Conn executes prepared statements. Values are one of the types of package tables; a connection
// binds their [Plain] forms.
type Conn interface {
	Execer
	// Rows executes a statement and returns its rows. Each is valid until the next one.
	Rows(q Query, values ...any) iter.Seq2[Row, error]
	// Names returns the cache of names of the connection.
	Names() *Names
}

// Execer executes statements without rows.
type Execer interface {
	// Exec executes a statement. Its error may be that of a later call.
	Exec(q Query, values ...any) error
	// Changed executes a statement and returns the number of rows that it has changed.
	Changed(q Query, values ...any) (int, error)
}

// Row is a row of a result. Each method returns the next column.
type Row interface {
	Int() int64
	Text() string
	// Blob returns bytes that the caller may keep; nil for NULL.
	Blob() []byte
}

// list returns all rows of a statement.
func list[T any](ctx context.Context, db DB, scan func(Row, *T) error, q Query, values ...any) ([]T, error) {
	var all []T
	err := db.Read(ctx, func(c Conn) (err error) {
		all, err = rows(c, scan, q, values...)
		return err
	})
	return all, err
}

func rows[T any](c Conn, scan func(Row, *T) error, q Query, values ...any) (all []T, err error) {
	err = eachRow(c, q, values, func(row Row) error {
		var v T
		if err := scan(row, &v); err != nil {
			return err
		}
		all = append(all, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// only returns the number in the only row of a statement.
func only(c Conn, q Query, values ...any) (n int64, err error) {
	for row, err := range c.Rows(q, values...) {
		if err != nil {
			return 0, err
		}
		n = row.Int()
	}
	return n, nil
}

// eachRow calls scan for each row of a statement, up to the first error.
func eachRow(c Conn, q Query, values []any, scan func(Row) error) error {
	for row, err := range c.Rows(q, values...) {
		if err == nil {
			err = scan(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one returns the only row of a statement, and whether there is one.
func one[T any](c Conn, scan func(Row, *T) error, q Query, values ...any) (v T, found bool, err error) {
	all, err := rows(c, scan, q, values...)
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

// writer is a method of a DB that writes.
type writer func(ctx context.Context, f func(Conn) error) error

// resultOf returns the result of a job. A writer may return before the job has run, so that the result
// belongs to the job until then.
func resultOf[T any](ctx context.Context, write writer, job func(Conn) (T, error)) (T, error) {
	result := new(T)
	err := write(ctx, func(c Conn) (err error) {
		*result, err = job(c)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return *result, nil
}

// change executes one statement and returns the number of rows that it has changed.
func change(ctx context.Context, db DB, q Query, values ...any) (int, error) {
	return resultOf(ctx, db.Write, func(c Conn) (int, error) { return c.Changed(q, values...) })
}

// exec executes one statement.
func exec(ctx context.Context, db DB, q Query, values ...any) error {
	return db.Write(ctx, func(c Conn) error { return c.Exec(q, values...) })
}
