package testenv

import (
	"bytes"
	"sync"
)

// Buffer keeps writes, such as a log. Any number of goroutines may use it. The zero Buffer is
// empty.
type Buffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns all that has been written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
