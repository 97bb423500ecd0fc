package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

var (
	qRequestAge = prepared("SELECT at FROM requests WHERE scope = ? AND key = ?")

	qPutRequest = prepared(`INSERT INTO requests (scope, key, fingerprint, task, version, at) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (scope, key) DO UPDATE SET
	fingerprint = excluded.fingerprint, task = excluded.task, version = excluded.version, at = excluded.at`)

	qRequest = prepared("SELECT r.fingerprint, r.at, r.version, " + columns + ` FROM scopes s
	CROSS JOIN requests r ON r.scope = s.id AND r.key = ?3
	CROSS JOIN tasks t ON t.key = r.task
	WHERE s.owner = ?1 AND s.agent = ?2`)

	qSweepRequests = prepared(`DELETE FROM requests WHERE (scope, key) IN
	(SELECT scope, key FROM requests WHERE at < ?1 ORDER BY at LIMIT ?2)`)
)

// keyUsed reports whether an earlier request of the scope has the key of r.
func (w *writer) keyUsed(r *task.Request, scope int64) (bool, error) {
	s := w.conn.start(qRequestAge)
	s.int(scope)
	s.text(r.Key)
	if !s.next() {
		return false, s.err
	}
	at := task.Millis(s.getInt())
	s.close()
	return at >= r.Since, s.err
}

// putRequest stores the request of a change.
func (w *writer) putRequest(ch *change, scope int64) error {
	s := w.conn.start(qPutRequest)
	s.int(scope)
	s.text(ch.request.Key)
	s.blob(ch.request.Fingerprint)
	s.int(int64(ch.next.Key))
	s.int(ch.next.Version)
	s.int(int64(ch.request.At))
	if err := s.done(); err != nil {
		return fmt.Errorf("insert request: %w", err)
	}
	return nil
}

// Request implements task.Requests.
func (t Tasks) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (task.Requested, error) {
	found, there := task.Requested{Request: task.Request{Key: key}}, false
	err := t.db.read(ctx, func(c *conn) error {
		number, err := c.owner(owner)
		if err != nil || number == 0 {
			return err
		}
		s := c.start(qRequest)
		s.int(number)
		s.text(string(agent))
		s.text(key)
		if !s.next() {
			return s.err
		}
		there = true
		found.Fingerprint, found.At, found.Version = s.getBlob(), task.Millis(s.getInt()), s.getInt()
		found.Head = getHead(&s)
		s.close()
		return s.err
	})
	if err == nil && !there {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	return found, nil
}

// SweepRequests implements task.Requests.
func (t Tasks) SweepRequests(ctx context.Context, before task.Millis, limit int) (int, error) {
	n, err := writeValue(ctx, t.db, func(w *writer) (int, error) {
		s := w.conn.start(qSweepRequests)
		s.int(int64(before))
		s.int(int64(limit))
		return s.changed()
	})
	if err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	return n, nil
}
