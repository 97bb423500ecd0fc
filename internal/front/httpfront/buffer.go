package httpfront

import "sync"

// maxPooled is the largest buffer that is returned to the pool: sufficient for a piece of a fast
// stream.
const maxPooled = 128 << 10

// buffer is a byte slice from the pool.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 4<<10)} }}

// takeBuffer returns an empty buffer. The caller returns it with put when nothing refers to its
// bytes any more.
func takeBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) put() {
	if cap(b.b) > maxPooled {
		return
	}
	b.b = b.b[:0]
	buffers.Put(b)
}
