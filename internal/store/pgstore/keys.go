package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/task"
)

// Keys is the store of API keys in a database. Only their hashes are stored.
type Keys struct{ db *DB }

var _ auth.KeyStore = Keys{}

// Keys returns the store of API keys in the database.
func (db *DB) Keys() Keys { return Keys{db} }

var (
	qKeys   = prepared("SELECT id, hash, hint, principal, created_at, expires_at, revoked_at FROM keys ORDER BY seq")
	qPutKey = prepared(`INSERT INTO keys (id, hash, hint, principal, created_at, expires_at, revoked_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET
	hash = excluded.hash, hint = excluded.hint, principal = excluded.principal,
	created_at = excluded.created_at, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`)
)

// Keys implements auth.KeyStore.
func (k Keys) Keys(ctx context.Context) ([]auth.Key, error) {
	var all []auth.Key
	err := k.db.read(ctx, func(c *conn) error {
		s := c.start(qKeys)
		for s.next() {
			key, err := s.getKey()
			if err != nil {
				return err
			}
			all = append(all, key)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return all, nil
}

func (s *stmt) getKey() (auth.Key, error) {
	k := auth.Key{ID: s.getText()}
	copy(k.Hash[:], s.getBlob())
	k.Hint = s.getText()
	if err := json.Unmarshal([]byte(s.getText()), &k.Principal); err != nil {
		return auth.Key{}, fmt.Errorf("%w: principal of key %s: %w", task.ErrCorrupt, k.ID, err)
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = s.getTime(), s.getTime(), s.getTime()
	return k, nil
}

// getTime returns the zero time for 0.
func (s *stmt) getTime() time.Time {
	ms := s.getInt()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// time binds 0 for the zero time.
func (s *stmt) time(t time.Time) {
	if t.IsZero() {
		s.int(0)
		return
	}
	s.int(t.UnixMilli())
}

// PutKey implements auth.KeyStore. Times are truncated to milliseconds.
func (k Keys) PutKey(ctx context.Context, key *auth.Key) error {
	principal, err := json.Marshal(&key.Principal)
	if err != nil {
		return fmt.Errorf("put key %s: %w", key.ID, err)
	}
	row := *key // the writer may run after the caller has returned
	err = k.db.write(ctx, func(w *writer) error {
		w.touched(cluster.TopicKeys)
		s := w.conn.start(qPutKey)
		s.text(row.ID)
		s.blob(row.Hash[:])
		s.text(row.Hint)
		s.text(string(principal))
		s.time(row.CreatedAt)
		s.time(row.ExpiresAt)
		s.time(row.RevokedAt)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("put key %s: %w", key.ID, err)
	}
	return nil
}
