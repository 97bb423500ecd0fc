package grpcbind

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/membudget"
)

// leastRate is the number of bytes of a large message that a caller must read in a second, beyond
// Limits.SendTime.
const leastRate = 256 << 10

// outgoing is a message to a caller, encoded like the message itself. The codec of Server counts a
// large one until gRPC has written it: gRPC keeps its bytes after the call has ended, as long as
// its caller does not read them.
type outgoing struct {
	proto.Message

	memory *membudget.Budget
	meter  *meter
	limit  time.Duration
}

// outgoing returns the form of m in which it is passed to gRPC.
func (s *base) outgoing(ctx context.Context, m any) any {
	message, ok := m.(proto.Message)
	conn := meterOf(ctx)
	if !ok || conn == nil {
		return m
	}
	return &outgoing{message, s.engine.Memory(), conn, s.cfg.Limits.SendTime}
}

// sending is the memory of a large message until it is written.
type sending struct {
	meter   *meter
	encoded mem.Buffer
	hold    *membudget.Hold
	timer   *time.Timer
}

// sent returns b, whose release is the end of its sending. A caller that does not read it in time
// loses its connection.
func (o *outgoing) sent(b mem.Buffer) mem.Buffer {
	n := int64(b.Len())
	s := &sending{meter: o.meter, encoded: b, hold: o.memory.Count(n)}
	s.timer = time.AfterFunc(math.MaxInt64, func() { s.meter.Close() })
	s.timer.Reset(o.limit + time.Duration(n)*time.Second/leastRate)
	if !s.meter.sends(s) {
		s.end()
	}
	data := b.ReadOnlyData()
	return mem.NewBuffer(&data, s)
}

// Get implements mem.BufferPool.
func (s *sending) Get(n int) *[]byte { return mem.DefaultBufferPool().Get(n) }

// Put implements mem.BufferPool. gRPC calls it when the message is written.
func (s *sending) Put(*[]byte) {
	s.encoded.Free()
	s.end()
}

// end is called when the message is written, or its connection has ended.
func (s *sending) end() {
	s.timer.Stop()
	s.meter.sentOut(s)
	s.hold.Release()
}

// sends notes a message that is sent. It reports false if the connection has ended.
func (m *meter) sends(s *sending) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	if m.sending == nil {
		m.sending = make(map[*sending]struct{})
	}
	m.sending[s] = struct{}{}
	return true
}

func (m *meter) sentOut(s *sending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sending, s)
}

// Close implements net.Conn. It releases the messages that were not written.
func (m *meter) Close() error {
	err := m.Conn.Close()
	m.mu.Lock()
	m.closed = true
	all := m.sending
	m.sending = nil
	m.mu.Unlock()
	for s := range all {
		s.end()
	}
	return err
}
