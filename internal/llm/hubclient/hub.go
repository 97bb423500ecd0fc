package hubclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Hub is a client of a running hub. The zero Hub connects to one on this machine at the default
// port.
type Hub struct {
	// URL is the address of the hub. If empty, it is http://127.0.0.1:4100. The default scheme
	// is https, but http on this machine.
	URL string
	// Key is the caller's API key, or empty.
	Key string
	// HTTP sends the requests. Its Timeout also ends streams, so it is best left zero. If nil,
	// a client with a connect timeout of ten seconds is used, which follows no redirects to
	// other hosts.
	HTTP *http.Client
	// Calls carries A2A calls without HTTP. If nil, they are sent over HTTP like all others.
	Calls transport.Factory
	// Patience is how long to wait for an unreachable hub. Zero means a minute, negative no
	// wait.
	Patience time.Duration
	// Logger receives records for operators. If nil, nothing is logged.
	Logger *slog.Logger

	keys keyLocks
}

const (
	defaultURL = "http://127.0.0.1:4100"
	apiRoot    = "/api/v1"
	// maxAnswer is the largest response that is read.
	maxAnswer = 64 << 20
	// requestTimeout limits a request that the hub answers at once.
	requestTimeout  = 30 * time.Second
	patienceDefault = time.Minute
)

// base returns the URL with a scheme and without a trailing slash.
func (h *Hub) base() string {
	base := strings.TrimRight(h.URL, "/")
	switch {
	case base == "":
		return defaultURL
	case strings.Contains(base, "://"):
		return base
	case client.Loopback(base):
		return "http://" + base
	}
	return "https://" + base
}

// direct is the default transport. All Hubs share it, because connections are few.
var direct = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return t
}()

func (h *Hub) http() *http.Client {
	if h.HTTP != nil {
		return h.HTTP
	}
	return &http.Client{
		Transport:     direct,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (h *Hub) patience() time.Duration { return max(0, cmp.Or(h.Patience, patienceDefault)) }

// inProcess names the binding of Calls.
const inProcess a2a.TransportProtocol = "INPROCESS"

// client returns a client for an agent of the hub, or for all of them if name is empty.
func (h *Hub) client(name string) (*client.Client, error) {
	address := h.base() + "/v1/a2a"
	if name != "" {
		address += "/" + url.PathEscape(name)
	}
	i := a2a.NewAgentInterface(address, a2a.TransportProtocolHTTPJSON)
	i.ProtocolVersion = "1.0"
	o := client.Options{HTTP: h.http(), Header: h.header(), Logger: h.Logger}
	o.Header.Set("A2A-Extensions", card.ClientTaskIDs) // see Send
	if h.Calls != nil {
		i.ProtocolBinding, i.Tenant = inProcess, name
		o.Transports = map[a2a.TransportProtocol]client.Transport{inProcess: h.Calls}
	}
	return client.New(&a2a.AgentCard{
		Name: name, SupportedInterfaces: []*a2a.AgentInterface{i}, Capabilities: a2a.AgentCapabilities{Streaming: true},
	}, o)
}

func (h *Hub) header() http.Header {
	header := http.Header{}
	if h.Key != "" {
		header.Set("Authorization", "Bearer "+h.Key)
	}
	return header
}

// request is a request to the hub.
type request struct {
	method, path string
	query        url.Values
	in, out      any // JSON, or nil
	// again permits a retry if the hub may have received the request.
	again bool
}

// ask sends a request and reads the response. It waits for an unreachable hub.
func (h *Hub) ask(ctx context.Context, r *request) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout+h.patience(), errors.New("the hub does not answer"))
	defer cancel()
	return h.retry(ctx, func() (bool, error) {
		err := h.try(ctx, r)
		return errors.Is(err, client.ErrUnreachable) || r.again && errors.Is(err, errLost), err
	})
}

// errLost is returned if a connection broke after the hub may have received the request.
var errLost = errors.New("the connection broke")

// retry calls f until f returns false, or until the patience is over.
func (h *Hub) retry(ctx context.Context, f func() (again bool, err error)) error {
	until := time.Now().Add(h.patience())
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		again, err := f()
		if !again || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return err
		}
		if backoff.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// try sends a request once.
func (h *Hub) try(ctx context.Context, r *request) error {
	req, err := h.newRequest(ctx, r)
	if err != nil {
		return err
	}
	resp, err := h.http().Do(req)
	if err != nil {
		return h.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return h.unanswered(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return responseError(h.base(), resp, body)
	}
	if r.out == nil {
		return nil
	}
	if err := json.Unmarshal(body, r.out); err != nil {
		return fmt.Errorf("%s is not a Parley hub: unexpected response", h.base())
	}
	return nil
}

// Open sends a request without a body to a path below the URL, once. The caller closes the body of
// the response, whatever its status.
func (h *Hub) Open(ctx context.Context, method, path string, query url.Values) (*http.Response, error) {
	req, err := h.newRequest(ctx, &request{method: method, path: path, query: query})
	if err != nil {
		return nil, err
	}
	req.Header.Set("A2A-Version", "1.0")
	resp, err := h.http().Do(req)
	if err != nil {
		return nil, h.unanswered(ctx, err)
	}
	return resp, nil
}

func (h *Hub) newRequest(ctx context.Context, r *request) (*http.Request, error) {
	var body io.Reader
	if r.in != nil {
		b, err := json.Marshal(r.in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	target := h.base() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%q is not the URL of a hub: %w", h.URL, err)
	}
	req.Header = h.header()
	if r.in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// unanswered converts an error of the connection.
func (h *Hub) unanswered(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("hub %s: %w: %w", h.base(), client.ErrUnreachable, err)
	}
	return fmt.Errorf("hub %s: %w: %w", h.base(), errLost, err)
}
