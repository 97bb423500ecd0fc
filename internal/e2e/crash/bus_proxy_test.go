package crash

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// link is a TCP proxy between processes and their broker.
type link struct {
	listener net.Listener
	to       string
	wg       sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	conns map[net.Conn]struct{}
	// stalled is closed when bytes flow again; it is nil while they do.
	stalled chan struct{}
	closed  bool
}

// newLink starts a link to an address.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	p := &link{listener: hubtest.Listen(t), to: to, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *link) addr() string { return p.listener.Addr().String() }

func (p *link) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		p.wg.Go(func() { p.carry(in) })
	}
}

// carry forwards the bytes of both sides until one of them disconnects.
func (p *link) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.to) //nolint:noctx // loopback
	if err != nil {
		return // the broker is down
	}
	defer out.Close()
	if !p.enter(in, out) {
		return
	}
	defer p.leave(in, out)
	var both sync.WaitGroup
	for _, c := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			defer in.Close()
			defer out.Close()
			p.forward(c[0], c[1])
		})
	}
	both.Wait()
}

func (p *link) forward(from io.Reader, to io.Writer) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if stalled := p.gate(); stalled != nil {
			<-stalled
		}
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (p *link) gate() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stalled
}

func (p *link) enter(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return !p.closed
}

func (p *link) leave(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// cut closes all connections.
func (p *link) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// stall stops all bytes until the returned function is called.
func (p *link) stall() (flow func()) {
	stalled := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = stalled
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(stalled)
		p.stalled = nil
	}
}

func (p *link) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cut()
	p.wg.Wait()
}
