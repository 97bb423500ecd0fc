package conns

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/peeraddr"
)

// Listen returns a listener whose connections l counts. The server must have l.State as its
// ConnState.
func (l *Limit) Listen(inner net.Listener) net.Listener {
	return &listener{Listener: inner, limit: l, closed: make(chan struct{})}
}

type listener struct {
	net.Listener

	limit  *Limit
	closed chan struct{} // closed by the first Close
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.limit.mu.Lock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	l.limit.mu.Unlock()
	return l.Listener.Close()
}

// Accept implements net.Listener. It returns only errors that are permanent.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			if !exhausted(err) {
				return nil, err
			}
			if err := l.relieve(); err != nil {
				return nil, err
			}
			continue
		}
		c := &conn{Conn: nc, limit: l.limit, address: peeraddr.Network(nc.RemoteAddr().String())}
		c.idle.Store(isNew)
		if l.limit.add(c) {
			return c, nil
		}
		nc.Close()
	}
}

// exhausted reports whether Accept has failed because the process or the machine lacks
// descriptors or memory, or because the peer has disconnected already.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// retry is the time after which Accept is tried again although no connection has ended: the
// descriptors may be free again elsewhere in the process.
const retry = 100 * time.Millisecond

// relieve closes a connection after a failure of Accept. If there is none to close, it waits until
// one ends, or for a short time. It returns an error if the listener is closed meanwhile.
func (l *listener) relieve() error {
	m := l.limit
	m.mu.Lock()
	m.stats.Failed++
	m.logLocked("connections cannot be accepted: the process has no file descriptors or memory for them")
	victim := m.victimLocked()
	if victim != nil {
		m.evictLocked(victim)
	}
	if m.freed == nil {
		m.freed = make(chan struct{})
	}
	freed := m.freed
	m.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
		return nil
	}
	late := time.NewTimer(retry)
	defer late.Stop()
	select {
	case <-freed:
	case <-late.C:
	case <-l.closed:
		return net.ErrClosed
	}
	return nil
}
