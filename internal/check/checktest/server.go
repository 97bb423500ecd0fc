package checktest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// Object is a JSON object.
type Object = map[string]any

// Fault is an error of the protocol.
type Fault struct {
	Kind    wire.Kind
	Message string
}

// Options select the features of the server. The zero Options offer JSON-RPC, HTTP+JSON and
// gRPC without streaming and webhooks.
type Options struct {
	Streaming, Push bool
	// Legacy adds v0.3.
	Legacy bool
	// Key is the required credential; empty means none.
	Key string
	// Extended declares an extended card.
	Extended bool
	// Ends is the delay after which tasks that wait or run forever end nevertheless; 0 means
	// never.
	Ends   time.Duration
	Defect Defect
}

// Defect breaks the server. Nil functions break nothing.
type Defect struct {
	// Card changes the card.
	Card func(Object)
	// HTTP may answer a request instead of the server; it then returns true.
	HTTP func(http.ResponseWriter, *http.Request, []byte) bool
	// Result changes the result of an operation.
	Result func(op wire.Op, params Object, result any, f *Fault) (any, *Fault)
	// Events changes the events of a stream; the context ends with the stream.
	Events func(ctx context.Context, op wire.Op, events Sink) Sink
	// Body changes the body of an HTTP answer.
	Body func(body []byte) []byte
	// Header changes the header of an HTTP answer.
	Header func(http.Header)
	// Push changes a notification, or suppresses it by returning false.
	Push func(header http.Header, body []byte) (changed []byte, told bool)
}

// Sink accepts events; it returns false after the client has disconnected.
type Sink func(event Object) bool

// Server is a running server.
type Server struct {
	// URL is the URL above the card.
	URL string
	// Card is the card.
	Card Object
	// HTTP connects to the server, and to the webhooks of Listen.
	HTTP *http.Transport

	options Options
	network *network
	grpc    *bufconn.Listener
	stopped chan struct{}
	mu      sync.Mutex // guards the field below
	agent   agent
}

// Start starts a server and stops it when the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{URL: "http://sut.test", options: o, network: newNetwork(), grpc: bufconn.Listen(1 << 20), stopped: make(chan struct{})}
	s.agent = agent{tasks: map[string]*task{}, hooks: map[string]Object{}, server: s}
	s.HTTP = &http.Transport{DialContext: s.network.dial, DisableKeepAlives: true}
	s.Card = s.card()
	if o.Defect.Card != nil {
		o.Defect.Card(s.Card)
	}
	ctx, cancel := context.WithCancel(context.Background())
	front := &http.Server{Handler: http.HandlerFunc(s.serve), BaseContext: func(net.Listener) context.Context { return ctx }}
	back := grpc.NewServer(grpc.UnknownServiceHandler(s.call))
	l := s.network.listen("sut.test:80")
	var wg sync.WaitGroup
	wg.Go(func() { _ = front.Serve(l) })     // ends with Close
	wg.Go(func() { _ = back.Serve(s.grpc) }) // ends with Stop
	t.Cleanup(func() {
		cancel()
		close(s.stopped)
		front.Close()
		back.Stop()
		s.HTTP.CloseIdleConnections()
		wg.Wait()
		s.agent.done.Wait()
	})
	return s
}

// Wire returns the options for calling the server.
func (s *Server) Wire() wire.Options {
	return wire.Options{HTTP: s.HTTP, Dial: s.dial}
}

// Listen returns a listener at host for the server's notifications.
func (s *Server) Listen(host string) net.Listener { return s.network.listen(host + ":80") }

func (s *Server) dial(context.Context, string) (wire.Conn, error) {
	return grpc.NewClient("passthrough:///sut.test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.grpc.DialContext(ctx) }))
}

func (s *Server) card() Object {
	target := func(url, binding, version string) any {
		return Object{"url": url, "protocolBinding": binding, "protocolVersion": version}
	}
	targets := []any{target(s.URL+"/rpc", "JSONRPC", "1.0"), target(s.URL+"/rest", "HTTP+JSON", "1.0"), target("sut.test:50051", "GRPC", "1.0")}
	card := Object{
		"name": "sut", "description": "A server for tests.", "version": "1", "supportedInterfaces": targets,
		"capabilities": Object{
			"streaming": s.options.Streaming, "pushNotifications": s.options.Push,
			"extendedAgentCard": s.options.Extended,
		},
		"defaultInputModes": []any{"text/plain"}, "defaultOutputModes": []any{"text/plain"},
		"skills": []any{Object{"id": "tck", "name": "tck", "description": "The behaviours of the kits.", "tags": []any{"test"}}},
	}
	if s.options.Legacy {
		maps.Copy(card, Object{
			"url": s.URL + "/rpc", "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0", "additionalInterfaces": []any{
				Object{"url": s.URL + "/old", "transport": "HTTP+JSON"}, Object{"url": "sut.test:50051", "transport": "GRPC"},
			},
		})
	}
	if s.options.Key != "" {
		card["securitySchemes"] = Object{"bearer": Object{"httpAuthSecurityScheme": Object{"scheme": "bearer"}}}
		card["securityRequirements"] = []any{Object{"schemes": Object{"bearer": Object{"list": []any{}}}}}
	}
	return card
}

// serve answers over HTTP.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if d := s.options.Defect.HTTP; d != nil && d(w, r, body) {
		return
	}
	switch {
	case r.URL.Path == "/.well-known/agent-card.json":
		s.serveCard(w, r)
	case s.options.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.options.Key:
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.write(w, http.StatusUnauthorized, Object{"error": Object{"code": 401, "status": "UNAUTHENTICATED", "message": "who are you"}})
	case r.URL.Path == "/rpc":
		s.serveRPC(w, r, body)
	case strings.HasPrefix(r.URL.Path, legacyREST):
		s.serveLegacyREST(w, r, body)
	default:
		s.serveREST(w, r, body)
	}
}

func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Cache-Control", "max-age=60")
	if r.Header.Get("If-None-Match") == `"1"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.write(w, http.StatusOK, s.Card)
}

// write writes a JSON answer.
func (s *Server) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	body := marshal(v)
	if d := s.options.Defect.Body; d != nil {
		body = d(body)
	}
	if d := s.options.Defect.Header; d != nil {
		d(w.Header())
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}
