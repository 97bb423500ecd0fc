package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/broker"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// What connects workers and hubs.
type (
	// Bus carries envelopes between hubs and workers. Dial opens one; Close closes it after the
	// workers and hubs on it have ended.
	Bus = bus.Bus
	// Memory is a Bus within one process; Peer returns the end of another worker or hub. The zero
	// Memory is ready to use.
	Memory = bus.Memory
	// Keyring has the public keys of hubs, for Worker.Keys. ParseKeys returns one.
	Keyring = bus.Keyring
)

// ErrUnavailable is returned while the broker of a Bus cannot be reached.
var ErrUnavailable = bus.ErrUnavailable

// Dial opens the bus of a broker: nats:// or tls:// for NATS, amqp:// or amqps:// for RabbitMQ. If
// the broker is down, Dial succeeds nevertheless, and the bus connects when it is up. A nil logger
// logs nothing.
func Dial(ctx context.Context, url string, logger *slog.Logger) (Bus, error) {
	return broker.Open(ctx, url, logger)
}

// ParseKeys returns the public keys of hubs, each as HUB:KEY, which "parley serve" logs and
// parley.Signer returns.
func ParseKeys(texts ...string) (*Keyring, error) {
	keys := make([]bus.HubKey, len(texts))
	for i, t := range texts {
		var err error
		if keys[i], err = bus.ParseHubKey(t); err != nil {
			return nil, fmt.Errorf("key %d of a hub: %w", i+1, err)
		}
	}
	return bus.NewKeyring(keys...)
}

// Waiting returns the number of tasks that wait for a worker of an agent, for a program that starts
// workers on demand. The error is ErrUnavailable while the broker cannot be reached.
func Waiting(ctx context.Context, b Bus, name task.Agent) (int64, error) {
	o, ok := b.(bus.Operator)
	if !ok {
		return 0, errors.New("the bus does not report how much waits")
	}
	at := protocol.JobAt(name)
	if err := at.Check(); err != nil {
		return 0, fmt.Errorf("agent %q: %w", name, err)
	}
	d, err := o.Depth(ctx, at)
	return d.Ready, err
}
