package hubclient

import (
	"sync"
)

// keyLocks serializes the holders of each key. The zero keys are ready to use.
type keyLocks struct {
	mu   sync.Mutex // guards held, and the counts in it
	held map[string]*keyLock
}

// keyLock is the lock of one key.
type keyLock struct {
	sync.Mutex
	n int // holders and waiters
}

// lock waits until the key is free, and returns a function that releases it. The empty key is
// never locked.
func (k *keyLocks) lock(key string) (free func()) {
	if key == "" {
		return func() {}
	}
	k.mu.Lock()
	if k.held == nil {
		k.held = make(map[string]*keyLock)
	}
	t := k.held[key]
	if t == nil {
		t = new(keyLock)
		k.held[key] = t
	}
	t.n++
	k.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if t.n--; t.n == 0 {
			delete(k.held, key)
		}
	}
}
