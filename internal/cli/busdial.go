package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
)

// openBusOf connects to the broker of the hub whose data folder is given, and returns the hub's
// key.
func openBusOf(ctx context.Context, data string, log *slog.Logger) (bus.Bus, []bus.HubKey, error) {
	c, err := natsbus.ReadContact(filepath.Join(data, natsbus.ContactFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usagef("no hub with a broker of its own runs in %s; say --bus URL, or --data DIR", quote(data))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("broker of the hub: %w", err)
	}
	o := c.Options()
	o.Logger = log
	b, err := natsbus.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if c.Hub == "" {
		return b, nil, nil
	}
	key, err := bus.ParseHubKey(c.Hub)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("broker of the hub: %w", err), b.Close())
	}
	return b, []bus.HubKey{key}, nil
}

// busName returns the value of --bus or bus.url without credentials.
func busName(at string) string {
	if at == config.BusOff {
		return at
	}
	return server.RedactedURL(at)
}
