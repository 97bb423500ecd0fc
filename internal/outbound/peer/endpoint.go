package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// endpoint is one usable interface of the card.
type endpoint struct {
	peer  *Peer
	iface a2a.AgentInterface
	base  *url.URL // nil for bindings that are not HTTP

	mu     sync.Mutex // guards the fields below; held while conn is created
	shape  dialect.Shape
	proven bool // the peer has answered in shape
	byGET  bool // the peer subscribes by GET
	conn   transport.Conn
}

// httpBindings are the bindings that this package implements itself.
var httpBindings = map[a2a.TransportProtocol]bool{
	a2a.TransportProtocolJSONRPC: true, a2a.TransportProtocolHTTPJSON: true, card.TaskSend: true,
}

// takesJobs reports whether the interface accepts nothing but jobs.
func (e *endpoint) takesJobs() bool { return e.iface.ProtocolBinding == card.TaskSend }

// native returns the dialect of the interface according to the card, and whether it is
// supported.
func (e *endpoint) native() (dialect.Shape, bool) {
	v := string(e.iface.ProtocolVersion)
	old := v == "0" || strings.HasPrefix(v, "0.")
	if !old && v != "1" && !strings.HasPrefix(v, "1.") {
		return 0, false
	}
	switch e.iface.ProtocolBinding {
	case card.TaskSend:
		return dialect.Job, dialect.Has(dialect.Job)
	case a2a.TransportProtocolJSONRPC:
		if s, ok := dialect.ParseShape(e.peer.opts.Dialect); ok && e.peer.opts.Dialect != "" {
			return s, true
		}
		switch {
		case e.peer.card.Dialect != "":
			return dialect.ParseShape(e.peer.card.Dialect)
		case old:
			return dialect.V03, true
		}
		return dialect.V1, true
	}
	if old {
		return dialect.V03Proto, true
	}
	return dialect.V1, true
}

func (e *endpoint) same(other *endpoint) bool {
	return e.iface.URL == other.iface.URL && e.iface.ProtocolBinding == other.iface.ProtocolBinding &&
		e.shape == other.shape && e.iface.Tenant == other.iface.Tenant
}

// trusted reports whether credentials may be sent to the endpoint.
func (e *endpoint) trusted() bool {
	if e.base == nil {
		return e.peer.trustsHost(hostOf(e.iface.URL))
	}
	return e.peer.trusts(e.base)
}

// inClear reports whether traffic to the endpoint is unencrypted and leaves this machine: over
// gRPC, too, http means that it is not encrypted.
func (e *endpoint) inClear() bool {
	u, err := url.Parse(e.iface.URL)
	return err == nil && u.Scheme == "http" && !httpcall.Loopback(u.Host)
}

// shapes returns the dialects in which a call is tried, in order.
func (e *endpoint) shapes() []dialect.Shape {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := []dialect.Shape{e.shape}
	switch {
	case e.proven || e.peer.opts.Dialect != "":
		return first
	case e.iface.ProtocolBinding == a2a.TransportProtocolJSONRPC:
		return append(first, e.shape.Others()...)
	case e.iface.ProtocolBinding != a2a.TransportProtocolHTTPJSON:
		return first
	case e.shape == dialect.V1:
		return append(first, dialect.V03Proto)
	}
	return append(first, dialect.V1)
}

// known reports whether the peer has answered at the endpoint.
func (e *endpoint) known() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.proven
}

// settle records the dialect in which the peer has answered, and logs once if it differs from
// the card's.
func (e *endpoint) settle(shape dialect.Shape) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.proven && e.shape != shape {
		e.peer.opts.log().Warn("the agent speaks another dialect than its card says",
			"agent", e.peer.opts.Name, "url", e.iface.URL, "card", e.shape.String(), "spoken", shape.String())
	}
	e.shape, e.proven = shape, true
}

// mismatch reports whether err, of the first call in a dialect, means that the peer uses
// another one. In each case nothing was accepted.
func mismatch(err error, next dialect.Shape) bool {
	var e *transport.Error
	if !errors.As(err, &e) {
		return false
	}
	if instead := dialect.Of(next).Calling.Instead; instead != nil {
		return instead(e.Code, e.Message)
	}
	if errors.Is(e.Err, a2a.ErrVersionNotSupported) || errors.Is(e.Err, a2a.ErrInvalidRequest) || unknownOperation(err) {
		return true
	}
	return e.Reason == "" && e.Code == 0 && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// tryShapes calls f in each dialect until the peer understands one. Otherwise it returns the
// first error.
func (e *endpoint) tryShapes(f func(dialect.Shape) error) error {
	shapes := e.shapes()
	first := f(shapes[0])
	for _, next := range shapes[1:] {
		if first == nil || !mismatch(first, next) {
			continue
		}
		err := f(next)
		if err == nil {
			e.settle(next)
			return nil
		}
		if answers(err) && !mismatch(err, dialect.V1) {
			e.settle(next) // an error, but one in this dialect
			return err
		}
	}
	if first == nil {
		e.settle(shapes[0])
	}
	return first
}

// answers reports whether err proves that the peer has understood the call.
func answers(err error) bool {
	var e *transport.Error
	return errors.As(err, &e) && slices.ContainsFunc([]error{
		a2a.ErrTaskNotFound, a2a.ErrTaskNotCancelable, a2a.ErrUnsupportedOperation, a2a.ErrPushNotificationNotSupported,
		a2a.ErrUnsupportedContentType, a2a.ErrInvalidParams,
	}, func(sentinel error) bool { return errors.Is(e.Err, sentinel) })
}

// connect returns the connection of a binding that is not HTTP.
func (e *endpoint) connect(ctx context.Context) (transport.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil {
		return e.conn, nil
	}
	config, err := e.tls()
	if err != nil {
		return nil, err
	}
	conn, err := e.peer.opts.Transports[e.iface.ProtocolBinding](ctx, e.iface, e.headers, config)
	if err != nil {
		return nil, err
	}
	e.conn = conn
	return conn, nil
}

// tls returns the TLS configuration for a connection that is not HTTP; nil if the credentials
// have none, and the peer was not found over TLS. The certificate is sent only where other
// credentials may be sent.
func (e *endpoint) tls() (*tls.Config, error) {
	t := e.peer.opts.Credentials.TLS
	if t == nil {
		if home := e.peer.home; home != nil && home.Scheme == "https" {
			return &tls.Config{MinVersion: tls.VersionTLS12}, nil // a peer found over TLS is called over TLS
		}
		return nil, nil
	}
	config, err := tlsConfig(t)
	if err == nil && !e.trusted() {
		config.GetClientCertificate = nil
	}
	return config, err
}

func (e *endpoint) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return nil
	}
	conn := e.conn
	e.conn = nil
	return conn.Close()
}
