package conns

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"
)

// trialTime is the time in which a connection on trial must show the credentials of an
// administrator.
const trialTime = 3 * time.Second

type connKey struct{}

// Context is the http.Server.ConnContext of servers for listeners of Listen.
func (l *Limit) Context(ctx context.Context, nc net.Conn) context.Context {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	if c, ok := nc.(*conn); ok && c.limit == l {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// Keep is called once the caller of a request is known; ctx is that of the request. It reports
// whether the connection may stay. A connection on trial may stay if there is room meanwhile, or, as
// that of an administrator, in the reserve; otherwise the server should refuse the request, and the
// connection is closed at the end of its trial. All other connections may stay.
func Keep(ctx context.Context, admin bool) bool {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok || !c.onTrial.Load() {
		return true
	}
	l := c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.trial != nil && !l.roomLocked(admin) {
		return false
	}
	l.endTrialLocked(c)
	return true
}

// roomLocked reports whether there is room for one more connection beside those on trial.
func (l *Limit) roomLocked(reserved bool) bool {
	most := l.Max
	if reserved {
		most += l.Reserve
	}
	return l.Max <= 0 || len(l.open)-l.trials.Len() < most
}

// tryLocked puts a connection on trial.
func (l *Limit) tryLocked(c *conn) {
	c.trial = l.trials.PushBack(c)
	c.onTrial.Store(true)
	c.late = time.AfterFunc(trialTime, func() { l.refuse(c) })
}

// endTrialLocked ends the trial of a connection, if it is on one.
func (l *Limit) endTrialLocked(c *conn) {
	if c.trial == nil {
		return
	}
	l.trials.Remove(c.trial)
	c.late.Stop()
	c.trial = nil
	c.onTrial.Store(false)
}

// refuse closes a connection whose trial has taken too long.
func (l *Limit) refuse(c *conn) {
	l.mu.Lock()
	on := c.trial != nil
	if on {
		l.stats.Refused++
		l.removeLocked(c)
	}
	l.mu.Unlock()
	if on {
		c.Conn.Close()
	}
}

// oldTrialLocked returns the connection to close if there is no room for the trial of another: the
// oldest one of the address with most of them, together with the new one.
func (l *Limit) oldTrialLocked(next *conn) (oldest *conn) {
	if l.trials.Len() < l.Trials {
		return nil
	}
	number := map[netip.Prefix]int{next.address: 1}
	for e := l.trials.Front(); e != nil; e = e.Next() {
		number[e.Value.(*conn).address]++
	}
	for e := l.trials.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); oldest == nil || number[c.address] > number[oldest.address] {
			oldest = c
		}
	}
	return oldest
}
