package hub

import (
	"slices"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/trust"
)

// observers returns the parts of the hub that are notified of durable changes.
func (h *Hub) observers() engine.Observers {
	p := &h.parts
	var all engine.Observers
	if p.Trust != nil {
		all = append(all, engine.ObserverFuncs{OnAdmitted: p.contact})
	}
	if h.pusher != nil {
		all = append(all, engine.ObserverFuncs{OnChanged: h.notifyWebhooks})
	}
	if p.Recorder != nil && !h.settings.NoRecording {
		all = append(all, engine.ObserverFuncs{OnChanged: p.record})
	}
	if p.Directory != nil {
		all = append(all, engine.ObserverFuncs{OnEnded: h.ended})
	}
	all = append(all, engine.ObserverFuncs{OnEnded: h.sampled})
	if p.Observer != nil {
		all = append(all, p.Observer)
	}
	return all
}

// contact counts a message of a caller other than the owner and the administrators.
func (p *Parts) contact(who *auth.Principal) {
	if who.Owner() != auth.Local && !slices.Contains(who.Roles, auth.RoleAdmin) {
		p.Trust.RecordContact(trust.Subject(who.ID), time.Now())
	}
}

// notifyWebhooks passes a change to the dispatcher of webhooks.
func (h *Hub) notifyWebhooks(c engine.Change) {
	if c.Moved {
		h.pusher.Moved(c.Head)
	}
	if c.Webhook.Task != 0 {
		h.pusher.Changed(c.Webhook, c.Hook, c.Head)
	}
}

func (p *Parts) record(c engine.Change) {
	if c.Moved || c.Requested {
		p.Recorder.Moved(c.Head, c.Requested)
	}
}
