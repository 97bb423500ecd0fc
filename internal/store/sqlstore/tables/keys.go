package tables

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// Keys is the store of API keys. Only their hashes are stored. See [NewKeys].
type Keys struct{ db DB }

var _ auth.KeyStore = Keys{}

// NewKeys returns the API keys in db.
func NewKeys(db DB) Keys { return Keys{db} }

var (
	qKeys   = prepared("SELECT id, hash, hint, principal, created_at, expires_at, revoked_at FROM keys ORDER BY seq")
	qPutKey = changing(cluster.TopicKeys, `INSERT INTO keys (id, hash, hint, principal, created_at, expires_at, revoked_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET
	hash = excluded.hash, hint = excluded.hint, principal = excluded.principal,
	created_at = excluded.created_at, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`)
)

func scanKey(row Row, k *auth.Key) error {
	var hash []byte
	var principal string
	scan(row, &k.ID, &hash, &k.Hint, &principal, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt)
	copy(k.Hash[:], hash)
	if err := json.Unmarshal([]byte(principal), &k.Principal); err != nil {
		return fmt.Errorf("%w: principal of key %s: %w", task.ErrCorrupt, k.ID, err)
	}
	return nil
}

// Keys implements auth.KeyStore.
func (k Keys) Keys(ctx context.Context) ([]auth.Key, error) {
	all, err := list(ctx, k.db, scanKey, qKeys)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return all, nil
}

// PutKey implements auth.KeyStore. Times are truncated to milliseconds.
func (k Keys) PutKey(ctx context.Context, key *auth.Key) error {
	principal, err := json.Marshal(&key.Principal)
	if err == nil {
		row := *key // the writer may run after the caller has returned
		err = exec(ctx, k.db, qPutKey, row.ID, row.Hash[:], row.Hint, string(principal), row.CreatedAt, row.ExpiresAt, row.RevokedAt)
	}
	if err != nil {
		return fmt.Errorf("put key %s: %w", key.ID, err)
	}
	return nil
}
