package memstore

import (
	"hash/maphash"
	"math/bits"

	"github.com/parley-a2a/parley/task"
)

// nameIndex finds tasks by two names. It holds a hash of the names instead of the names, so
// that the garbage collector need not scan it. The zero nameIndex is empty.
type nameIndex struct {
	keys map[uint64]task.Key
	// collisions are the tasks whose hash was already taken by another task.
	collisions map[[2]string]task.Key
	// hash is random unless a test has set it.
	hash func(a, b string) uint64
}

// find returns the key of the task with the names, or zero. Because different names may have
// the same hash, is verifies that a candidate has the names.
func (r *nameIndex) find(a, b string, is func(task.Key) bool) task.Key {
	if r.hash == nil {
		return 0
	}
	if key, ok := r.keys[r.hash(a, b)]; ok && is(key) {
		return key
	}
	return r.collisions[[2]string{a, b}]
}

// add adds the key of a task. No task with the names may be in the index.
func (r *nameIndex) add(a, b string, key task.Key) {
	if r.hash == nil {
		seed := maphash.MakeSeed()
		r.hash = func(a, b string) uint64 {
			return bits.RotateLeft64(maphash.String(seed, a), 1) ^ maphash.String(seed, b)
		}
	}
	if r.keys == nil {
		r.keys = make(map[uint64]task.Key)
		r.collisions = make(map[[2]string]task.Key)
	}
	hash := r.hash(a, b)
	if _, taken := r.keys[hash]; taken {
		r.collisions[[2]string{a, b}] = key
		return
	}
	r.keys[hash] = key
}

// remove removes the task with the names and the key.
func (r *nameIndex) remove(a, b string, key task.Key) {
	if r.hash == nil {
		return
	}
	if hash := r.hash(a, b); r.keys[hash] == key {
		delete(r.keys, hash)
		return
	}
	delete(r.collisions, [2]string{a, b})
}
