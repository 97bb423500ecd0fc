package hub

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

// readHooksEvery is the time after which all webhooks are read again, whatever the hints were.
const readHooksEvery = time.Minute

// Peers are the other hubs on the store.
type Peers interface {
	engine.Peers
	// Holds reports whether this hub delivers the webhooks of a task. No other hub does so at the same
	// time. It reads no database.
	Holds(key task.Key) bool
}

// hookReview decides when the webhooks of all tasks are read again. Between two such times, the keys of
// changed tasks suffice.
type hookReview struct {
	failed bool
	last   time.Time
}

// due reports whether all webhooks are read: after a hint that names no tasks, if the last reading has
// failed, and once a minute.
func (v *hookReview) due(now time.Time, all bool) bool {
	if !all && !v.failed && now.Sub(v.last) < readHooksEvery {
		return false
	}
	v.last = now
	return true
}

// Refresh makes the parts of the hub read the changes of other hubs on the store, apart from those of
// tasks. keys are the tasks that have changed; all is set if any may have. It is called once a second
// at least, and not concurrently.
func (h *Hub) Refresh(ctx context.Context, all bool, keys []task.Key) {
	if h.events != nil {
		h.events.Changed()
	}
	if h.pusher == nil {
		return
	}
	v := &h.hookReview
	if !v.due(time.Now(), all) {
		h.pusher.Follow(keys)
		return
	}
	err := h.pusher.Refresh(ctx)
	if v.failed = err != nil; v.failed && ctx.Err() == nil {
		h.parts.Logger.Debug("webhooks of other hubs", "error", err)
	}
}
