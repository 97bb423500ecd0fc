package auth

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

// The numbers of the throttle.
const (
	// freeFailures in one failureWindow are answered at once.
	freeFailures  = 5
	failureWindow = time.Minute
	// The next one waits for shortestDelay, each further one twice as long.
	shortestDelay = 50 * time.Millisecond
	longestDelay  = time.Second
	// maxPeers is how many addresses are remembered.
	maxPeers = 4096
	// maxDelayed is how many answers wait at one time.
	maxDelayed = 64
	// maxRecords is how many failures are logged in one recordWindow.
	maxRecords   = 50
	recordWindow = 10 * time.Second
)

// throttle slows down those who try credentials. It remembers a bounded number of
// addresses, the latest ones. The zero value is ready.
type throttle struct {
	mu      sync.Mutex // guards the fields below
	peers   map[netip.Prefix]*list.Element
	order   list.List // of *peer, the latest failure first
	delayed int
	records records
}

// peer is an address that failed.
type peer struct {
	addr     netip.Prefix
	failures int
	since    time.Time // when the first of them was
}

// verdict says whether a failure is logged, and how many before it were not.
type verdict struct {
	record bool
	left   int
}

// count notes a failure and returns how long its answer has to wait.
func (t *throttle) count(addr string, now time.Time) (time.Duration, verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.peerLocked(network(addr))
	if now.Sub(p.since) >= failureWindow {
		p.failures, p.since = 0, now
	}
	p.failures++
	return delay(p.failures), t.records.count(now)
}

// delay is how long the answer to the n-th failure waits.
func delay(n int) time.Duration {
	if n <= freeFailures {
		return 0
	}
	doublings := min(n-freeFailures-1, 16)
	return min(shortestDelay<<doublings, longestDelay)
}

// peerLocked returns the record of an address, and forgets the one that was quiet
// for the longest time if there are too many.
func (t *throttle) peerLocked(addr netip.Prefix) *peer {
	if e, ok := t.peers[addr]; ok {
		t.order.MoveToFront(e)
		return e.Value.(*peer)
	}
	if t.peers == nil {
		t.peers = make(map[netip.Prefix]*list.Element)
	}
	if len(t.peers) >= maxPeers {
		last := t.order.Back()
		delete(t.peers, t.order.Remove(last).(*peer).addr)
	}
	p := &peer{addr: addr}
	t.peers[addr] = t.order.PushFront(p)
	return p
}

// enter takes a place among the answers that wait, if there is one.
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

// network returns what one caller can choose his addresses from: an IPv4 address, or
// 64 bits of an IPv6 address. Callers without an IP address are one.
func network(addr string) netip.Prefix {
	ip, ok := peerIP(addr)
	if !ok {
		return netip.Prefix{}
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// peerIP returns the IP address of a peer, if it has one.
func peerIP(addr string) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	return ip.Unmap(), err == nil
}

// records bounds how much is logged.
type records struct {
	since time.Time
	n     int
	left  int
}

func (r *records) count(now time.Time) verdict {
	if now.Sub(r.since) >= recordWindow {
		r.since, r.n = now, 0
	}
	if r.n >= maxRecords {
		r.left++
		return verdict{}
	}
	r.n++
	v := verdict{record: true, left: r.left}
	r.left = 0
	return v
}
