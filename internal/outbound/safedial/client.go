package safedial

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"time"
)

// Transport returns a new transport that checks each request and each connection against the
// policy. The caller owns it, and closes its idle connections.
func (p *Policy) Transport() *http.Transport { return p.Dialer().Transport() }

// Transport returns a new transport that checks each request and each connection against the
// policy of d. The caller owns it, and closes its idle connections.
func (d *Dialer) Transport() *http.Transport {
	return &http.Transport{
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
}

// route checks the URL of a request, which has no proxy.
func (p *Policy) route(r *http.Request) (*url.URL, error) { return nil, p.checkURL(r.URL) }

// Client returns a new client that checks each request and each connection against the policy. It
// follows no redirects, and leaves timeouts to the contexts of requests. CloseIdleConnections closes
// its idle connections.
func (p *Policy) Client() *http.Client {
	return &http.Client{
		Transport:     p.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
