package grpcbind

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
)

// The parts of HTTP/2 that a meter reads (RFC 9113).
const (
	prefaceSize     = 24
	frameHeaderSize = 9

	frameData    = 0
	frameHeaders = 1

	flagEndStream = 0x1
	flagPadded    = 0x8
)

// meterBuffer is the size of a meter's buffer. It holds a small message together with the head of
// its call.
const meterBuffer = 32 << 10

// metered is transport credentials whose connections are read through a meter.
type metered struct {
	credentials.TransportCredentials
}

// user is a connection that counts as idle unless a call uses it. Its listener may close idle ones to
// make room for others.
type user interface{ SetBusy(busy bool) }

// newMetered returns metered credentials; nil means no encryption.
func newMetered(c credentials.TransportCredentials) credentials.TransportCredentials {
	if c == nil {
		c = insecure.NewCredentials()
	}
	return metered{c}
}

// ServerHandshake implements credentials.TransportCredentials.
func (c metered) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	nc, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	m := newMeter(nc)
	m.user, _ = raw.(user)
	return m, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c metered) Clone() credentials.TransportCredentials {
	return metered{c.TransportCredentials.Clone()}
}

// meter is a connection that reads the sizes of the messages that arrive, before gRPC does. Each
// Read returns bytes of one frame at most, so that gRPC, which reads frames in one goroutine, has
// handled all earlier frames when it reads the next: the last head of a call that was read is the
// one that it handles.
type meter struct {
	net.Conn

	addr meterAddr
	user user // nil if the listener does not count

	// The reading goroutine owns the following fields.
	buf  []byte
	r, w int
	// left is the number of bytes of the current frame that were not read, skip that of its header.
	left, skip int
	begun      bool
	data       dataFrame
	// head is the stream of the last head of a call, ended whether the call has no message.
	head  uint32
	ended bool

	mu      sync.Mutex // guards the fields below
	streams map[uint32]*incoming
	// sending has the large messages that gRPC has not written; nil if there are none.
	sending map[*sending]struct{}
	closed  bool
	// calls is the number of calls that their handlers perform.
	calls int
}

// dataFrame is the rest of a DATA frame.
type dataFrame struct {
	in     *incoming // nil if the frame is of another kind, or its message is not watched
	left   int
	padded bool
	last   bool
}

func newMeter(nc net.Conn) *meter {
	m := &meter{Conn: nc, buf: make([]byte, meterBuffer), streams: make(map[uint32]*incoming)}
	m.addr = meterAddr{nc.RemoteAddr(), m}
	return m
}

// meterAddr is the address of a peer by which its meter is found.
type meterAddr struct {
	net.Addr

	meter *meter
}

// String implements net.Addr.
func (a meterAddr) String() string {
	if a.Addr == nil {
		return ""
	}
	return a.Addr.String()
}

// RemoteAddr implements net.Conn.
func (m *meter) RemoteAddr() net.Addr { return m.addr }

// meterOf returns the meter of the connection of a call; nil if it has none.
func meterOf(ctx context.Context) *meter {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(meterAddr); ok {
			return a.meter
		}
	}
	return nil
}

// begin notes that a handler performs a call. A nil meter ignores it.
func (m *meter) begin() {
	if m == nil || m.user == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls++; m.calls == 1 {
		m.user.SetBusy(true)
	}
}

// end notes that the call of begin has ended.
func (m *meter) end() {
	if m == nil || m.user == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls--; m.calls == 0 {
		m.user.SetBusy(false)
	}
}

// Read implements net.Conn.
func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	p = p[:min(len(p), m.left)]
	var n int
	var err error
	if m.r < m.w {
		n = copy(p, m.buf[m.r:m.w])
		m.r += n
	} else {
		n, err = m.Conn.Read(p)
	}
	m.left -= n
	m.count(p[:n])
	return n, err
}

// next begins the next frame, or the preface of the connection.
func (m *meter) next() error {
	if !m.begun {
		m.begun, m.left = true, prefaceSize
		return nil
	}
	if err := m.fill(); err != nil {
		return err
	}
	h := m.buf[m.r:]
	size, kind, flags := int(h[0])<<16|int(h[1])<<8|int(h[2]), h[3], h[4]
	id := binary.BigEndian.Uint32(h[5:]) &^ (1 << 31)
	m.left, m.skip = frameHeaderSize+size, frameHeaderSize
	m.data = dataFrame{left: size, padded: flags&flagPadded != 0, last: flags&flagEndStream != 0}
	switch kind {
	case frameHeaders:
		m.head, m.ended = id, m.data.last
	case frameData:
		m.mu.Lock()
		m.data.in = m.streams[id]
		m.mu.Unlock()
	}
	return nil
}

// fill reads until the buffer holds the header of a frame.
func (m *meter) fill() error {
	if m.w-m.r < frameHeaderSize {
		m.r, m.w = 0, copy(m.buf, m.buf[m.r:m.w])
	}
	for m.w-m.r < frameHeaderSize {
		n, err := m.Conn.Read(m.buf[m.w:])
		if m.w += n; err != nil && m.w-m.r < frameHeaderSize {
			return err
		}
	}
	return nil
}

// count notes bytes of the current frame that are about to be read.
func (m *meter) count(b []byte) {
	d := &m.data
	if d.in == nil {
		return
	}
	n := min(m.skip, len(b))
	m.skip, b = m.skip-n, b[n:]
	if d.padded && len(b) > 0 {
		d.padded = false
		d.left -= 1 + int(b[0])
		b = b[1:]
	}
	if n := min(max(d.left, 0), len(b)); n > 0 {
		d.left -= n
		d.in.add(b[:n])
	}
	if m.left == 0 {
		d.in.endFrame(d.last)
		d.in = nil
	}
}

// whole reports whether the message of the call that gRPC handles now is small, and has arrived with
// the head.
func (m *meter) whole() bool {
	if m.ended {
		return true
	}
	b := m.buf[m.r:m.w]
	if m.left > 0 || len(b) < frameHeaderSize+prefixSize {
		return false
	}
	size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	prefix := b[frameHeaderSize:]
	return b[3] == frameData && b[4]&(flagEndStream|flagPadded) == flagEndStream &&
		binary.BigEndian.Uint32(b[5:])&^(1<<31) == m.head && len(b) >= frameHeaderSize+size && prefix[0] == 0 &&
		int64(binary.BigEndian.Uint32(prefix[1:])) == int64(size-prefixSize)
}

// watch returns the message of the call that gRPC handles now. The function stop is called if the
// message is malformed.
func (m *meter) watch(stop func(error)) (in *incoming, forget func()) {
	id := m.head
	in = &incoming{known: make(chan struct{}), stop: stop}
	m.mu.Lock()
	m.streams[id] = in
	m.mu.Unlock()
	return in, func() {
		m.mu.Lock()
		delete(m.streams, id)
		m.mu.Unlock()
	}
}

// prefixSize is the size of the prefix of a message: whether it is compressed, and its size.
const prefixSize = 5

// A message may have leastFrames frames, and one more for each frameShare bytes: a frame occupies
// some 100 bytes beside its content.
const (
	leastFrames = 256
	frameShare  = 256
)

// incoming is the message of a call while it arrives.
type incoming struct {
	// known is closed when size and compressed are set.
	known      chan struct{}
	size       int64
	compressed bool
	stop       func(error)

	mu     sync.Mutex // guards the fields below
	prefix [prefixSize]byte
	got    int64
	frames int64
	sized  bool
}

var (
	errSecondMessage = errors.New("the call has a second message")
	errSmallFrames   = errors.New("the message consists of too many small frames")
)

// add notes bytes that have arrived.
func (in *incoming) add(b []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.got < prefixSize {
		copy(in.prefix[in.got:], b)
	}
	in.got += int64(len(b))
	if in.got >= prefixSize && !in.sized {
		in.knowLocked(int64(binary.BigEndian.Uint32(in.prefix[1:])), in.prefix[0] != 0)
	}
	if in.sized && in.got > prefixSize+in.size {
		in.stop(errSecondMessage)
	}
}

// endFrame notes the end of a frame, and if it is the last one, of the message.
func (in *incoming) endFrame(last bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.frames++; in.frames > leastFrames+in.got/frameShare {
		in.stop(errSmallFrames)
	}
	if last && !in.sized {
		in.knowLocked(0, false) // gRPC reports the lack of a message
	}
}

func (in *incoming) knowLocked(size int64, compressed bool) {
	in.size, in.compressed, in.sized = size, compressed, true
	close(in.known)
}
