package openid

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

const (
	// fresh is the age up to which a discovery document is used without being read again.
	fresh = 10 * time.Minute
	// requestTime limits the duration of a request to the provider.
	requestTime = 10 * time.Second
	// maxDocument limits the size of an answer of the provider, in bytes.
	maxDocument = 1 << 20
)

// document is the part of a discovery document that a sign-in needs (OpenID Connect Discovery 1.0
// §3).
type document struct {
	Issuer        string
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	EndSession    string   `json:"end_session_endpoint"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	// NamesIssuer is set if each answer to the browser has the parameter iss (RFC 9207).
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

func (p *Provider) discover(ctx context.Context) (*document, error) {
	p.mu.Lock()
	doc, read := p.doc, p.read
	p.mu.Unlock()
	if doc != nil && time.Since(read) < fresh {
		return doc, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	address := strings.TrimSuffix(p.URL, "/") + "/.well-known/openid-configuration"
	text, err := httpcall.Get(ctx, p.Client, address, maxDocument)
	if err != nil {
		return nil, unavailable(err)
	}
	doc = new(document)
	if err := json.Unmarshal(text, doc); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, address, err)
	}
	if err := p.checkDocument(doc); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, address, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doc, p.read = doc, time.Now()
	return doc, nil
}

// checkDocument returns the first error in a discovery document.
func (p *Provider) checkDocument(d *document) error {
	if d.Issuer != p.URL {
		return fmt.Errorf("is of the issuer %.200q, not of %q", d.Issuer, p.URL)
	}
	for _, e := range []struct{ name, address string }{{"authorization_endpoint", d.Authorization}, {"token_endpoint", d.Token}} {
		if err := p.checkEndpoint(e.address); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if d.EndSession != "" && p.checkEndpoint(d.EndSession) != nil {
		d.EndSession = "" // people sign out at the hub alone
	}
	if len(d.Challenges) > 0 && !slices.Contains(d.Challenges, "S256") {
		return fmt.Errorf("code_challenge_methods_supported: S256 is required")
	}
	return nil
}

// checkEndpoint returns an error for an address to which no code and no browser is sent.
func (p *Provider) checkEndpoint(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%.200q is not an https URL", address)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && httpcall.Loopback(u.Host) && strings.HasPrefix(p.URL, "http://"):
		return nil
	}
	return fmt.Errorf("%.200q must begin with https://", address)
}

// basic reports whether the client authenticates with HTTP Basic, as it does unless the provider
// accepts parameters only (OpenID Connect Core 1.0 §9).
func (d *document) basic() bool {
	return len(d.Methods) == 0 || slices.Contains(d.Methods, "client_secret_basic") || !slices.Contains(d.Methods, "client_secret_post")
}
