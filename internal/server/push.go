package server

import (
	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/push"
)

// pusher makes what tells webhooks; nil if they are off.
func (h *Hub) pusher() (engine.Pusher, error) {
	c := &h.cfg.Push
	if c.Off {
		return nil, nil
	}
	d, err := push.New(push.Config{
		Options: push.Options{
			Allow: c.Allow, RequireHTTPS: c.RequireHTTPS, SigningSecrets: c.SigningSecrets,
			Timeout: duration(c.Timeout), MaxAge: duration(c.MaxAge), Concurrency: c.Concurrency, PerEndpoint: c.PerEndpoint,
		},
		Box: h.box, Store: h.db.Tasks(), Version: parley.Version, Logger: h.logger,
	})
	if err != nil {
		return nil, err
	}
	h.push = d
	return d, nil
}

// webhooks is what the hub's own interface shows of webhooks; nil if they are off.
func (h *Hub) webhooks() *adminapi.Push {
	if h.push == nil {
		return nil
	}
	return &adminapi.Push{Desk: h.db.Tasks(), Pusher: h.push}
}
