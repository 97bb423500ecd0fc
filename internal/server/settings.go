package server

import (
	"cmp"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/task"
)

func (h *Hub) settings() hub.Settings {
	c := h.cfg
	return hub.Settings{
		Limits: limitsOf(c),
		Idempotency: engine.Idempotency{
			Header: c.Idempotency.Header, MessageID: c.Idempotency.MessageID, TTL: duration(c.Idempotency.TTL), Same: h.same(),
		},
		Extended: engine.ExtendedCards{Token: c.ExtendedCard.Token, Authenticated: c.ExtendedCard.Authenticated},
		Push:     pushOptions(&c.Push), Default: task.Agent(cmp.Or(c.DefaultAgent, "default")), NoRecording: c.Memory.Off,
		About: c.Cards.About(), NoClientIDs: c.NoClientIDs, ShareTrees: c.ShareTrees, SpoolDir: h.dir.Join(spoolName), PublicURL: c.PublicURL, AllowedHosts: c.AllowedHosts, Bearers: h.identity.bearers, Version: version.Version, Commit: h.commit,
	}
}

func limitsOf(c *config.Config) limits.Limits {
	e, l, d := &c.Engine, &c.Limits, &c.Delegation
	return limits.Limits{
		Body: int64(l.Body), Memory: int64(l.Memory), Spool: int64(l.Spool), BodyTime: duration(l.BodyTime), WriteTime: duration(l.WriteTime), KeepAlive: duration(l.KeepAlive),
		StreamsPerCaller: l.StreamsPerCaller, Streams: l.Streams, TasksPerCaller: l.TasksPerCaller,
		RequestsPerSecond: l.RequestsPerSecond, Burst: l.Burst, BytesPerSecond: int64(l.BytesPerSecond),
		MaxWait: duration(e.MaxWait), FirstEvent: duration(e.FirstEvent), AgentSilence: duration(e.AgentSilence),
		CancelWait: duration(e.CancelWait), DrainTimeout: duration(e.DrainTimeout),
		Retention: duration(e.Retention), IdleRetention: duration(e.IdleRetention),
		MaxRuns: e.MaxRuns, MaxAway: e.MaxAway, MaxQueued: e.MaxQueued, MaxWaiting: e.MaxWaiting, MaxOutput: int64(e.MaxOutput),
		Hops: d.MaxHops, Delegations: d.MaxTasks, DelegationTime: duration(d.MaxTime),
	}
}

// pushOptions returns the options for the notification of webhooks.
func pushOptions(c *config.Push) push.Options {
	return push.Options{
		Off: c.Off, Allow: c.Allow, RequireHTTPS: c.RequireHTTPS, SigningSecrets: c.SigningSecrets,
		Timeout: duration(c.Timeout), MaxAge: duration(c.MaxAge), Concurrency: c.Concurrency, PerEndpoint: c.PerEndpoint,
	}
}
