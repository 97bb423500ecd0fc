package shards

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// MaxShards is the largest number of shards.
const MaxShards = 256

// maxKeys bounds the tasks of each of the two generations whose owners are known without a search.
const maxKeys = 1 << 16

// keys knows the owners of tasks, which never change.
type keys struct {
	mu       sync.Mutex // guards the fields below
	now, old map[task.Key]task.Owner
}

// add notes the owner of a task.
func (k *keys) add(key task.Key, owner task.Owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil || len(k.now) >= maxKeys {
		k.old, k.now = k.now, make(map[task.Key]task.Owner)
	}
	k.now[key] = owner
}

// get returns the owner of a task, if it is known.
func (k *keys) get(key task.Key) (owner task.Owner, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if owner, known = k.now[key]; known {
		return owner, true
	}
	if owner, known = k.old[key]; known && len(k.now) < maxKeys {
		k.now[key] = owner // for another generation
	}
	return owner, known
}

// addAll notes the owners of heads.
func (k *keys) addAll(heads []task.Head) {
	for i := range heads {
		if heads[i].Owner != "" {
			k.add(heads[i].Key, heads[i].Owner)
		}
	}
}

// ownerOf returns the owner of a task. If it is not known, all shards are asked.
func (db *DB) ownerOf(ctx context.Context, key task.Key) (task.Owner, error) {
	if owner, known := db.keys.get(key); known {
		return owner, nil
	}
	err := fmt.Errorf("task %d: %w", key, task.ErrNotFound)
	for _, s := range db.all {
		var owner task.Owner
		found := false
		failed := s.use(func(in pgstore.Tasks) (err error) {
			owner, found, err = in.OwnerOf(ctx, key)
			return err
		})
		switch {
		case found:
			db.keys.add(key, owner)
			return owner, nil
		case errors.Is(failed, task.ErrPartly):
			err = failed // it may be there
		case failed != nil:
			return "", failed
		}
	}
	return "", err
}
