package hub

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
)

// CardReader reads cards. Use NewCardReader.
type CardReader struct {
	// Plain reads the cards of agents that the operator has named, Guarded those of others.
	Plain, Guarded *http.Client
	// Verify returns the verified content of a card. If nil, signatures are not verified.
	Verify func(ctx context.Context, c *card.Card) (*card.Card, error)

	mu  sync.Mutex                     // guards the field below
	own map[directory.TLS]*http.Client // those with client certificates
}

// Timeouts until a server has answered. The directory bounds the whole.
const (
	cardConnect = 3 * time.Second
	cardHeaders = 10 * time.Second
)

func cardTransport() *http.Transport {
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.TLSHandshakeTimeout, plain.ResponseHeaderTimeout = cardConnect, cardHeaders
	return plain
}

// NewCardReader returns a reader that calls guarded agents only as far as policy allows.
func NewCardReader(policy *safedial.Policy) *CardReader {
	return &CardReader{Plain: &http.Client{Transport: cardTransport()}, Guarded: policy.Client()}
}

// Fetch implements directory.Fetcher.
func (c *CardReader) Fetch(ctx context.Context, r *directory.Request) (*card.Card, error) {
	header, err := r.Call.Credentials.Header(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for name, value := range r.Call.Header {
		header.Set(name, value)
	}
	o := &card.FetchOptions{Header: header, ETag: r.ETag, Timeout: -1, Target: r.Call.Target}
	if c.Verify != nil {
		o.ETag = "" // the cached card may be unverified
	}
	if o.Client, err = c.client(r); err != nil {
		return nil, err
	}
	got, err := card.Fetch(ctx, r.URL, o)
	if err == nil && c.Verify != nil {
		got, err = c.Verify(ctx, got)
	}
	if err == nil && got.Fallback {
		withoutAgent(got, r.Call.Target)
	}
	return got, err
}

// withoutAgent removes the name, description, skills and signature from a card that may belong
// to another agent at the address of the target. It removes them from Raw, too: after a restart
// the directory reads the card from there.
func withoutAgent(c *card.Card, target string) {
	c.A2A.Name, c.A2A.Description, c.A2A.Skills, c.SignedBy = target, "", nil, ""
	raw := rawjson.AppendString([]byte(`{"name":`), target)
	for name, v := range rawjson.Fields(c.Raw) {
		switch strings.ToLower(name) { // the reader of cards ignores the case of names
		case "name", "agentname", "description", "skills", "signatures":
		default:
			raw = append(append(rawjson.AppendString(append(raw, ','), name), ':'), v...)
		}
	}
	c.Raw = append(raw, '}')
}

// client returns the HTTP client for the address of an agent.
func (c *CardReader) client(r *directory.Request) (*http.Client, error) {
	switch {
	case r.Guarded:
		return c.Guarded, nil
	case r.Call.TLS == directory.TLS{}:
		return c.Plain, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if had := c.own[r.Call.TLS]; had != nil {
		return had, nil
	}
	config, err := tlsfile.Client(tlsfile.ClientFiles{Cert: r.Call.TLS.CertFile, Key: r.Call.TLS.KeyFile, CA: r.Call.TLS.CAFile})
	if err != nil {
		return nil, err // a later attempt may succeed
	}
	t := cardTransport()
	t.TLSClientConfig = config
	if c.own == nil {
		c.own = make(map[directory.TLS]*http.Client)
	}
	c.own[r.Call.TLS] = &http.Client{Transport: t}
	return c.own[r.Call.TLS], nil
}

func (c *CardReader) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, own := range c.own {
		own.CloseIdleConnections()
	}
	c.Plain.CloseIdleConnections()
	c.Guarded.CloseIdleConnections()
}
