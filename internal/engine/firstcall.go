package engine

import (
	"sync"

	"github.com/parley-a2a/parley/internal/task"
)

const (
	// maxFirstCalls is the number of first calls that are cached, and maxFirstCall the largest
	// size of one in bytes.
	maxFirstCalls = 512
	maxFirstCall  = 4 << 10
)

// firstCalls caches the stored calls of the first messages of tasks with several messages, so
// that a further message does not read the beginning of the log. They never change. The zero
// firstCalls is empty.
type firstCalls struct {
	mu    sync.Mutex // guards calls
	calls map[task.Key][]byte
}

func (f *firstCalls) get(key task.Key) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call, ok := f.calls[key]
	return call, ok
}

func (f *firstCalls) put(key task.Key, call []byte) {
	if len(call) > maxFirstCall {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil || len(f.calls) >= maxFirstCalls {
		f.calls = make(map[task.Key][]byte)
	}
	f.calls[key] = call
}
