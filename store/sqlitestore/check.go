package sqlitestore

import (
	"context"
	"errors"
	"fmt"
)

var qIntegrity = prepared("PRAGMA integrity_check(1)")

// Check reads the whole file and returns an error that wraps ErrDamaged if it is inconsistent.
// It takes long for a large file; other reads and writes continue.
func (db *DB) Check(ctx context.Context) error {
	var result string
	err := db.read(ctx, func(c *conn) (err error) {
		c.raw.SetInterrupt(ctx.Done())
		defer c.raw.SetInterrupt(nil)
		result, err = integrity(c)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("check %s: %w", db.path, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("check %s: %w", db.path, err)
	case result != "ok":
		return fmt.Errorf("check %s: %w: %s: restore a backup", db.path, ErrDamaged, result)
	}
	return nil
}

// integrity returns "ok", or the first problem found.
func integrity(c *conn) (string, error) {
	s := c.start(qIntegrity)
	if !s.next() {
		return "", s.err
	}
	result := s.Text()
	s.close()
	return result, s.err
}

// CheckPages reads the pages of all tables and indexes, with a connection of its own and one table
// at a time, so that no transaction is open for long. Damage is reported as that which reads meet:
// see Options.Damaged and Damages. It does not compare rows with indexes, as Check does. The error
// is that of an examination that was not completed, or it wraps ErrDamaged.
func (db *DB) CheckPages(ctx context.Context) error {
	found, err := db.checkPages(ctx)
	for _, err := range found {
		db.met(subject{}, err)
	}
	if err == nil {
		err = errors.Join(found...)
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("check pages of %s: %w", db.path, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("check pages of %s: %w", db.path, err)
	}
	return nil
}

const qTables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"

// checkPages returns the damages that were found, at most one of each table.
func (db *DB) checkPages(ctx context.Context) (found []error, err error) {
	c, err := openConn(connOptions{path: db.path, readOnly: true, cache: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.raw.SetInterrupt(ctx.Done())
	tables, err := c.texts(qTables)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		problems, err := c.texts("PRAGMA quick_check('" + table + "')")
		switch {
		case ctx.Err() != nil:
			return found, nil
		case err != nil && !damaged(err):
			return found, err
		case err != nil:
			found = append(found, fmt.Errorf("%w: table %s: %w", ErrDamaged, table, err))
		case len(problems) > 0 && problems[0] != "ok":
			found = append(found, fmt.Errorf("%w: table %s: %s", ErrDamaged, table, problems[0]))
		}
	}
	return found, nil
}
