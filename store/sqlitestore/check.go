package sqlitestore

import (
	"context"
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
	result := s.getText()
	s.close()
	return result, s.err
}
