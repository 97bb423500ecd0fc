// Package pulse calls a function at intervals, without a goroutine between the calls.
//
// An open stream of events sends a comment every some seconds. With a goroutine and a ticker for
// that, an idle stream would hold the stack of one more goroutine.
//
// # Concurrency
//
// Calls of the function do not overlap. After Stop has returned, none is in progress.
package pulse

import (
	"sync"
	"time"
)

// Comment is the comment of a quiet stream. It has one line end: after a blank line some readers
// dispatch an empty event.
var Comment = []byte(": keep-alive\n")

// Pulse calls a function at intervals. Start creates one.
type Pulse struct {
	every time.Duration
	beat  func() bool

	mu      sync.Mutex // guards the fields below; held while beat runs
	timer   *time.Timer
	stopped bool
}

// Start calls beat after each interval until it returns false, or until Stop is called. The owner
// must call Stop.
func Start(every time.Duration, beat func() bool) *Pulse {
	p := &Pulse{every: every, beat: beat}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(every, p.run)
	return p
}

func (p *Pulse) run() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped && p.beat() {
		p.timer.Reset(p.every)
	}
}

// Stop waits for a call in progress and prevents further ones. It may be called several times, but
// not by the function.
func (p *Pulse) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.timer.Stop()
}
