package grpcbind

import (
	"runtime"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// largeMessage is the size in bytes above which messages are decoded one after another.
const largeMessage = 1 << 20

// turns is a codec that decodes few large messages at one time: while it does, a message occupies
// three times its size, and a processor.
type turns struct {
	encoding.CodecV2

	places chan struct{}
}

// newTurns returns the codec of protocol buffers that leaves a processor to small messages.
func newTurns() *turns {
	return &turns{encoding.GetCodecV2("proto"), make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
}

// Unmarshal implements encoding.CodecV2.
func (c *turns) Unmarshal(b mem.BufferSlice, v any) error {
	if b.Len() > largeMessage {
		c.places <- struct{}{}
		defer func() { <-c.places }()
	}
	return c.CodecV2.Unmarshal(b, v)
}
