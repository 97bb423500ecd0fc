package hubclient

import "sync"

// keys lets those with one key do something one after the other. The zero keys are ready to
// use.
type keys struct {
	mu   sync.Mutex // guards held, and the counts in it
	held map[string]*turns
}

// turns are those with one key.
type turns struct {
	sync.Mutex
	n int // how many have it, or wait
}

// hold waits until nobody else has the key, and returns what gives it back. The empty key is
// none.
func (k *keys) hold(key string) (free func()) {
	if key == "" {
		return func() {}
	}
	k.mu.Lock()
	if k.held == nil {
		k.held = make(map[string]*turns)
	}
	t := k.held[key]
	if t == nil {
		t = new(turns)
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
