// Package broker opens a bus by the URL of its broker. The scheme selects NATS or RabbitMQ. Programs of
// embedders reach it as worker.Dial; the hub uses it for bus.url.
package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
)

// Open opens the bus of the broker at nats://, tls:// (NATS), amqp:// or amqps:// (RabbitMQ). If the
// broker is down, Open succeeds nevertheless, and the bus connects when it is up. Errors name the address
// without credentials.
func Open(ctx context.Context, at string, log *slog.Logger) (bus.Bus, error) {
	switch scheme, _, _ := strings.Cut(at, "://"); scheme {
	case "nats", "tls":
		return opened(natsbus.Open(ctx, natsbus.Options{URL: at, Logger: log}))
	case "amqp", "amqps":
		b := &amqpbus.Bus{URL: at, Logger: log}
		if err := b.Check(); err != nil {
			return nil, fmt.Errorf("open bus at %s: %w", Redacted(at), err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("open bus at %s: the address must begin with nats://, tls://, amqp:// or amqps://", Redacted(at))
}

// opened returns no typed nil beside an error.
func opened(b *natsbus.Bus, err error) (bus.Bus, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Redacted returns the address of a broker for people, without credentials.
func Redacted(at string) string {
	var all []string
	for one := range strings.SplitSeq(at, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" {
			return "a broker"
		}
		all = append(all, u.Scheme+"://"+u.Host)
	}
	return strings.Join(all, ",")
}
