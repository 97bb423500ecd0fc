package hubtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// Parts are the components of a hub within the process of the test.
type Parts struct {
	Engine *engine.Engine
	// Front is the handler that is served on HTTP; nil disables HTTP.
	Front http.Handler
	// GRPC is served on GRPCListener; nil disables gRPC.
	GRPC *grpcbind.Binding
	// Listener and GRPCListener are the listeners; nil means a new one on loopback.
	Listener, GRPCListener net.Listener
}

// Run serves a hub on loopback until stop is called, at the latest at the end of the test, and
// returns once its tasks are recovered. Stop closes the connections of http.DefaultClient.
func Run(tb testing.TB, hub *parley.Hub) (url string, stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, s := Listen(tb), &served{tb: tb}
	ended := make(chan struct{})
	s.run("hub", func() error {
		defer close(ended)
		return hub.Serve(ctx, l)
	})
	stop = sync.OnceFunc(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		s.wg.Wait()
	})
	tb.Cleanup(stop)
	select {
	case <-hub.Engine().Recovered():
	case <-ended: // with an error, which fails the test
	}
	return "http://" + l.Addr().String(), stop
}

// Serve serves parts until stop is called, at the latest at the end of the test. It returns the
// addresses; those of disabled bindings are "". Connections of clients should be closed before
// stop: cleanups that are registered after Serve run first.
func Serve(tb testing.TB, p Parts) (web, grpc string, stop func()) {
	tb.Helper()
	s, front := &served{tb: tb}, httpfront.NewServer(p.Front)
	ctx, cancel := context.WithCancel(context.Background())
	if p.Front != nil {
		if p.Listener == nil {
			p.Listener = Listen(tb)
		}
		web = p.Listener.Addr().String()
		s.run("http", func() error { return front.Serve(p.Listener) })
	}
	if p.GRPC != nil {
		if p.GRPCListener == nil {
			p.GRPCListener = Listen(tb)
		}
		grpc = p.GRPCListener.Addr().String()
		s.run("grpc", func() error { return p.GRPC.Serve(ctx, p.GRPCListener) })
	}
	s.run("engine", func() error { return p.Engine.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		front.Close()
		s.wg.Wait()
	})
	tb.Cleanup(stop)
	return web, grpc, stop
}

// served is a running hub.
type served struct {
	tb testing.TB
	wg sync.WaitGroup
}

// run runs one of the servers and fails the test on its error.
func (s *served) run(what string, f func() error) {
	s.wg.Go(func() {
		if err := f(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.tb.Errorf("%s: %v", what, err)
		}
	})
}

// Listen listens on a free port of loopback.
func Listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
