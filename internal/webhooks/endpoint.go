package webhooks

import (
	"net/url"
	"strings"
	"time"
)

const (
	// openAfter is the number of consecutive failures that opens the breaker of an endpoint.
	openAfter = 5
	// firstOpen and longestOpen are the first and the longest time for which a breaker stays
	// open.
	firstOpen   = 10 * time.Second
	longestOpen = 5 * time.Minute
)

// breaker is the state of the circuit breaker of an endpoint.
type breaker uint8

const (
	closed   breaker = iota // tries are allowed
	open                    // no tries
	halfOpen                // one try probes the endpoint
)

func (b breaker) String() string {
	return [...]string{closed: "closed", open: "open", halfOpen: "half-open"}[b]
}

// endpointQueue is the queue of an endpoint: scheme, host and port. Due hooks wait in it for
// one of its places. All fields are guarded by Dispatcher.mu.
type endpointQueue struct {
	endpoint string
	// first and last are the ends of the queue.
	first, last *hook
	waiting     int
	// hooks counts the hooks of this endpoint, busy the running sessions.
	hooks, busy int
	// ready is set while the queue is in Dispatcher.ready.
	ready bool

	breaker breaker
	fails   int // consecutive
	rest    time.Duration
	at      time.Duration // when the breaker becomes half-open, since Dispatcher.start
	alarm   int32
}

func (l *endpointQueue) due() time.Duration { return l.at }
func (l *endpointQueue) slot() *int32       { return &l.alarm }

// push appends h to the queue.
func (l *endpointQueue) push(h *hook) {
	h.next = nil
	if l.last == nil {
		l.first = h
	} else {
		l.last.next = h
	}
	l.last = h
	l.waiting++
}

// pop removes and returns the first hook that is still queued, or nil. It drops hooks that were
// forgotten meanwhile.
func (l *endpointQueue) pop() *hook {
	for l.first != nil {
		h := l.first
		l.first, h.next = h.next, nil
		if l.first == nil {
			l.last = nil
		}
		l.waiting--
		if h.phase == queued {
			return h
		}
	}
	return nil
}

// free reports whether another session may begin.
func (l *endpointQueue) free(most int) bool {
	switch l.breaker {
	case open:
		return false
	case halfOpen:
		return l.busy == 0
	}
	return l.busy < most
}

// idle reports whether the queue holds no state and can be dropped.
func (l *endpointQueue) idle() bool {
	return l.hooks == 0 && l.busy == 0 && l.breaker == closed && !l.ready
}

// succeeded resets the breaker after a response of a healthy endpoint.
func (l *endpointQueue) succeeded() {
	l.fails, l.rest, l.breaker = 0, 0, closed
}

// failed counts a try that failed because of the endpoint, and reports whether that opens the
// breaker. now is the time since Dispatcher.start.
func (l *endpointQueue) failed(now time.Duration) bool {
	l.fails++
	if l.breaker == open || l.breaker == closed && l.fails < openAfter {
		return false
	}
	l.breaker = open
	l.rest = min(max(2*l.rest, firstOpen), longestOpen)
	l.at = now + l.rest
	return true
}

// endpointOf returns scheme, host and port of a URL. An unreadable URL is returned unchanged
// and so has a queue of its own.
func endpointOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}

// alarms is a heap of alarms, the earliest first.
type alarms []timed

// timed is an item of the heap: a time since Dispatcher.start, and its position from 1; 0 if it
// is not in the heap.
type timed interface {
	due() time.Duration
	slot() *int32
}

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].due() < a[j].due() }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	*a[i].slot(), *a[j].slot() = int32(i)+1, int32(j)+1
}

// Push implements heap.Interface.
func (a *alarms) Push(x any) {
	item := x.(timed)
	*a = append(*a, item)
	*item.slot() = int32(len(*a))
}

// Pop implements heap.Interface.
func (a *alarms) Pop() any {
	n := len(*a) - 1
	item := (*a)[n]
	(*a)[n] = nil
	*a = (*a)[:n]
	*item.slot() = 0
	return item
}
