package pgstore

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
)

// schemaName is the name of the schema that holds all tables.
const schemaName = "parley"

// The keys of advisory locks are the same in all versions.
const (
	hubLock     = 0x50726c79_00000001 // held by the hub that uses the database; shared by members
	migrateLock = 0x50726c79_00000002 // held while the schema is migrated
	aloneLock   = 0x50726c79_00000003 // held by a transaction of a member with a job that runs alone
	numberLock  = 0x50726c79_00000004 // held while moments get their positions
	mergeLock   = 0x50726c79_00000005 // held while the timelines of shards are merged
	idLock      = 0x50726c7a          // the first half of the key that belongs to the id of a member
)

//go:embed schema/*.sql
var schema embed.FS

var (
	errInUse = fmt.Errorf("%w: stop it, or choose another database", ErrInUse)
	errAlone = fmt.Errorf("%w alone: stop it, or choose another database", ErrInUse)
)

func sameID(id string) error {
	return fmt.Errorf("%w with the id %q: stop it, or give this hub another id", ErrInUse, id)
}

// idKey returns the keys of the advisory lock that belongs to the id of a member.
func idKey(id string) string {
	return fmt.Sprintf("%d, %d", int32(idLock), int32(crc32.ChecksumIEEE([]byte(id))))
}

// tryMemberLocks is the condition that a session gets the locks of a member.
func tryMemberLocks(id string) string {
	return fmt.Sprintf("pg_try_advisory_lock_shared(%d) AND pg_try_advisory_lock(%s)", int64(hubLock), idKey(id))
}

// lock takes the lock that keeps other hubs out; a member only keeps out hubs that use the database
// alone, and another hub with its id. The locks last as long as the connection.
func lock(ctx context.Context, c *conn, o *Options) error {
	if o.Member == nil {
		return c.advisory(ctx, fmt.Sprintf("pg_advisory_lock(%d)", int64(hubLock)), o.LockWait, errInUse)
	}
	err := c.advisory(ctx, fmt.Sprintf("pg_advisory_lock_shared(%d)", int64(hubLock)), o.LockWait, errAlone)
	if err == nil {
		err = c.advisory(ctx, "pg_advisory_lock("+idKey(o.Member.ID)+")", o.LockWait, sameID(o.Member.ID))
	}
	c.locked = err == nil
	return err
}

// advisory takes an advisory lock, which lasts as long as the session. The error is busy if
// another session has it; the connection must be closed after an error.
func (c *conn) advisory(ctx context.Context, lock string, wait time.Duration, busy error) error {
	err := c.script(ctx, fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = %d; SET LOCAL statement_timeout = 0; SELECT %s; COMMIT", max(wait.Milliseconds(), 1), lock))
	if hasCode(err, "55P03") {
		return busy
	}
	return err
}

// migrate migrates the schema to the newest layout, in one transaction. It does not change a schema that is not
// Parley's, or that is newer than steps. One hub migrates at a time.
func migrate(ctx context.Context, c *conn, steps []sqlstore.Migration) error {
	if err := c.open(qBeginNow); err != nil {
		return err
	}
	if err := c.script(ctx, fmt.Sprintf("SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(%d)", int64(migrateLock))); err != nil {
		return err
	}
	if c.local != "" {
		s := c.start(qShare)
		if free, err := s.only(); err != nil || free == 0 {
			return cmp.Or(err, errAlone)
		}
	}
	// The connection is closed after an error, and the transaction with it.
	if err := bringUp(ctx, c, steps); err != nil {
		return err
	}
	return c.run(qCommit)
}

func bringUp(ctx context.Context, c *conn, steps []sqlstore.Migration) error {
	have, err := layout(ctx, c)
	if err != nil {
		return err
	}
	if err := verify(have[:min(len(have), len(steps))], steps); err != nil {
		return err
	}
	if len(have) >= len(steps) {
		return survives(ctx, c, len(have), len(steps))
	}
	if n := len(have); n >= membersLayout && n < leastLayout {
		if err := noMembers(ctx, c); err != nil {
			return err
		}
	}
	if len(have) == 0 {
		if err := c.script(ctx, foundation); err != nil {
			return fmt.Errorf("create schema %s: %w", schemaName, err)
		}
	}
	for i := len(have); i < len(steps); i++ {
		if err := step(ctx, c, i+1, steps[i]); err != nil {
			return fmt.Errorf("migration %s: %w", steps[i].Name, err)
		}
	}
	return nil
}

// survives returns ErrNewer if the layout of the database is newer than the one that this program
// knows, and not only extends it: hubs of two versions use a database while they are replaced.
func survives(ctx context.Context, c *conn, have, known int) error {
	if have == known {
		return nil
	}
	least, err := c.epoch(ctx, "SELECT least FROM sequence WHERE one = 1")
	if err == nil && least > int64(known) {
		err = newer(have, known)
	}
	return err
}

// The layouts from which the database has a table of members, and from which hubs can use a
// database with this layout.
const (
	membersLayout = 2
	leastLayout   = 11
)

// noMembers returns ErrInUse while hubs of an earlier version run.
func noMembers(ctx context.Context, c *conn) error {
	n, err := c.epoch(ctx, "SELECT count(*) FROM hubs WHERE ended = 0 AND lease_until > "+clock)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: %d hubs of an earlier version, which cannot write beside this version: stop them first, then start this one", ErrInUse, n)
	}
	return err
}

func newer(have, known int) error {
	return fmt.Errorf("%w (layout %d, this one knows %d): use a newer parley or another database", ErrNewer, have, known)
}

// inspect begins a transaction, runs the script of settings in it, and returns the number of the layout of
// the database and of the one that this program knows. The first one is not less.
func inspect(ctx context.Context, c *conn, settings string) (have, known int, err error) {
	steps, err := sqlstore.Migrations(schema)
	if err == nil {
		err = c.open(qBegin)
	}
	if err == nil && settings != "" {
		err = c.script(ctx, settings)
	}
	if err != nil {
		return 0, 0, err
	}
	found, err := layout(ctx, c)
	have, known = len(found), len(steps)
	if err == nil {
		err = verify(found[:min(have, known)], steps)
	}
	if err == nil && have < known {
		err = fmt.Errorf("its schema has layout %d, and this parley needs %d: start its hub once with this parley", have, known)
	}
	return have, known, err
}

// foundation is the part of the layout that never changes.
const foundation = `CREATE SCHEMA IF NOT EXISTS ` + schemaName + `;
CREATE TABLE migrations (
	step       BIGINT PRIMARY KEY,
	name       BYTEA  NOT NULL,
	checksum   BYTEA  NOT NULL,
	applied_at BIGINT NOT NULL
);`

const readLayout = `SELECT step, name, checksum FROM migrations ORDER BY step`

func step(ctx context.Context, c *conn, number int, m sqlstore.Migration) error {
	if err := c.script(ctx, m.Text); err != nil {
		return err
	}
	return c.script(ctx, fmt.Sprintf(`INSERT INTO migrations VALUES (%d, '%s', '%s', %d)`,
		number, m.Name, m.Checksum(), time.Now().UnixMilli()))
}

// applied is a step that was applied to a database.
type applied struct {
	name, checksum string
}

// layout returns the steps that were applied. It returns ErrForeign if the schema exists and is
// not Parley's.
func layout(ctx context.Context, c *conn) ([]applied, error) {
	switch there, err := c.has(ctx, "migrations"); {
	case err != nil:
		return nil, err
	case !there:
		return nil, foreign(ctx, c)
	}
	var steps []applied
	result := c.raw.ExecParams(ctx, readLayout, nil, nil, nil, formats[:1]).Read()
	for i, row := range result.Rows {
		if len(row[0]) != 8 || row[0][7] != byte(i+1) {
			return nil, fmt.Errorf("%w: migration %d of schema %s is missing: restore a backup", ErrDamaged, i+1, schemaName)
		}
		steps = append(steps, applied{string(row[1]), string(row[2])})
	}
	return steps, result.Err
}

// has reports whether the schema has a table.
func (c *conn) has(ctx context.Context, table string) (bool, error) {
	word, err := c.word(ctx, "SELECT to_regclass('"+table+"') IS NOT NULL")
	return word == "t", err
}

// foreign returns an error if the schema contains tables, although not that of the layout.
func foreign(ctx context.Context, c *conn) error {
	const count = `SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = '` + schemaName + `'`
	result := c.raw.ExecParams(ctx, count, nil, nil, nil, nil).Read()
	switch {
	case result.Err != nil:
		return result.Err
	case len(result.Rows) != 1 || string(result.Rows[0][0]) != "0":
		return fmt.Errorf("%w: schema %s has other tables: use another database", ErrForeign, schemaName)
	}
	return nil
}

// verify compares the applied steps with those that this program knows.
func verify(have []applied, steps []sqlstore.Migration) error {
	for i, a := range have {
		if a.checksum != steps[i].Checksum() {
			return fmt.Errorf("%w: migration %s is not the one that this parley knows: use the parley that made the schema",
				ErrForeign, a.name)
		}
	}
	return nil
}

func hasCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// Pending returns the names of the migrations that Open would apply to the database at an address. It changes
// nothing. It returns ErrNewer as Open does, and ErrInUse if hubs of an earlier version must be stopped first.
func Pending(ctx context.Context, address string) (names []string, err error) {
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		return nil, err
	}
	err = visit(ctx, address, func(c *conn) error {
		have, err := layout(ctx, c)
		if err == nil {
			err = verify(have[:min(len(have), len(steps))], steps)
		}
		n := len(have)
		switch {
		case err != nil:
			return err
		case n >= len(steps):
			return survives(ctx, c, n, len(steps))
		case n >= membersLayout && n < leastLayout:
			err = noMembers(ctx, c)
		}
		for _, m := range steps[n:] {
			names = append(names, m.Name)
		}
		return err
	})
	return names, err
}
