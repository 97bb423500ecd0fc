package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/agents/rockbot"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/broker"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/announce"
	"github.com/parley-a2a/parley/internal/front/rockbotfront"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/task"
)

const (
	// rockBotName is the default name of the hub for RockBot's agents.
	rockBotName = "parley"
	// rockBotPause is the time after which the hub tries to use the exchange again after a
	// permanent error, such as a queue that another program has declared differently.
	rockBotPause = 30 * time.Second
)

// openRockBot connects to RockBot's exchange if the configuration names one. It does not wait
// for the broker.
func (h *Hub) openRockBot() error {
	at := h.cfg.RockBotURL()
	switch {
	case h.cfg.Conformance || at == "" && !h.cfg.UsesRockBot():
		return nil
	case at == "":
		return configf("rockbot.url is missing in %s: RockBot's broker is a RabbitMQ, such as amqp://user:password@host/vhost", source(h.cfg))
	}
	b := &amqpbus.Bus{URL: at, Logger: h.logger}
	if err := b.Check(); err != nil {
		return fmt.Errorf("open RockBot's broker at %s: %w", broker.Redacted(at), err)
	}
	h.opened(b.Close)
	h.rockBot = &rockbot.Exchange{
		Bus: b, Name: cmp.Or(h.cfg.RockBot.Name, rockBotName), Announced: h.announcedAtRockBot, Logger: h.logger,
	}
	if h.busParts.announced == nil {
		return h.openAnnounced(&announce.Source{})
	}
	return nil
}

// announcedAtRockBot adds an agent that has announced itself on RockBot's exchange. An agent of
// the configuration keeps its configured name.
func (h *Hub) announcedAtRockBot(n *rockbot.Announcement) error {
	s, err := directory.AnnouncedAtRockBot(n.Card, n.URL)
	if err != nil {
		return err
	}
	s.Where = "RockBot's exchange"
	h.nameAsConfigured(&s)
	e, err := h.core.Directory().Get(string(s.Name))
	if err == nil && (e.Spec.Local || e.Spec.Model != nil) {
		return fmt.Errorf("the hub already has an agent %q", s.Name)
	}
	if n.Leaves {
		// What an agent of a file has announced completes its entry, which stays.
		listed := err == nil && len(e.Sources) > 1
		h.busParts.announced.Left(context.Background(), s.Name, listed)
		return nil
	}
	return h.busParts.announced.Announce(context.Background(), &s)
}

// nameAsConfigured gives an agent of RockBot its configured name.
func (h *Hub) nameAsConfigured(s *directory.Spec) {
	for i := range h.cfg.Agents {
		if a := &h.cfg.Agents[i]; a.RockBot != "" && task.Agent(a.RockBot) == s.RockBot {
			s.Name = task.Agent(a.Name)
		}
	}
}

func (h *Hub) rockBotAgent(s *directory.Spec) *rockbot.Agent {
	x := &rockbot.Agent{Exchange: h.rockBot, Name: string(s.RockBot)}
	if a := h.cfg.Agent(s.Name); a != nil {
		x.Timeout, x.Idempotent = time.Duration(a.Timeout), a.Idempotent
	}
	return x
}

// checkServed returns an error if rockbot.serve names an agent that the hub does not have.
func (h *Hub) checkServed() error {
	for _, name := range h.cfg.RockBot.Serve {
		if _, ok := h.engine.Agent(task.Agent(name)); !ok && h.wholeHub(name) == "" {
			return configf("rockbot.serve: the agent %q is not served", name)
		}
	}
	return nil
}

// wholeHub returns the name that stands for the whole hub among RockBot's agents, if it is this
// one; else the empty name. An agent of the hub with that name precedes it.
func (h *Hub) wholeHub(name string) task.Agent {
	if _, ok := h.engine.Agent(task.Agent(name)); ok || name != cmp.Or(h.cfg.RockBot.Name, rockBotName) {
		return ""
	}
	return task.Agent(name)
}

// rockBotServices receive the answers of RockBot's agents until no task runs any more, and
// their questions until the hub stops.
func (h *Hub) rockBotServices() []hub.Service {
	line := h.rockBot
	if line == nil {
		return nil
	}
	all := []hub.Service{{Name: "RockBot", Late: true, Run: func(ctx context.Context) error {
		return h.stay(ctx, "answers of RockBot's agents", line.Run)
	}}}
	for _, name := range h.cfg.RockBot.Serve {
		serve := func(ctx context.Context) error {
			return line.Serve(ctx, task.Agent(name), &rockbotfront.Server{Engine: h.engine, Whole: h.wholeHub(name)})
		}
		all = append(all, hub.Service{Name: "RockBot to " + name, Run: h.recovered(func(ctx context.Context) error {
			return h.stay(ctx, "questions of RockBot's agents to "+name, serve)
		})})
	}
	return all
}

// stay calls do until ctx ends, and again after a pause if it fails.
func (h *Hub) stay(ctx context.Context, what string, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		h.logger.Error("RockBot's exchange: "+what+" are not heard", "error", err, "again", rockBotPause)
		select {
		case <-time.After(rockBotPause):
		case <-ctx.Done():
		}
	}
}
