package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// Tasks are the tables of tasks and the ones beside them, except for the operations of every message: a
// store itself appends and reads heads and entries, and lists the tasks of an owner.
type Tasks struct {
	DB TaskDB
	// Damaged is the error of the database for damaged data.
	Damaged error
}

// TaskDB is a database with tasks.
type TaskDB interface {
	DB
	HeadReader
	TaskTransactor
	WordIndex
}

// TaskTransactor runs transactions that only stores of tasks need.
type TaskTransactor interface {
	// ReadOf is like Read, for the data of one task.
	ReadOf(ctx context.Context, key task.Key, f func(Conn) error) error
	// WriteLarge is like Write, for a transaction that writes size bytes.
	WriteLarge(ctx context.Context, size int, f func(Conn) error) error
	// Change is like Write, with the data of the transaction.
	Change(ctx context.Context, f func(*Change) error) error
}

// HeadReader reads heads in the way of a database.
type HeadReader interface {
	// Heads returns the heads of tasks; those of deleted ones are missing.
	Heads(c Conn, keys []int64) ([]task.Head, error)
	// Interrupted returns the newest interrupted task of the owner with a number, in any context.
	Interrupted(c Conn, q *task.Query, owner int64) ([]task.Head, error)
}

// Change is a transaction that changes tasks.
type Change struct {
	Conn
	Counters *Counters
	Moments  *sqlstore.Moments
	// Slowly reports whether the entries of a task are not deleted with it, but later.
	Slowly func(key task.Key, version int64) (bool, error)
}

// TaskRow is a row of statements with HeadColumns, which a [TaskDB] returns.
type TaskRow interface {
	Row
	// ReadHead reads the next columns into h, which is zero: heads are large. If the error wraps
	// task.ErrCorrupt, h has the fields with columns, and the next row can be read.
	ReadHead(h *task.Head) error
	// Damage reports damaged data of a task that does not end the loop over the rows.
	Damage(id a2a.TaskID, err error)
	// ID returns the next column.
	ID() string
}

// HeadColumns are the columns of a head in tasks t, in the order in which a TaskRow reads them.
const HeadColumns = `t.status_at, t.key, t.scope, t.id, t.context,
	t.shown, t.state, t.rev, t.version, t.updated_at, t.rest`

func scanHead(row Row, h *task.Head) error {
	return row.(TaskRow).ReadHead(h)
}

// Spared reports whether err, of the head of one of several tasks, is damage that costs the others
// nothing. The head then has the fields with columns alone. A read of this task is an error.
func Spared(h *task.Head, err error) bool {
	if !errors.Is(err, task.ErrCorrupt) || h.Owner == "" {
		return false
	}
	*h = task.Head{
		Key: h.Key, ID: h.ID, Owner: h.Owner, Agent: h.Agent, ContextID: h.ContextID,
		Visibility: h.Visibility, State: h.State, StatusAt: h.StatusAt,
		Rev: h.Rev, Version: h.Version, UpdatedAt: h.UpdatedAt,
	}
	return true
}

// scanListed is scanHead for one of several tasks.
func scanListed(row Row, h *task.Head) error {
	r := row.(TaskRow)
	err := r.ReadHead(h)
	if Spared(h, err) {
		r.Damage(h.ID, err)
		return nil
	}
	return err
}

// Aliases are in the table of messages, because most of them are ids of messages.
var qByAlias = prepared("SELECT " + HeadColumns + ` FROM messages m
	/*sqlite CROSS*/ JOIN tasks t ON t.key = m.task
	WHERE m.owner = $1 AND m.id = $2 AND t.shown = 0
	AND ($3 = '' OR t.scope = (SELECT id FROM scopes WHERE owner = $1 AND agent = $3))
	ORDER BY m.task DESC LIMIT 1`)

// ByAlias implements task.Aliases.
func (t Tasks) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (found task.Head, err error) {
	there := false
	err = t.DB.Read(ctx, func(c Conn) error {
		number, err := c.Names().Owner(c, owner)
		if err == nil && number != 0 {
			found, there, err = one(c, scanHead, qByAlias, number, alias, agent)
		}
		return err
	})
	if err == nil && !there {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	return found, nil
}

var (
	qRequest = prepared("SELECT r.fingerprint, r.at, r.version, " + HeadColumns + ` FROM scopes s
	/*sqlite CROSS*/ JOIN requests r ON r.scope = s.id AND r.key = $3
	/*sqlite CROSS*/ JOIN tasks t ON t.key = r.task
	WHERE s.owner = $1 AND s.agent = $2`)

	qSweepRequests = prepared(`DELETE FROM requests WHERE (scope, key) IN
	(SELECT scope, key FROM requests WHERE at < $1 ORDER BY at LIMIT $2 /*postgres{*/ FOR UPDATE SKIP LOCKED /*}*/)`)
)

func scanRequested(row Row, r *task.Requested) error {
	scan(row, &r.Fingerprint, &r.At, &r.Version)
	return scanHead(row, &r.Head)
}

// Request implements task.Requests.
func (t Tasks) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (found task.Requested, err error) {
	there := false
	err = t.DB.Read(ctx, func(c Conn) error {
		number, err := c.Names().Owner(c, owner)
		if err == nil && number != 0 {
			found, there, err = one(c, scanRequested, qRequest, number, agent, key)
		}
		return err
	})
	if err == nil && !there {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	found.Key = key
	return found, nil
}

// SweepRequests implements task.Requests.
func (t Tasks) SweepRequests(ctx context.Context, before task.Millis, limit int) (int, error) {
	n, err := change(ctx, t.DB, qSweepRequests, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	return n, nil
}

var (
	qDue = prepared("SELECT " + HeadColumns + ` FROM tasks t
	WHERE t.due = 1 AND t.key > $1 ORDER BY t.key LIMIT $2`)

	// The first inner statement needs only the index, and excludes most active contexts. A task
	// without a context is alone. SQLite, which has no column of dispatch, returns all rows: a
	// negative limit is none.
	qStale = prepared("SELECT " + HeadColumns + ` FROM tasks t
	WHERE t.state IN (6, 8) AND t.status_at < $1 AND t.ended = 0 /*postgres{*/ AND t.dispatch = 0 /*}*/ AND t.updated_at < $1
	AND NOT EXISTS (SELECT 1 FROM tasks u WHERE t.context <> ''
		AND u.owner = t.owner AND u.context = t.context AND u.shown IN (0, 1, 2) AND u.status_at >= $1)
	AND NOT EXISTS (SELECT 1 FROM tasks u WHERE t.context <> ''
		AND u.owner = t.owner AND u.context = t.context AND u.updated_at >= $1)
	ORDER BY t.status_at LIMIT /*sqlite -*/ $2`)
)

// Due implements task.Work.
func (t Tasks) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	found, err := t.some(ctx, limit, qDue, int64(after))
	if err != nil {
		return nil, fmt.Errorf("due tasks: %w", err)
	}
	return found, nil
}

// Stale implements task.Work. It returns the tasks with the oldest status first.
func (t Tasks) Stale(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
	found, err := t.some(ctx, limit, qStale, int64(before))
	if err != nil {
		return nil, fmt.Errorf("stale tasks: %w", err)
	}
	return found, nil
}

// some returns up to limit heads that q returns for the value from. For qStale, it omits tasks
// with a run.
func (t Tasks) some(ctx context.Context, limit int, q Query, from int64) (found []task.Head, err error) {
	if limit <= 0 {
		return nil, fmt.Errorf("limit %d must be positive", limit)
	}
	err = t.DB.Read(ctx, func(c Conn) error {
		found = nil
		for row, err := range c.Rows(q, from, limit) {
			if err != nil {
				return err
			}
			var h task.Head
			if err := scanListed(row, &h); err != nil {
				return err
			}
			if q != qStale || h.Run.Dispatch == task.Idle {
				found = append(found, h)
			}
			if len(found) == limit {
				break
			}
		}
		return nil
	})
	return found, err
}

var qProbe = prepared("UPDATE sequence SET probes = probes + 1 WHERE one = 1")

// Probe commits a small change. It implements task.Prober.
func (t Tasks) Probe(ctx context.Context) error {
	if err := exec(ctx, t.DB, qProbe); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

var qStates = prepared("SELECT state, CAST(sum(n) AS bigint) FROM counters GROUP BY state")

// States returns the number of tasks in each state, for all owners together. It reads counters:
// the cost depends on the number of owners, not on that of their tasks. Tasks that are not
// shown to their caller do not count.
func (t Tasks) States(ctx context.Context) (states map[task.State]int, err error) {
	err = t.DB.Read(ctx, func(c Conn) (err error) {
		states, err = States(c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count tasks by state: %w", err)
	}
	return states, nil
}

// States returns the number of visible tasks in each state.
func States(c Conn) (map[task.State]int, error) {
	states := make(map[task.State]int)
	err := eachRow(c, qStates, nil, func(row Row) error {
		state := task.State(row.Int())
		states[state] = int(row.Int())
		return nil
	})
	return states, err
}
