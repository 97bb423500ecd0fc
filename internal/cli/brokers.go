package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/amqpbus"
	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/internal/config"
)

// openBroker connects to a broker.
type openBroker func(ctx context.Context, url string, log *slog.Logger) (bus.Bus, error)

// brokers connect to the brokers of other programs, by the scheme of their address.
var brokers = map[string]openBroker{
	"nats": openNATS, "tls": openNATS, "amqp": openAMQP, "amqps": openAMQP,
}

// openAMQP does not wait for the broker: it is connected to as soon as it is there.
func openAMQP(_ context.Context, url string, log *slog.Logger) (bus.Bus, error) {
	b := &amqpbus.Bus{URL: url, Logger: log}
	return b, b.Check()
}

func openNATS(ctx context.Context, url string, log *slog.Logger) (bus.Bus, error) {
	b, err := natsbus.Open(ctx, natsbus.Options{URL: url, Logger: log})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// openBusAt connects to the broker at a URL. flag is how the URL was given.
func openBusAt(ctx context.Context, at, flag string, log *slog.Logger) (bus.Bus, error) {
	if wrong := config.CheckBusURL(at); wrong != "" {
		return nil, usagef("%s: it %s", flag, wrong)
	}
	scheme, _, _ := strings.Cut(at, "://")
	open := brokers[scheme]
	if open == nil {
		return nil, usagef("%s: there is no bus for %s:// in this program", flag, scheme)
	}
	b, err := open(ctx, at, log)
	if err != nil {
		return nil, fmt.Errorf("bus at %s: %w", redactedURL(at), err)
	}
	return b, nil
}

// openBusOf connects to the broker of the hub whose data folder is at a path, and returns
// the hub's key.
func openBusOf(_ context.Context, data string, _ *slog.Logger) (bus.Bus, []bus.HubKey, error) {
	return nil, nil, usagef("there is no broker in %s; say --bus URL", quote(data))
}

// redactedURL is the address of a broker for people, without what it is shown.
func redactedURL(at string) string {
	var all []string
	for one := range strings.SplitSeq(at, ",") {
		u, err := url.Parse(one)
		if err != nil {
			return "a broker"
		}
		all = append(all, u.Scheme+"://"+u.Host)
	}
	return strings.Join(all, ",")
}

// connect connects the hub to its bus.
func (h *hub) connect(ctx context.Context, _ bus.HubKey) (err error) {
	c, p := &h.cfg.Bus, &h.busParts
	switch {
	case h.cfg.OpenBus != nil:
		p.bus, err = h.cfg.OpenBus(ctx)
		p.where = "within this process"
	case c.URL == "":
		return nil
	default:
		p.bus, err = openBusAt(ctx, c.URL, "bus.url", h.logger)
		p.where = redactedURL(c.URL)
	}
	if p.bus != nil {
		p.close = p.bus.Close
	}
	return err
}
