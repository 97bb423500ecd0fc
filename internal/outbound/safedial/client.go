package safedial

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"time"
)

// Transport returns a new transport that checks each request and each connection against the
// policy. The caller owns it, and closes its idle connections.
func (p *Policy) Transport() *http.Transport { return p.Dialer().Transport() }

// Transport returns a new transport that checks each request and each connection against the
// policy of d. The caller owns it, and closes its idle connections.
func (d *Dialer) Transport() *http.Transport {
	t := &http.Transport{
		// Proxy is called for every request, which makes it the place to check them.
		Proxy:                  d.Policy.route,
		DialContext:            d.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if d.Policy != nil && d.Policy.Proxy != nil {
		// All connections go to the proxy, whose address the operator configured.
		trusted := *d
		trusted.Policy = &Policy{all: true}
		t.DialContext = trusted.DialContext
	}
	return t
}

// route checks the URL of a request and returns its proxy, or nil.
func (p *Policy) route(r *http.Request) (*url.URL, error) {
	if err := p.checkURL(r.URL); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, nil
	}
	return p.Proxy, nil
}

// ClientOptions configure a client. The zero ClientOptions follow no redirects and leave
// timeouts to the contexts of requests.
type ClientOptions struct {
	// Redirects is the maximum number of redirects that are followed; zero means that the
	// redirect itself is the response.
	Redirects int
	// Timeout bounds a request with its redirects and the reading of the body; zero means no
	// limit.
	Timeout time.Duration
	// Dialer is used instead of the policy's own; its Policy is ignored.
	Dialer *Dialer
}

// Client returns a new client that checks each request, each redirect and each connection
// against the policy. CloseIdleConnections closes its idle connections.
func (p *Policy) Client(o ClientOptions) *http.Client {
	d := p.Dialer()
	if o.Dialer != nil {
		*d = *o.Dialer
		d.Policy = p
	}
	return &http.Client{
		Transport: d.Transport(),
		Timeout:   o.Timeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			return p.redirect(r, via, o.Redirects)
		},
	}
}

// redirect checks one more redirect.
func (p *Policy) redirect(r *http.Request, via []*http.Request, most int) error {
	switch {
	case most == 0:
		return http.ErrUseLastResponse
	case len(via) > most:
		return fmt.Errorf("%w: more than %d", ErrRedirect, most)
	case via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https":
		return fmt.Errorf("%w: from https to %s", ErrRedirect, r.URL.Scheme)
	}
	r.URL.Fragment, r.URL.RawFragment = "", ""
	if err := p.CheckURL(r.URL.String()); err != nil {
		return err
	}
	first := via[0].URL
	if slices.ContainsFunc(append(via[1:len(via):len(via)], r), func(hop *http.Request) bool {
		return hop.URL.Scheme != first.Scheme || hop.URL.Host != first.Host
	}) {
		dropPrivate(r.Header)
	}
	return nil
}

// public are the headers that may be sent to another origin.
var public = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "User-Agent", "A2a-Version", "A2a-Extensions"}

func dropPrivate(h http.Header) {
	for name := range h {
		if !slices.Contains(public, textproto.CanonicalMIMEHeaderKey(name)) {
			delete(h, name)
		}
	}
}
