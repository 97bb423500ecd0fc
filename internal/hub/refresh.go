package hub

import "context"

// Refresh makes the parts of the hub read what other hubs on the store have changed, apart from
// tasks.
func (h *Hub) Refresh(ctx context.Context) {
	if h.events != nil {
		h.events.Changed()
	}
	if h.pusher == nil {
		return
	}
	if err := h.pusher.Refresh(ctx); err != nil && ctx.Err() == nil {
		h.parts.Logger.Debug("webhooks of other hubs", "error", err)
	}
}
