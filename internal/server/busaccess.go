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
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
)

// busCertificate returns the TLS configuration of the hub's broker, or nil without TLS.
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
		h.logger.Warn("the certificate of the bus has expired: workers on other machines reject it", "file", files.Cert, "expired", c.Leaf.NotAfter)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c}}, nil
}

// busPass returns a function that looks up the agent of a key.
func (h *Hub) busPass(ctx context.Context) func(key, from string) (embedded.Credential, bool) {
	return func(key, from string) (embedded.Credential, bool) {
		k, err := h.keys.Worker(ctx, key, from)
		if err != nil {
			return embedded.Credential{}, false // Worker has logged it
		}
		name, ok := k.BusAgent()
		return embedded.Credential{Key: k.ID, Agent: name, Until: k.ExpiresAt}, ok
	}
}

// keyDropper is the key ring of the hub. It disconnects workers as soon as their key is
// revoked.
type keyDropper struct {
	*auth.Keyring
	// drop disconnects the workers with a key; nil if the hub has no broker of its own.
	drop   func(key string) error
	logger *slog.Logger
}

// Revoke implements adminapi.Keys.
func (d keyDropper) Revoke(ctx context.Context, id string, after time.Duration) (auth.Key, error) {
	k, err := d.Keyring.Revoke(ctx, id, after)
	if err != nil {
		return k, err
	}
	// If the key stays valid for a while, the worker reconnects and learns its new expiry.
	if _, ok := k.BusAgent(); ok && d.drop != nil {
		if err := d.drop(k.ID); err != nil {
			d.logger.Error("disconnect workers with a revoked key", "key", k.ID, "error", err)
		}
	}
	return k, nil
}

// whereBus describes the address of the hub's broker and its users for people.
func whereBus(contact, listen string) string {
	host, _, err := net.SplitHostPort(listen)
	u, bad := url.Parse(contact)
	if err != nil || bad != nil || client.Loopback(listen) {
		return contact + ", for programs on this machine"
	}
	return u.Scheme + "://" + net.JoinHostPort(host, u.Port()) + ", for workers with a key"
}
