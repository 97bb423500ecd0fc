package hub

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// maxFollowed is the number of changed tasks up to which their webhooks are read one by one.
const maxFollowed = 64

// readHooksEvery is the time after which all webhooks are read again, whatever the hints were.
const readHooksEvery = time.Minute

// hookReview decides when the webhooks of all tasks are read again. Between two such times, the keys of
// changed tasks suffice.
type hookReview struct {
	led, failed bool
	last        time.Time
}

// due reports whether all webhooks are read: after a hint that names no tasks, if the last reading has
// failed, if the hub has become the one that notifies webhooks or no longer is it, and once a minute.
func (v *hookReview) due(now time.Time, all, leads bool) bool {
	if !all && !v.failed && v.led == leads && now.Sub(v.last) < readHooksEvery {
		return false
	}
	v.last, v.led = now, leads
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
	var err error
	v := &h.hookReview
	if v.due(time.Now(), all || len(keys) > maxFollowed, h.parts.Peers == nil || h.parts.Peers.Leads()) {
		err = h.pusher.Refresh(ctx)
	} else {
		err = h.pusher.Follow(ctx, keys)
	}
	if v.failed = err != nil; v.failed && ctx.Err() == nil {
		h.parts.Logger.Debug("webhooks of other hubs", "error", err)
	}
}
