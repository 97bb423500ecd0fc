package conns

import (
	"container/list"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/peeraddr"
)

// Limit bounds the open connections. The zero Limit bounds nothing but survives a lack of
// descriptors. Fields must not be changed after the first use.
type Limit struct {
	// Max is the largest number of open connections. Zero means no limit.
	Max int
	// Reserve is the number of connections beyond Max for callers of this machine.
	Reserve int
	// HalfOpen is the largest number of half-open connections of one address. Zero means no
	// limit.
	HalfOpen int
	// Logger receives a record when connections begin to be closed or refused. If nil, nothing is
	// logged.
	Logger *slog.Logger

	mu   sync.Mutex // guards the fields below
	open map[*conn]struct{}
	// half are the half-open connections, the oldest first; by holds them by address.
	half list.List
	by   map[netip.Prefix]*list.List
	// freed is closed when a connection ends; nil if no goroutine waits.
	freed   chan struct{}
	numbers int64
	logged  time.Time
	stats   Stats
}

// Stats are the numbers of a Limit.
type Stats struct {
	// Open and HalfOpen are the numbers of connections now.
	Open, HalfOpen int
	// Evicted counts the connections that were closed for others, Refused the new ones that were
	// closed at once, and Failed the failures of Accept.
	Evicted, Refused, Failed int64
}

// Stats returns the current numbers.
func (l *Limit) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Open, s.HalfOpen = len(l.open), l.half.Len()
	return s
}

// conn is a connection that its Limit counts.
type conn struct {
	net.Conn

	limit *Limit
	// address is the network that counts as one peer.
	address netip.Prefix
	// number is the place in the order of all connections.
	number int64
	// halfOpen and sameAddress are its places in Limit.half and Limit.by; nil once it is
	// established. Limit.mu guards them.
	halfOpen, sameAddress *list.Element
	// idle is the time since which no request is at work, in nanoseconds; zero if one is.
	idle atomic.Int64
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.limit.remove(c)
	return c.Conn.Close()
}

// setBusy notes whether a request uses the connection. The first one ends its half-open state.
func (c *conn) setBusy(busy bool) {
	if !busy {
		c.idle.Store(time.Now().UnixNano())
	} else if c.idle.Swap(0) == isNew {
		c.limit.established(c)
	}
}

// State is the http.Server.ConnState of servers for listeners of Listen.
func (l *Limit) State(nc net.Conn, s http.ConnState) {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch s {
	case http.StateActive:
		c.setBusy(true) // the head has arrived
	case http.StateIdle:
		c.setBusy(false)
	case http.StateHijacked, http.StateClosed:
		l.remove(c)
	}
}

// isNew is conn.idle of a half-open connection.
const isNew = -1

// add counts a new connection and makes room for it. It reports false if there is none.
func (l *Limit) add(c *conn) bool {
	l.mu.Lock()
	victim, admitted := l.addLocked(c)
	l.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
	}
	return admitted
}

// addLocked returns the connection to close for c, if any.
func (l *Limit) addLocked(c *conn) (victim *conn, admitted bool) {
	if l.open == nil {
		l.open, l.by = make(map[*conn]struct{}), make(map[netip.Prefix]*list.List)
	}
	if same := l.by[c.address]; l.HalfOpen > 0 && same != nil && same.Len() >= l.HalfOpen {
		victim = first(same)
	} else if l.Max > 0 && len(l.open) >= l.Max {
		victim = l.victimLocked()
		if victim == nil && (len(l.open) >= l.Max+l.Reserve || !c.local()) {
			l.logLocked("connections are refused: all that are open are at work")
			l.stats.Refused++
			return nil, false
		}
	}
	if victim != nil {
		l.evictLocked(victim)
	}
	l.numbers++
	c.number = l.numbers
	l.open[c] = struct{}{}
	if l.by[c.address] == nil {
		l.by[c.address] = list.New()
	}
	c.halfOpen, c.sameAddress = l.half.PushBack(c), l.by[c.address].PushBack(c)
	return victim, true
}

// victimLocked returns the connection to close if there is no room: the oldest half-open one of
// the address with most of them, or else the one that is idle for the longest time; nil if all
// are at work.
func (l *Limit) victimLocked() *conn {
	var most *list.List
	for _, same := range l.by {
		if most == nil || same.Len() > most.Len() || same.Len() == most.Len() && first(same).number < first(most).number {
			most = same
		}
	}
	if most != nil {
		return first(most)
	}
	var longest *conn
	var since int64
	for c := range l.open {
		if at := c.idle.Load(); at > 0 && (longest == nil || at < since) {
			longest, since = c, at
		}
	}
	return longest
}

func first(l *list.List) *conn { return l.Front().Value.(*conn) }

func (l *Limit) evictLocked(c *conn) {
	l.stats.Evicted++
	l.logLocked("connections are closed to make room: too many are half-open or idle")
	l.removeLocked(c)
}

// logEvery is the time between two log records of one Limit.
const logEvery = time.Minute

func (l *Limit) logLocked(text string) {
	now := time.Now()
	if l.Logger == nil || now.Sub(l.logged) < logEvery {
		return
	}
	l.logged = now
	l.Logger.Warn(text, "open", len(l.open), "half_open", l.half.Len(), "max", l.Max, "addresses", len(l.by))
}

// established notes that a connection is not half-open any more.
func (l *Limit) established(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fullLocked(c)
}

func (l *Limit) fullLocked(c *conn) {
	if c.halfOpen == nil {
		return
	}
	l.half.Remove(c.halfOpen)
	same := l.by[c.address]
	if same.Remove(c.sameAddress); same.Len() == 0 {
		delete(l.by, c.address)
	}
	c.halfOpen, c.sameAddress = nil, nil
}

func (l *Limit) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(c)
}

func (l *Limit) removeLocked(c *conn) {
	l.fullLocked(c)
	delete(l.open, c)
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// local reports whether a connection comes from this machine.
func (c *conn) local() bool {
	ip, ok := peeraddr.IP(c.RemoteAddr().String())
	return ok && ip.IsLoopback()
}
