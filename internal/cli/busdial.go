package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/broker"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/task"
)

// openBusOf connects to the broker of the hub whose data folder is given, and returns the hub's
// key.
func openBusOf(ctx context.Context, data string, log *slog.Logger) (bus.Bus, []bus.HubKey, error) {
	c, err := natsbus.ReadContact(filepath.Join(data, natsbus.ContactFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usagef("no hub with its own broker runs in %s; use --bus URL, or --data DIR", quote(data))
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
	return broker.Redacted(at)
}

// openKeyed connects to the broker of a remote hub with the key of an agent, or to a broker
// whose certificate is signed by a private authority.
func (c *agentRunCmd) openKeyed(ctx context.Context, name task.Agent, o natsbus.Options) (bus.Bus, error) {
	for one := range strings.SplitSeq(c.Bus, ",") {
		if !strings.HasPrefix(one, "tls://") {
			return nil, usagef("--bus %s: --bus-key ($PARLEY_BUS_KEY) and --ca require tls://", busName(c.Bus))
		}
	}
	if wrong := config.CheckBusURL(c.Bus); wrong != "" {
		return nil, usagef("--bus: it %s", wrong)
	}
	o.URL, o.TLS = c.Bus, &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := textfile.Read(c.CA)
		if err != nil {
			return nil, usagef("--ca: %w", err)
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("--ca: %s has no certificate as PEM", c.CA)
		}
	}
	if c.BusKey != "" {
		o.Token, o.Agent = c.BusKey, string(name)
	}
	b, err := natsbus.Open(ctx, o)
	if errors.Is(err, natsbus.ErrRefused) {
		return nil, c.refused(name)
	}
	if err != nil {
		return nil, fmt.Errorf("bus at %s: %w", broker.Redacted(c.Bus), err)
	}
	return b, nil
}

// refused returns the error for a refused key. The broker refuses it at once or a moment later.
func (c *agentRunCmd) refused(name task.Agent) error {
	return fmt.Errorf("%w by the broker at %s: it must be a key for the agent %q, in that spelling, that is neither revoked nor expired; parley keys add --bus-agent makes one",
		natsbus.ErrRefused, broker.Redacted(c.Bus), name)
}

// busFlags applies the flags about the hub's own broker to the configuration.
func (c *serveCmd) busFlags(b *config.Bus) error {
	if wrong := config.CheckBusURL(c.Bus); wrong != "" {
		return usagef("--bus %s", wrong)
	}
	b.URL = cmp.Or(c.Bus, b.URL)
	given := c.BusListen != "" || c.BusCert != "" || c.BusCertKey != ""
	switch {
	case given && b.URL != "":
		return usagef("--bus-listen needs the hub's own broker, but the bus is %s", busName(b.URL))
	case (c.BusCert == "") != (c.BusCertKey == ""):
		return usagef("--bus-cert and --bus-cert-key must be given together")
	}
	b.Listen = cmp.Or(c.BusListen, b.Listen)
	if c.BusCert != "" {
		b.TLS = config.Certificate{Cert: c.BusCert, Key: c.BusCertKey}
	}
	if b.Listen == "" || client.Loopback(b.Listen) || b.TLS.Cert != "" {
		return nil
	}
	return usagef("--bus-listen %s: other machines reach this address, so it needs a certificate: "+
		"set --bus-cert FILE and --bus-cert-key FILE, or bus.tls in parley.yaml; "+
		"workers there need a key each, which \"parley keys add --bus-agent NAME\" makes", b.Listen)
}
