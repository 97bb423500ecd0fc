package httpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Errors before an answer exists.
var (
	// ErrUnreachable means that no connection could be made, so nothing was received.
	ErrUnreachable = errors.New("not reachable")
	// ErrTooLarge means that an answer is larger than its limit.
	ErrTooLarge = errors.New("answer too large")
)

// maxRedirects is how many redirects a request may follow.
const maxRedirects = 5

// connectTimeout bounds the time to connect.
const connectTimeout = 10 * time.Second

// Client returns a client like base that follows redirects only within a host, and returns
// ErrUnreachable for a host that it could not connect to. If base is nil, it has a connect
// timeout of ten seconds and no other. release closes the idle connections, except those of
// base.
func Client(base *http.Client) (c *http.Client, release func()) {
	c = &http.Client{CheckRedirect: sameHost}
	if base != nil {
		c.Jar, c.Timeout = base.Jar, base.Timeout
		rt := base.Transport
		if rt == nil {
			rt = http.DefaultTransport
		}
		c.Transport = &reacher{rt}
		return c, func() {}
	}
	t := Transport()
	c.Transport = &reacher{t}
	return c, t.CloseIdleConnections
}

// Transport returns the default transport with a shorter connect timeout, for callers that
// customize it.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}).DialContext
	return t
}

// reacher distinguishes a host without a connection from one that may have received something.
type reacher struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r *reacher) RoundTrip(req *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := r.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		return Veil(req, resp), nil
	}
	if !connected.Load() && req.Context().Err() == nil {
		return nil, &Unreachable{Host: req.URL.Host, Err: err}
	}
	return nil, err
}

// Unreachable names a host that could not be connected to, with the reason. It wraps
// ErrUnreachable.
type Unreachable struct {
	Host string
	Err  error
}

// Error names the host and the reason.
func (u *Unreachable) Error() string {
	why := u.Err
	var op *net.OpError
	if errors.As(why, &op) {
		why = op.Err // the outer error repeats the host
	}
	return u.Host + " is not reachable: " + why.Error()
}

// Unwrap returns ErrUnreachable and the error of the connection.
func (u *Unreachable) Unwrap() []error { return []error{ErrUnreachable, u.Err} }

// sameHost allows redirects only to the host and scheme of the first request.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return fmt.Errorf("refuse redirect from %s to %s", first.Host, req.URL.Redacted())
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("stop after %d redirects", maxRedirects)
	}
	return nil
}

// ReadBounded reads at most limit bytes of r and closes it. More bytes are ErrTooLarge.
func ReadBounded(r io.ReadCloser, limit int64) ([]byte, error) {
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("more than %d bytes: %w", limit, ErrTooLarge)
	}
	return body, nil
}

// Get returns the JSON document at an address, of at most limit bytes. Any status but 200 is
// an error. Errors name the address unless net/http does.
func Get(ctx context.Context, client *http.Client, address string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := ReadBounded(resp.Body, limit)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", address, err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: answered with status %d", address, resp.StatusCode)
	case !json.Valid(text):
		return nil, fmt.Errorf("%s: is not JSON", address)
	}
	return text, nil
}

// Reason returns the cause of an error of net/http, without the request in front of it.
func Reason(err error) error {
	var transport *url.Error
	if errors.As(err, &transport) {
		return transport.Err
	}
	return err
}

// ParseURL parses the URL of an agent; a bare "host:port" means http on a loopback host and
// https elsewhere.
func ParseURL(rawURL string) (*url.URL, error) {
	bare := rawURL != "" && !strings.Contains(rawURL, "://")
	if bare {
		rawURL = "https://" + rawURL
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if bare && Loopback(u.Host) { // checks the parsed host, because the raw text may look like another host
		u.Scheme = "http"
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL", rawURL)
	}
	u.Fragment = ""
	return u, nil
}

// Loopback reports whether hostport, with or without a port, names this machine.
func Loopback(hostport string) bool {
	host, _, _ := strings.Cut(hostport, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
