package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/agent/rockbot"
	"github.com/parley-a2a/parley/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/rockbotfront"
	"github.com/parley-a2a/parley/task"
)

const (
	// rockBotName is what RockBot's agents call a hub that has no other name.
	rockBotName = "parley"
	// rockBotPause is the time after which a place on the exchange is taken again that was
	// lost for good, such as one whose queue somebody has made differently.
	rockBotPause = 30 * time.Second
)

// rockBotParts are the hub's place on RockBot's exchange. Both are nil where it has none.
type rockBotParts struct {
	bus  *amqpbus.Bus
	line *rockbot.Line
}

// openRockBot takes a place on RockBot's exchange if the configuration names one. It does
// not wait for the broker.
func (h *hub) openRockBot() error {
	at := h.cfg.RockBotURL()
	switch {
	case h.cfg.Conformance || at == "" && !h.cfg.UsesRockBot():
		return nil
	case at == "":
		return usagef("rockbot.url is missing in %s: RockBot's broker is a RabbitMQ, such as amqp://user:password@host/vhost", source(h.cfg))
	}
	b := &amqpbus.Bus{URL: at, Logger: h.logger}
	if err := b.Check(); err != nil {
		return fmt.Errorf("open RockBot's broker at %s: %w", redactedURL(at), err)
	}
	h.rockBot = rockBotParts{b, &rockbot.Line{Bus: b, Name: cmp.Or(h.cfg.RockBot.Name, rockBotName), Logger: h.logger}}
	return nil
}

// rockBotAgent returns what gives tasks to an agent of RockBot.
func (h *hub) rockBotAgent(a *config.Agent) *rockbot.Agent {
	return &rockbot.Agent{
		Line: h.rockBot.line, Name: a.RockBot, Timeout: time.Duration(a.Timeout), Idempotent: a.Idempotent,
	}
}

// checkServed returns an error if an agent that RockBot's may ask is none of the hub's.
func (h *hub) checkServed() error {
	for _, name := range h.cfg.RockBot.Serve {
		if _, ok := h.engine.Agent(task.Agent(name)); !ok {
			return usagef("rockbot.serve: the agent %q is not served", name)
		}
	}
	return nil
}

// runRockBot hears what RockBot's agents answer until no task runs any more, which is when
// learning ends, and what they ask until ctx ends.
func (h *hub) runRockBot(ctx, learning context.Context) error {
	line := h.rockBot.line
	if line == nil {
		return nil
	}
	var group errgroup.Group
	group.Go(func() error { return h.stay(learning, "answers of RockBot's agents", line.Run) })
	for _, name := range h.cfg.RockBot.Serve {
		group.Go(func() error {
			select {
			case <-h.engine.Recovered():
			case <-ctx.Done():
				return nil
			}
			server := &rockbotfront.Server{Engine: h.engine}
			return h.stay(ctx, "questions of RockBot's agents to "+name, func(ctx context.Context) error {
				return line.Serve(ctx, task.Agent(name), server)
			})
		})
	}
	return group.Wait()
}

// stay does something until ctx ends, and begins anew after a while if it cannot.
func (h *hub) stay(ctx context.Context, what string, do func(context.Context) error) error {
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

// shut leaves the exchange.
func (p *rockBotParts) shut() error {
	if p.bus == nil {
		return nil
	}
	return p.bus.Close()
}
