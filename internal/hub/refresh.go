package hub

import (
	"context"

	"github.com/parley-a2a/parley/task"
)

// maxFollowed is the number of changed tasks up to which their webhooks are read one by one.
const maxFollowed = 64

// Refresh makes the parts of the hub read the changes of other hubs on the store, apart from those of
// tasks. keys are the tasks that have changed; all is set if any may have.
func (h *Hub) Refresh(ctx context.Context, all bool, keys []task.Key) {
	if h.events != nil {
		h.events.Changed()
	}
	if h.pusher == nil {
		return
	}
	var err error
	if all || len(keys) > maxFollowed {
		err = h.pusher.Refresh(ctx)
	} else {
		err = h.pusher.Follow(ctx, keys)
	}
	if err != nil && ctx.Err() == nil {
		h.parts.Logger.Debug("webhooks of other hubs", "error", err)
	}
}
