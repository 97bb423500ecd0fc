package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/client"
)

// busCertificate returns what the hub's broker shows; nil if it does not speak TLS.
func (h *Hub) busCertificate() (*tls.Config, error) {
	files := h.cfg.Bus.TLS
	if files.Cert == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the bus (%s, %s): %w", files.Cert, files.Key, err)
	}
	if left := time.Until(c.Leaf.NotAfter); left < 0 {
		h.logger.Warn("the certificate of the bus has expired: workers elsewhere will not believe it", "file", files.Cert, "expired", c.Leaf.NotAfter)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c}}, nil
}

// busPass returns what says which agent a key is for.
func (h *Hub) busPass(ctx context.Context) func(key, from string) (embedded.Pass, bool) {
	return func(key, from string) (embedded.Pass, bool) {
		k, err := h.keys.Worker(ctx, key, from)
		if err != nil {
			return embedded.Pass{}, false // is in the log
		}
		name, ok := k.BusAgent()
		return embedded.Pass{Key: k.ID, Agent: name, Until: k.ExpiresAt}, ok
	}
}

// keyDropper are the keys of the hub. What was connected with one that is revoked is
// disconnected at once.
type keyDropper struct {
	*auth.Keyring
	// drop disconnects the workers with a key; nil if the hub's broker has none.
	drop   func(key string) error
	logger *slog.Logger
}

// Revoke implements adminapi.Keys.
func (d keyDropper) Revoke(ctx context.Context, id string, after time.Duration) (auth.Key, error) {
	k, err := d.Keyring.Revoke(ctx, id, after)
	if err != nil {
		return k, err
	}
	// One that is good for a while comes back, and is told until when.
	if _, ok := k.BusAgent(); ok && d.drop != nil {
		if err := d.drop(k.ID); err != nil {
			d.logger.Error("disconnect workers with a revoked key", "key", k.ID, "error", err)
		}
	}
	return k, nil
}

// whereBus says for people where the hub's broker is, and for whom.
func whereBus(contact, listen string) string {
	host, _, err := net.SplitHostPort(listen)
	u, bad := url.Parse(contact)
	if err != nil || bad != nil || client.Loopback(listen) {
		return contact + ", for programs on this machine"
	}
	return u.Scheme + "://" + net.JoinHostPort(host, u.Port()) + ", for workers with a key"
}
