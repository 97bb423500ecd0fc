package conns

import (
	"container/list"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/peeraddr"
)

// Limit bounds the open connections. The zero Limit has no bound. Fields must not be changed after the
// first use.
type Limit struct {
	// Max is the largest number of open connections. Zero means no limit.
	Max int
	// Reserve is the number of connections beyond Max for callers of this machine.
	Reserve int
	// Logger receives a record when connections begin to be closed or refused. If nil, nothing is
	// logged.
	Logger *slog.Logger

	mu sync.Mutex // guards the fields below
	// waiting are the connections without a request, the longest waiting first.
	waiting list.List
	logged  time.Time
	stats   Stats
}

// Stats are the numbers of a Limit.
type Stats struct {
	// Open is the number of connections now.
	Open int
	// Evicted counts the connections that were closed for others, and Refused the new ones that were
	// closed at once.
	Evicted, Refused int64
}

// Stats returns the current numbers.
func (l *Limit) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// conn is a connection that its Limit counts. Limit.mu guards the fields below limit.
type conn struct {
	net.Conn

	limit *Limit
	// waiting is its place in Limit.waiting; nil while it has a request.
	waiting *list.Element
	// ended is set once it is not counted any more.
	ended bool
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.limit.State(c, http.StateClosed)
	return c.Conn.Close()
}

// State is the http.Server.ConnState of servers for listeners of Listen.
func (l *Limit) State(nc net.Conn, s http.ConnState) {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if c, ok := nc.(*conn); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.setLocked(c, s)
	}
}

// setLocked notes the state of a connection. It becomes active when a whole request head has arrived.
func (l *Limit) setLocked(c *conn, s http.ConnState) {
	if c.ended {
		return
	}
	if c.waiting != nil {
		l.waiting.Remove(c.waiting)
		c.waiting = nil
	}
	switch s {
	case http.StateNew, http.StateIdle:
		c.waiting = l.waiting.PushBack(c)
	case http.StateHijacked, http.StateClosed:
		c.ended = true
		l.stats.Open--
	}
}

// admit counts a new connection, and closes another one if there is no room. It reports false if there
// is none to close.
func (l *Limit) admit(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Max > 0 && l.stats.Open >= l.Max && !l.evictLocked() && (l.stats.Open >= l.Max+l.Reserve || !c.local()) {
		l.logLocked("connections are refused: all that are open have a request")
		l.stats.Refused++
		return false
	}
	l.stats.Open++
	l.setLocked(c, http.StateNew)
	return true
}

// evictLocked closes the connection that has waited for a request for the longest time. It reports false
// if none waits.
func (l *Limit) evictLocked() bool {
	first := l.waiting.Front()
	if first == nil {
		return false
	}
	l.logLocked("connections without a request are closed to make room")
	l.stats.Evicted++
	c := first.Value.(*conn)
	l.setLocked(c, http.StateClosed)
	_ = c.Conn.Close() // its server gets the error
	return true
}

// logEvery is the time between two log records of one Limit.
const logEvery = time.Minute

func (l *Limit) logLocked(text string) {
	now := time.Now()
	if l.Logger == nil || now.Sub(l.logged) < logEvery {
		return
	}
	l.logged = now
	l.Logger.Warn(text, "open", l.stats.Open, "waiting", l.waiting.Len(), "max", l.Max)
}

// local reports whether a connection comes from this machine.
func (c *conn) local() bool {
	ip, ok := peeraddr.IP(c.RemoteAddr().String())
	return ok && ip.IsLoopback()
}

// Listen returns a listener whose connections l counts. The server must have l.State as its
// ConnState.
func (l *Limit) Listen(inner net.Listener) net.Listener { return &listener{inner, l} }

type listener struct {
	net.Listener

	limit *Limit
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			if !exhausted(err) {
				return nil, err
			}
			if l.limit.evict() {
				continue
			}
			return nil, temporary{err}
		}
		if c := (&conn{Conn: nc, limit: l.limit}); l.limit.admit(c) {
			return c, nil
		}
		nc.Close()
	}
}

func (l *Limit) evict() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.evictLocked()
}

// temporary is an error after which http.Server waits and tries again. The standard library does not count the
// lack of memory as one.
type temporary struct{ error }

func (temporary) Timeout() bool   { return false }
func (temporary) Temporary() bool { return true }
func (t temporary) Unwrap() error { return t.error }

// exhausted reports whether Accept has failed because the process or the machine lacks descriptors or
// memory.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
