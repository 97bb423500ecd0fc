package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// mendNames gives new names to owners and agents whose names are lost, so that their tasks are kept.
func (r *Salvaged) mendNames(c *conn) error {
	for _, text := range []string{
		"INSERT OR IGNORE INTO owners SELECT DISTINCT owner, 'lost-' || owner FROM tasks WHERE owner NOT IN (SELECT id FROM owners)",
		"INSERT OR IGNORE INTO scopes SELECT DISTINCT scope, owner, 'lost-' || scope FROM tasks WHERE scope NOT IN (SELECT id FROM scopes)",
	} {
		if err := c.script(text); err != nil {
			return err
		}
		r.Renamed += int64(c.raw.Changes())
	}
	return nil
}

// orphans delete the rows that belong to no task.
var orphans = []string{
	"DELETE FROM tasks WHERE scope NOT IN (SELECT s.id FROM scopes s JOIN owners o ON o.id = s.owner)",
	"DELETE FROM doomed",
	"DELETE FROM pieces WHERE EXISTS (SELECT 1 FROM staged WHERE id >= first AND id < first + n)",
	"DELETE FROM staged",
	"DELETE FROM entries WHERE place >> 24 NOT IN (SELECT key FROM tasks)",
	"DELETE FROM pieces WHERE place NOT IN (SELECT place FROM entries)",
	"DELETE FROM hooks WHERE task NOT IN (SELECT key FROM tasks)",
	"DELETE FROM dead_letters WHERE task NOT IN (SELECT key FROM tasks)",
	"DELETE FROM requests WHERE task NOT IN (SELECT key FROM tasks)",
	"DELETE FROM messages WHERE task NOT IN (SELECT key FROM tasks)",
	"DELETE FROM journal WHERE place >> 24 NOT IN (SELECT key FROM tasks)",
	"DELETE FROM sidecars WHERE place & 549755813887 NOT IN (SELECT key FROM tasks)",
}

// mendTables deletes what belongs to no task, and makes counters and numbers anew. next is the
// next key of the old file, zero if it is not known.
func (r *Salvaged) mendTables(c *conn, next int64) error {
	for _, text := range orphans {
		if err := c.script(text); err != nil {
			return err
		}
	}
	var drop []string
	err := tables.EachDamaged(c, func(r tables.BesideRow) {
		drop = append(drop, fmt.Sprintf("DELETE FROM %s WHERE %s = %d", r.Table, r.Column, r.Number))
	})
	if err != nil {
		return err
	}
	for _, text := range drop {
		if err := c.script(text); err != nil {
			return err
		}
	}
	if err := c.script(forgetAuditHead); err != nil {
		return err
	}
	return c.script(fmt.Sprintf(`DELETE FROM counters;
		INSERT INTO counters SELECT scope, state, count(*) FROM tasks WHERE shown = 0 GROUP BY 1, 2;
		UPDATE sequence SET next_key = max(next_key, %d, (SELECT coalesce(max(key), 0) + 1 FROM tasks))`, next))
}

// forgetAuditHead forgets the last known entry of an audit log. The next hub notes it again.
const forgetAuditHead = "DELETE FROM notes WHERE name = 'audit.head'"

// mendTasks compares each task with its log, and cuts or deletes the entries that do not fit.
func (r *Salvaged) mendTasks(ctx context.Context, db *DB) error {
	lost, err := writeValue(ctx, db, func(w *writer) (int64, error) {
		return w.conn.number("SELECT count(DISTINCT place >> 24) FROM entries WHERE place >> 24 NOT IN (SELECT key FROM tasks UNION SELECT task FROM doomed)")
	})
	if err != nil {
		return err
	}
	r.Lost += lost
	for last := int64(0); ; {
		keys, err := writeValue(ctx, db, func(w *writer) (keys []int64, err error) {
			s := w.conn.start(qKeysAfter)
			s.int(last)
			for s.next() {
				keys = append(keys, s.Int())
			}
			return keys, s.err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = db.write(ctx, func(w *writer) error {
			for _, key := range keys {
				if err := r.mendTask(w.conn, key); err != nil {
					return fmt.Errorf("task %d: %w", key, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		last = keys[len(keys)-1]
	}
}

// lostBody is the status message of a task whose log was cut.
const lostBody = `{"messageId":"repaired","role":"ROLE_AGENT","parts":[{"text":"The stored data of this task was damaged, and its end is lost."}]}`

// mendTask deletes a task without a beginning, and ends one whose log is cut.
func (r *Salvaged) mendTask(c *conn, key int64) error {
	l := taskLog{keep: true}
	err := l.read(c, key)
	switch {
	case err == nil:
		r.Tasks++
		r.Entries += l.again.Version
		return nil
	case !damaged(err):
		return err // of the new file
	case len(l.kept) == 0:
		r.Lost++
		return c.script(fmt.Sprintf("DELETE FROM tasks WHERE key = %d", key))
	}
	return r.cutTask(c, &l)
}

// cutTask ends a log with the entries that were kept. A task that has not ended there fails.
func (r *Salvaged) cutTask(c *conn, l *taskLog) error {
	h, again := &l.head, l.again
	again.Key, again.ID, again.Owner, again.Agent, again.ContextID = h.Key, h.ID, h.Owner, h.Agent, h.ContextID
	again.Assigned, again.Dialect, again.Visibility, again.Rev = h.Assigned, h.Dialect, h.Visibility, h.Rev+1
	again.Consumed, again.Run = again.LastMessage, task.Run{Epoch: h.Run.Epoch + 1, Attempt: h.Run.Attempt}
	if !again.State.Terminal() {
		next, e, err := task.Apply(again, task.Entry{Kind: task.Status, State: task.Failed, At: task.MillisOf(time.Now()), Body: []byte(lostBody)})
		if err != nil {
			return err
		}
		again, l.kept = next, append(l.kept, e)
		r.ends = append(r.ends, task.Moment{Key: h.Key, First: again.Version, Last: again.Version})
	}
	r.Tasks++
	r.Entries += again.Version
	r.Cut = append(r.Cut, again.ID)
	if err := writeRows(c, h.Key, l.kept); err != nil {
		return err
	}
	s := c.start(qSetTask)
	bindStatus(&s, &again)
	bindRun(&s, &change{Change: sqlstore.Change{Next: again, Rest: sqlstore.AppendHead(nil, &again)}})
	s.int(int64(again.Key))
	return s.done()
}

// writeRows replaces the log of a task.
func writeRows(c *conn, key task.Key, es []task.Entry) error {
	if err := tables.DropEntries(c, key); err != nil {
		return err
	}
	s := c.start(qDeletePieces)
	bindPlaces(&s, int64(key))
	if err := s.done(); err != nil {
		return err
	}
	for len(es) > 0 {
		n := sqlstore.Fit(es)
		if err := addRow(c, key, es[:n]); err != nil {
			return err
		}
		es = es[n:]
	}
	return nil
}

func addRow(c *conn, key task.Key, es []task.Entry) error {
	s := c.start(qAddEntries)
	s.int(sqlstore.Place(key, es[0].Version))
	s.blob(sqlstore.AppendEntries(nil, es))
	return s.done()
}

var qSetTask = prepared(`UPDATE tasks SET
	shown = ?, state = ?, status_at = ?, ended = ?, due = ?,
	rev = ?, version = ?, updated_at = ?, rest = ? WHERE key = ?`)
