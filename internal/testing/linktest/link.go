package linktest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is a set of directions of bytes.
type Direction int

// The directions.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Link is a TCP proxy between processes and a server.
type Link struct {
	listener net.Listener
	to       string
	wg       sync.WaitGroup
	over     chan struct{} // closed with the link

	mu    sync.Mutex // guards the fields below
	conns map[net.Conn]struct{}
	// stalled is closed when bytes flow again; nil while they do.
	stalled map[Direction]chan struct{}
	delay   time.Duration
	refuses bool
	closed  bool
}

// New starts a link to an address. It ends with tb.
func New(tb testing.TB, to string) *Link {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Link{
		listener: listener, to: to, over: make(chan struct{}),
		conns: map[net.Conn]struct{}{}, stalled: map[Direction]chan struct{}{},
	}
	l.wg.Go(l.accept)
	tb.Cleanup(l.close)
	return l
}

// Addr returns the address for clients.
func (l *Link) Addr() string { return l.listener.Addr().String() }

func (l *Link) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		l.wg.Go(func() { l.carry(in) })
	}
}

// carry forwards the bytes of both sides until one of them disconnects.
func (l *Link) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", l.to) //nolint:noctx // loopback
	if err != nil {
		return // the server is down
	}
	defer out.Close()
	defer l.leave(in, out)
	if !l.enter(in, out) {
		return
	}
	var both sync.WaitGroup
	for d, c := range map[Direction][2]net.Conn{ToServer: {in, out}, ToClient: {out, in}} {
		both.Go(func() {
			defer in.Close()
			defer out.Close()
			l.forward(d, c[0], c[1])
		})
	}
	both.Wait()
}

func (l *Link) forward(d Direction, from io.Reader, to io.Writer) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		l.hold(d)
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

// hold waits while bytes are delayed or do not flow.
func (l *Link) hold(d Direction) {
	l.mu.Lock()
	stalled, delay := l.stalled[d], l.delay
	l.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.over:
		}
	}
	if stalled != nil {
		select {
		case <-stalled:
		case <-l.over:
		}
	}
}

func (l *Link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return !l.closed && !l.refuses
}

func (l *Link) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}

// Cut closes all connections.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

// Stall stops the bytes of some directions until the returned function is called. The connections
// stay open.
func (l *Link) Stall(d Direction) (flow func()) {
	stalled := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range []Direction{ToServer, ToClient} {
		if d&one != 0 {
			l.stalled[one] = stalled
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(stalled)
		for one, c := range l.stalled {
			if c == stalled {
				delete(l.stalled, one)
			}
		}
	}
}

// Delay holds each piece of data for d. Zero ends the delay.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Refuse closes all connections, and each new one, until it is called with false.
func (l *Link) Refuse(on bool) {
	l.mu.Lock()
	l.refuses = on
	l.mu.Unlock()
	if on {
		l.Cut()
	}
}

func (l *Link) close() {
	l.listener.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	close(l.over)
	l.Cut()
	l.wg.Wait()
}
