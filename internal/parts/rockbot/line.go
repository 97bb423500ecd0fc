package rockbot

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/broker"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/parts/rockbot/front"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/task"
)

const (
	// hubName is the default name of the hub for RockBot's agents.
	hubName = "parley"
	// pause is the time after which the hub tries to use the exchange again after a permanent
	// error, such as a queue that another program has declared differently.
	pause = 30 * time.Second
)

// line is the connection of a hub to RockBot's exchange.
type line struct {
	exchange *exchange.Exchange
	cfg      *config.Config
	logger   *slog.Logger
}

// connect is a server.NewExchange. It does not wait for the broker.
func connect(o server.ExchangeOptions) (server.Exchange, error) {
	at := settingsOf(o.Config).URL
	if at == "" && used(o.Config) && overAMQP(o.Config.Bus.URL) {
		at = o.Config.Bus.URL
	}
	switch {
	case at == "" && !used(o.Config):
		return nil, nil
	case at == "":
		file := cmp.Or(o.Config.File, "no configuration file")
		return nil, &server.ConfigError{Err: fmt.Errorf("rockbot.url is missing in %s: RockBot's broker is a RabbitMQ, such as amqp://user:password@host/vhost", file)}
	}
	b := &amqpbus.Bus{URL: at, Logger: o.Logger}
	if err := b.Check(); err != nil {
		return nil, fmt.Errorf("open RockBot's broker at %s: %w", broker.Redacted(at), err)
	}
	announced := func(n *exchange.Announcement) error {
		s, err := directory.AnnouncedOnExchange(n.Card, n.URL)
		if err != nil {
			return err
		}
		s.Where = "RockBot's exchange"
		return o.Announced(&s, n.Leaves)
	}
	x := &exchange.Exchange{Bus: b, Name: nameOf(o.Config), Announced: announced, Logger: o.Logger}
	return &line{x, o.Config, o.Logger}, nil
}

// nameOf returns the hub's name among RockBot's agents.
func nameOf(c *config.Config) string { return cmp.Or(settingsOf(c).Name, hubName) }

// Close implements server.Exchange.
func (l *line) Close() error { return l.exchange.Bus.Close() }

// Executor implements server.Exchange.
func (l *line) Executor(s *directory.Spec) a2asrv.AgentExecutor {
	x := &exchange.Agent{Exchange: l.exchange, Name: string(s.Exchange)}
	if a := l.cfg.Agent(s.Name); a != nil {
		x.Timeout, x.Idempotent = time.Duration(a.Timeout), a.Idempotent
	}
	return x
}

// Check implements server.Exchange.
func (l *line) Check(e *engine.Engine) error {
	for _, name := range settingsOf(l.cfg).Serve {
		if _, ok := e.Agent(task.Agent(name)); !ok && l.whole(e, name) == "" {
			return &server.ConfigError{Err: fmt.Errorf("rockbot.serve: the agent %q is not served", name)}
		}
	}
	return nil
}

// whole returns the name that stands for the whole hub among RockBot's agents, if it is this one;
// else the empty name. An agent of the hub with that name precedes it.
func (l *line) whole(e *engine.Engine, name string) task.Agent {
	if _, ok := e.Agent(task.Agent(name)); ok || name != nameOf(l.cfg) {
		return ""
	}
	return task.Agent(name)
}

// Services implements server.Exchange. They receive the answers of RockBot's agents until no task
// runs any more, and their questions until the hub stops.
func (l *line) Services(e *engine.Engine) []hub.Service {
	all := []hub.Service{{Name: "RockBot", Late: true, Run: func(ctx context.Context) error {
		return l.stay(ctx, "answers of RockBot's agents", l.exchange.Run)
	}}}
	for _, name := range settingsOf(l.cfg).Serve {
		serve := func(ctx context.Context) error {
			return l.exchange.Serve(ctx, task.Agent(name), &front.Server{Engine: e, Whole: l.whole(e, name)})
		}
		all = append(all, hub.Service{Name: "RockBot to " + name, Run: func(ctx context.Context) error {
			select {
			case <-e.Recovered():
			case <-ctx.Done():
				return nil
			}
			return l.stay(ctx, "questions of RockBot's agents to "+name, serve)
		}})
	}
	return all
}

// stay calls do until ctx ends, and again after a pause if it fails.
func (l *line) stay(ctx context.Context, what string, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		l.logger.Error("RockBot's exchange: "+what+" are not heard", "error", err, "again", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
