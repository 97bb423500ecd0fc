// Package timer provides timers that are nearly always stopped before they go off.
//
// A server that limits the time of each call starts and stops timers continuously. Alarms of
// equal length go off in the order in which they were started, so one list and one timer serve
// all of them: to start or stop an alarm changes a few pointers.
//
// # Guarantees
//
// An alarm goes off once, not before its time, in a goroutine of its own, unless it was
// stopped. Stop reports whether it was in time.
//
// # Non-guarantees
//
// The goroutine of an alarm belongs to the caller of Start: a Set does not wait for it. Alarms
// of many different lengths cost as much as ordinary timers.
//
// # Concurrency
//
// Sets are safe for concurrent use. An Alarm may be started again once it was stopped or has
// gone off.
package timer

import (
	"sync"
	"time"
)

// Set is a set of alarms. The zero Set is empty and ready to use. It must not be copied.
type Set struct {
	mu     sync.Mutex // guards everything in the set and in its alarms
	queues map[time.Duration]*queue
}

// Alarm is an alarm of a Set, to be embedded in the object it serves. It must not be copied.
type Alarm struct {
	f     func()
	at    time.Time
	queue *queue // nil unless the alarm is waiting
	// The neighbours in the queue.
	prev, next *Alarm
}

// queue holds the waiting alarms of one length, in order.
type queue struct {
	set         *Set
	length      time.Duration
	first, last *Alarm
	timer       *time.Timer
}

// Start schedules a call of f after d. The alarm must not be waiting.
func (s *Set) Start(a *Alarm, d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.queues[d]
	if l == nil {
		l = &queue{set: s, length: d}
		if s.queues == nil {
			s.queues = make(map[time.Duration]*queue)
		}
		s.queues[d] = l
		l.timer = time.AfterFunc(d, l.fire)
	}
	a.f, a.at, a.queue = f, time.Now().Add(d), l
	if a.prev = l.last; a.prev == nil {
		l.first = a
	} else {
		a.prev.next = a
	}
	l.last = a
}

// Stop prevents the call of a. It reports false if a has gone off, or is not waiting.
func (s *Set) Stop(a *Alarm) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.queue == nil {
		return false
	}
	a.queue.removeLocked(a)
	return true
}

// Clear stops all waiting alarms. The set then keeps no reference to the objects that contain
// them.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.queues {
		l.timer.Stop()
		for l.first != nil {
			l.removeLocked(l.first)
		}
	}
	s.queues = nil
}

// removeLocked removes a from its queue. The queue and its timer stay, because further alarms are
// expected.
func (l *queue) removeLocked(a *Alarm) {
	if a.prev == nil {
		l.first = a.next
	} else {
		a.prev.next = a.next
	}
	if a.next == nil {
		l.last = a.prev
	} else {
		a.next.prev = a.prev
	}
	*a = Alarm{}
}

// fire calls the functions of the alarms that are due.
func (l *queue) fire() {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	now := time.Now()
	for l.first != nil && !l.first.at.After(now) {
		go l.first.f() // the caller of Start owns the goroutine
		l.removeLocked(l.first)
	}
	if l.first == nil {
		if l.set.queues[l.length] == l {
			delete(l.set.queues, l.length)
		}
		return
	}
	l.timer.Reset(l.first.at.Sub(now))
}
