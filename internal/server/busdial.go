package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/broker"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/task"
)

// DialBus connects to the broker at a URL. flag names the source of the URL in errors.
func DialBus(ctx context.Context, at, flag string, log *slog.Logger) (bus.Bus, error) {
	if wrong := config.CheckBusURL(at); wrong != "" {
		return nil, configf("%s: it %s", flag, wrong)
	}
	return broker.Open(ctx, at, log)
}

func (h *Hub) connect(ctx context.Context, key bus.HubKey) (err error) {
	c, p := &h.cfg.Bus, &h.busParts
	switch {
	case h.cfg.OpenBus != nil:
		p.bus, err = h.cfg.OpenBus(ctx)
		p.where, p.kind = "within this process", "test"
	case c.URL == "":
		return h.startBroker(ctx, key)
	default:
		p.bus, err = DialBus(ctx, c.URL, "bus.url", h.logger)
		p.where, p.address, p.kind = broker.Redacted(c.URL), broker.Redacted(c.URL), kindOf(c.URL)
	}
	if p.bus != nil {
		h.opened(p.bus.Close)
	}
	return err
}

// kindOf returns the kind of the broker at a URL.
func kindOf(at string) string {
	if strings.HasPrefix(at, "amqp") {
		return "amqp"
	}
	return "nats"
}

// startBroker starts the embedded broker. Workers on this machine find it by bus.json in the
// data folder. Its address and its token stay the same, so that workers reconnect after a
// restart of the hub.
func (h *Hub) startBroker(ctx context.Context, key bus.HubKey) error {
	p := &h.busParts
	at := h.cfg.Bus.Listen
	if at == "" {
		at = h.lastBusAddress(ctx)
	}
	certificate, err := h.busCertificate()
	if err != nil {
		return err
	}
	s, err := embedded.Start(embedded.Options{
		Folder: h.dir.Path(), Listen: at, Token: hex.EncodeToString(h.box.Key("bus")), Hub: key.String(), Logger: h.logger,
		TLS: certificate, Agent: h.busPass(ctx),
	})
	if err != nil {
		return fmt.Errorf("--bus-listen: %w; or set --bus off", err)
	}
	b, err := s.Open(ctx, natsbus.Options{Logger: h.logger})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	h.opened(s.Close)
	h.opened(b.Close)
	p.contact = s.WriteContact
	p.bus, p.drop, p.where = b, s.Drop, whereBus(broker.Redacted(s.Contact().URL), at)
	p.kind, p.address = "embedded", broker.Redacted(s.Contact().URL)
	u, err := url.Parse(s.Contact().URL)
	if err != nil {
		return err
	}
	err = h.stores.agents.PutNote(ctx, h.busAddress(), []byte(u.Host))
	if errors.Is(err, task.ErrFull) {
		return nil // the next start may choose another address
	}
	return err
}

// contactEvery is the interval at which bus.json is written again after the disk was full.
const contactEvery = 5 * time.Second

// writeContact writes bus.json as soon as the disk has room. The system gives no notification of
// that.
func (h *Hub) writeContact(ctx context.Context) error {
	again := time.NewTicker(contactEvery)
	defer again.Stop()
	for h.busParts.contact() != nil {
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
	<-ctx.Done()
	return nil
}

// busAddress returns the key of the note with the address of the embedded broker. Each of several
// hubs on a database has one.
func (h *Hub) busAddress() string { return strings.TrimSpace("bus address " + h.cfg.HubID) }

// lastBusAddress returns the last address of the embedded broker if it is free and on this
// machine, or else a free port.
func (h *Hub) lastBusAddress(ctx context.Context) string {
	const anywhere = "127.0.0.1:0"
	note, err := h.stores.agents.Note(ctx, h.busAddress())
	if err != nil || note == nil || !client.Loopback(string(note)) {
		return anywhere
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", string(note))
	if err != nil || l.Close() != nil {
		return anywhere
	}
	return string(note)
}
