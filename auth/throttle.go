package auth

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/peeraddr"
)

// Limits of the throttle.
const (
	// freeFailures is the number of failures in one failureWindow that are answered at once.
	freeFailures  = 5
	failureWindow = time.Minute
	// shortestDelay is the delay of the next failure; each further one doubles it, up to
	// longestDelay.
	shortestDelay = 50 * time.Millisecond
	longestDelay  = time.Second
	// maxPeers is the number of addresses remembered.
	maxPeers = 4096
	// maxDelayed is the maximum number of delayed answers at one time.
	maxDelayed = 64
	// maxRecords is the maximum number of failures logged in one recordWindow.
	maxRecords   = 50
	recordWindow = 10 * time.Second
)

// throttle delays callers that try credentials. It remembers a limited number of addresses, the
// latest ones. The zero value is ready to use.
type throttle struct {
	mu      sync.Mutex // guards the fields below
	peers   map[netip.Prefix]*list.Element
	order   list.List // of *peer, latest failure first
	delayed int
	records records
}

// peer is an address with failed attempts.
type peer struct {
	addr     netip.Prefix
	failures int
	since    time.Time // time of the first failure
}

// logDecision reports whether to log a failure, and the number of unlogged failures before it.
type logDecision struct {
	log     bool
	omitted int
}

// count records a failure and returns the delay of its answer.
func (t *throttle) count(addr string, now time.Time) (time.Duration, logDecision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.peerLocked(peeraddr.Network(addr))
	if now.Sub(p.since) >= failureWindow {
		p.failures, p.since = 0, now
	}
	p.failures++
	return delay(p.failures), t.records.count(now)
}

// delay returns the delay of the answer to the n-th failure.
func delay(n int) time.Duration {
	if n <= freeFailures {
		return 0
	}
	doublings := min(n-freeFailures-1, 16)
	return min(shortestDelay<<doublings, longestDelay)
}

// peerLocked returns the record of an address. If there are too many, it removes the one that
// failed least recently.
func (t *throttle) peerLocked(addr netip.Prefix) *peer {
	if e, ok := t.peers[addr]; ok {
		t.order.MoveToFront(e)
		return e.Value.(*peer)
	}
	if len(t.peers) >= maxPeers {
		last := t.order.Back()
		delete(t.peers, t.order.Remove(last).(*peer).addr)
	}
	p := &peer{addr: addr}
	if t.peers == nil {
		t.peers = make(map[netip.Prefix]*list.Element)
	}
	t.peers[addr] = t.order.PushFront(p)
	return p
}

// enter reserves one of the delayed answers; it returns false if all are in use.
func (t *throttle) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.delayed >= maxDelayed {
		return false
	}
	t.delayed++
	return true
}

func (t *throttle) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delayed--
}

// records limits the number of log records.
type records struct {
	since   time.Time
	n       int
	omitted int
}

func (r *records) count(now time.Time) logDecision {
	if now.Sub(r.since) >= recordWindow {
		r.since, r.n = now, 0
	}
	if r.n >= maxRecords {
		r.omitted++
		return logDecision{}
	}
	r.n++
	v := logDecision{log: true, omitted: r.omitted}
	r.omitted = 0
	return v
}
