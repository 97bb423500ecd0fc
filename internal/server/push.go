package server

import (
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/push"
)

// pushOptions returns the options for the notification of webhooks.
func pushOptions(c *config.Push) push.Options {
	return push.Options{
		Off: c.Off, Allow: c.Allow, RequireHTTPS: c.RequireHTTPS, SigningSecrets: c.SigningSecrets,
		Timeout: duration(c.Timeout), MaxAge: duration(c.MaxAge), Concurrency: c.Concurrency, PerEndpoint: c.PerEndpoint,
	}
}
