package grpcbind

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// slowCodec takes a second for each message, and counts those that it decodes at one time.
type slowCodec struct {
	encoding.CodecV2

	now, most atomic.Int64
}

// Unmarshal sleeps in the bubble of its test.
func (c *slowCodec) Unmarshal(mem.BufferSlice, any) error {
	if n := c.now.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	time.Sleep(time.Second)
	c.now.Add(-1)
	return nil
}

// Large messages are decoded in turns; small ones do not wait for them.
func TestLargeMessagesAreDecodedInTurns(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int64{largeMessage + 1: 2, largeMessage: 5} {
		synctest.Test(t, func(t *testing.T) {
			slow := new(slowCodec)
			c := &turns{slow, make(chan struct{}, 2)}
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(make([]byte, size))}, nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := slow.most.Load(); got != want {
				t.Errorf("%d messages of %d bytes were decoded at one time, want %d", got, size, want)
			}
		})
	}
}
