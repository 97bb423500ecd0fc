package assistant

import (
	"context"
	"sync"
	"time"
)

// Presence says how a person does.
type Presence string

// How a person may do.
const (
	Available Presence = "available"
	Busy      Presence = "busy"
	// Delayed is available, but an answer may take a while.
	Delayed Presence = "available, may be delayed"
	Away    Presence = "away"
)

func (p Presence) text() string { return "The person is " + string(p) + "." }

const (
	// hereFor is how long after an act somebody is taken to be there; soonFor is how long
	// somebody is expected to come back the same day.
	hereFor = 15 * time.Minute
	soonFor = 8 * time.Hour
)

// Activity tells a presence by what a person does. The zero Activity has seen nothing.
type Activity struct {
	// Busy reports whether the person has something under way. If nil, it is never so.
	Busy func(ctx context.Context) bool

	mu   sync.Mutex // guards last
	last time.Time
}

// Touch notes that the person has done something.
func (a *Activity) Touch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
}

// Presence returns how the person does: Away if nothing was seen for eight hours, else
// Busy with something under way, Available within a quarter of an hour, and then Delayed.
func (a *Activity) Presence(ctx context.Context) Presence {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	since := time.Since(last)
	switch {
	case last.IsZero() || since >= soonFor:
		return Away
	case a.Busy != nil && a.Busy(ctx):
		return Busy
	case since < hereFor:
		return Available
	}
	return Delayed
}
