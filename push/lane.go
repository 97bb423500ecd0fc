package push

import (
	"net/url"
	"strings"
	"time"
)

const (
	// openAfter is how many failures in a row open the breaker of an endpoint.
	openAfter = 5
	// firstOpen and longestOpen are how long it stays open at first and at most.
	firstOpen   = 10 * time.Second
	longestOpen = 5 * time.Minute
)

// breaker says whether an endpoint is tried.
type breaker uint8

const (
	closed   breaker = iota // tried as usual
	open                    // not tried
	halfOpen                // one try finds out
)

func (b breaker) String() string {
	return [...]string{closed: "closed", open: "open", halfOpen: "half-open"}[b]
}

// lane is an endpoint: scheme, host and port. The hooks that are due wait in its line
// for one of its places. All fields are guarded by Dispatcher.mu.
type lane struct {
	endpoint string
	// first and last are the ends of the line.
	first, last *hook
	waiting     int
	// hooks counts the hooks that belong here, busy the sessions.
	hooks, busy int
	// ready is set while the lane is in the list of those that can go on.
	ready bool

	breaker breaker
	fails   int // in a row
	rest    time.Duration
	at      int64 // when the breaker becomes half-open
	alarm   int32
}

func (l *lane) due() int64   { return l.at }
func (l *lane) slot() *int32 { return &l.alarm }

// push puts h at the end of the line.
func (l *lane) push(h *hook) {
	h.next = nil
	if l.last == nil {
		l.first = h
	} else {
		l.last.next = h
	}
	l.last = h
	l.waiting++
}

// pop takes the first of the line that still stands in it, or nil. Hooks that were
// forgotten meanwhile are dropped.
func (l *lane) pop() *hook {
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
func (l *lane) free(most int) bool {
	switch l.breaker {
	case open:
		return false
	case halfOpen:
		return l.busy == 0
	}
	return l.busy < most
}

// idle reports whether the lane can be forgotten.
func (l *lane) idle() bool { return l.hooks == 0 && l.busy == 0 && l.breaker == closed && !l.ready }

// succeeded notes a try that the endpoint answered.
func (l *lane) succeeded() {
	l.fails, l.rest, l.breaker = 0, 0, closed
}

// failed notes a try that says that the endpoint is in trouble, and reports whether
// that opens the breaker.
func (l *lane) failed(now time.Time) bool {
	l.fails++
	if l.breaker == open || l.breaker == closed && l.fails < openAfter {
		return false
	}
	l.breaker = open
	l.rest = min(max(2*l.rest, firstOpen), longestOpen)
	l.at = now.Add(l.rest).UnixNano()
	return true
}

// endpointOf returns scheme, host and port of a URL. A URL that cannot be read has a
// lane of its own.
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

// alarms is a heap of what is due at some time, the earliest first.
type alarms []timed

// timed has something due at a time, and remembers its place in the heap from 1, or
// 0 if it is in none.
type timed interface {
	due() int64
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
