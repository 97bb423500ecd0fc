package pgstore

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// ownerLock is the first half of the key of the lock of the only mover that changes the tasks of an owner.
	ownerLock = 0x50726c7b
	// ownerWait is the time for which a mover waits for the connection of an earlier one to end.
	ownerWait = 2 * time.Second
	// triggerWait limits the time for which a change of triggers makes others wait, and triggerTries its attempts.
	triggerWait  = "250ms"
	triggerTries = 40
)

// carrier is a connection that moves the tasks of an owner. No other carrier of the owner changes the database
// until it is closed.
type carrier struct {
	*conn
	owner  task.Owner
	number int64 // of the owner
}

// carry opens a carrier.
func (db *DB) carry(ctx context.Context, owner task.Owner) (*carrier, error) {
	at := *db.member.place
	at.settings = maps.Clone(at.settings)
	at.settings["statement_timeout"] = "0"
	at.settings["idle_in_transaction_session_timeout"] = "0"
	// Keys are read in the order of their index, however many follow.
	at.settings["enable_bitmapscan"], at.settings["enable_sort"] = "off", "off"
	c, err := dial(ctx, &at)
	if err != nil {
		return nil, unavailableNow(err)
	}
	in := &carrier{conn: c, owner: owner}
	err = c.advisory(ctx, fmt.Sprintf("pg_advisory_lock(%d, %d)", int32(ownerLock), int32(crc32.ChecksumIEEE([]byte(owner)))), ownerWait, ErrMoving)
	if err == nil {
		in.number, err = (&tables.Names{}).Owner(c, owner)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return in, nil
}

// enroll gives the owner a number, if it has none.
func (c *carrier) enroll(ctx context.Context) error {
	if c.number != 0 {
		return nil
	}
	added, err := c.numbers64(ctx, "INSERT INTO owners (name) VALUES ("+bytea(string(c.owner))+") ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id")
	if err == nil {
		c.number = added[0]
	}
	return err
}

// triggers returns the statements that enable or disable the triggers that note changes. They wait for the transactions
// that write, and those that begin meanwhile wait for them; readers do not.
func triggers(how string) (text string) {
	for _, table := range [...]string{"tasks", "hooks", "task_words", "sidecars"} {
		text += "ALTER TABLE " + table + " " + how + " TRIGGER shard_moving;"
	}
	return text
}

// movingLock begins a transaction that decides whether owners move: one carrier does so at a time.
const movingLock = "BEGIN; SET LOCAL lock_timeout = '" + triggerWait + "'; LOCK TABLE shard_moving IN EXCLUSIVE MODE;"

// watch makes the database note the changes of the owner's tasks.
func (c *carrier) watch(ctx context.Context) error {
	return c.patiently(ctx, func() error {
		return c.script(ctx, movingLock+fmt.Sprintf("INSERT INTO shard_moving VALUES (%d) ON CONFLICT DO NOTHING;", c.number)+triggers("ENABLE")+"COMMIT")
	})
}

// settle ends what watch has begun.
func (c *carrier) settle(ctx context.Context) error {
	return c.patiently(ctx, func() error {
		left, err := c.numbers64(ctx, fmt.Sprintf("SELECT owner FROM shard_moving WHERE owner = %d", c.number))
		if err != nil || len(left) == 0 {
			return err
		}
		if err := c.script(ctx, movingLock+fmt.Sprintf("DELETE FROM shard_moving WHERE owner = %d; DELETE FROM shard_changes WHERE owner = %[1]d", c.number)); err != nil {
			return err
		}
		others, err := c.numbers64(ctx, "SELECT owner FROM shard_moving LIMIT 1")
		if err != nil {
			return err
		}
		enabled, err := c.numbers64(ctx, "SELECT 1::bigint FROM pg_trigger WHERE tgname = 'shard_moving' AND tgenabled <> 'D'")
		if err == nil && len(others) == 0 && len(enabled) > 0 {
			err = c.script(ctx, triggers("DISABLE"))
		}
		if err != nil {
			return err
		}
		return c.script(ctx, "COMMIT")
	})
}

// patiently runs a transaction again if it could not get its locks in time, so that writers do not wait long for it.
func (c *carrier) patiently(ctx context.Context, f func() error) error {
	for tries := 1; ; tries++ {
		err := f()
		if err == nil {
			return nil
		}
		if err := c.script(ctx, "ROLLBACK"); err != nil {
			return err
		}
		if !hasCode(err, "55P03") && !hasCode(err, deadlock) || tries == triggerTries {
			return fmt.Errorf("watch the changes of an owner: %w", err)
		}
		if err := backoff.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// numbers64 returns the first column of the rows that a statement returns.
func (c *conn) numbers64(ctx context.Context, text string) (all []int64, err error) {
	result := c.raw.ExecParams(ctx, text, nil, nil, nil, formats[:1]).Read()
	for _, row := range result.Rows {
		s := stmt{conn: c, row: row, at: -1}
		all = append(all, s.Int())
		if s.err != nil {
			return nil, s.err
		}
	}
	return all, result.Err
}

// next returns the keys of the owner's tasks after a key.
func (c *carrier) next(ctx context.Context, after int64) ([]int64, error) {
	return c.numbers64(ctx, fmt.Sprintf("SELECT key FROM tasks WHERE owner = %d AND key > %d ORDER BY key LIMIT %d", c.number, after, transferTasks))
}

// Remove removes the tasks of an owner that is in another shard.
func (db *DB) Remove(ctx context.Context, owner task.Owner) error {
	c, err := db.carry(ctx, owner)
	if err != nil {
		return fmt.Errorf("remove the tasks of an owner from %s: %w", db.name, err)
	}
	if c.number != 0 {
		err = c.clear(ctx)
	}
	if err = errors.Join(err, c.close()); err != nil {
		return fmt.Errorf("remove the tasks of an owner from %s: %w", db.name, err)
	}
	return nil
}

// Settle ends the notes about a move of an owner whose place is this database.
func (db *DB) Settle(ctx context.Context, owner task.Owner) error {
	c, err := db.carry(ctx, owner)
	if err == nil {
		err = errors.Join(c.settle(ctx), c.close())
	}
	if err != nil {
		return fmt.Errorf("settle an owner in %s: %w", db.name, err)
	}
	return nil
}

// clear removes all that the database has of the owner, but its name.
func (c *carrier) clear(ctx context.Context) error {
	// Sweeps leave the tasks alone, so that the counters are not changed after they are removed.
	err := c.script(ctx, fmt.Sprintf(`INSERT INTO shard_moving VALUES (%d) ON CONFLICT DO NOTHING`, c.number))
	if err == nil {
		err = c.script(ctx, fmt.Sprintf("DELETE FROM counters WHERE scope IN (SELECT id FROM scopes WHERE owner = %d)", c.number))
	}
	for after := int64(0); err == nil; {
		var keys []int64
		if keys, err = c.next(ctx, after); err != nil || len(keys) == 0 {
			break
		}
		after = keys[len(keys)-1]
		err = c.script(ctx, "BEGIN;"+removal(keys)+removeEntries(keys)+"COMMIT")
	}
	if err == nil {
		space := bytea(c.space())
		err = c.script(ctx, "BEGIN; DELETE FROM part_refs WHERE owner = "+bytea(string(c.owner))+
			"; DELETE FROM part_chunks WHERE content IN (SELECT id FROM part_contents WHERE space = "+space+
			"); DELETE FROM part_contents WHERE space = "+space+"; COMMIT")
	}
	if err == nil {
		err = c.settle(ctx)
	}
	return err
}
