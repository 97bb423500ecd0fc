package assistant

import (
	"context"
	"sync"
	"time"
)

// Presence is the availability of a person.
type Presence string

// Kinds of presence.
const (
	Available Presence = "available"
	Busy      Presence = "busy"
	// Delayed means available, but an answer may take a while.
	Delayed Presence = "available, may be delayed"
	Away    Presence = "away"
)

const (
	// hereFor is the time after an action for which the person counts as present. soonFor is
	// the time in which the person is expected to return on the same day.
	hereFor = 15 * time.Minute
	soonFor = 8 * time.Hour
)

// Activity derives the presence from a person's actions. The zero Activity has recorded none.
type Activity struct {
	// Busy reports whether the person is busy. If nil, the person never is.
	Busy func(ctx context.Context) bool

	mu   sync.Mutex // guards last
	last time.Time
}

// Touch records an action of the person.
func (a *Activity) Touch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
}

// Presence returns the presence of the person. It is Away without an action in eight hours,
// else Busy if the person is busy, Available for a quarter of an hour after an action, and
// Delayed after that.
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
