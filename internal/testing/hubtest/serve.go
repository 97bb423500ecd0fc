package hubtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// Parts are the components of a hub within the process of the test.
type Parts struct {
	Engine *engine.Engine
	// Front is the handler that is served on HTTP.
	Front http.Handler
	// GRPC is served on GRPCListener; nil disables gRPC.
	GRPC *grpcbind.Binding
	// Listener and GRPCListener are the listeners; nil means a new one on loopback.
	Listener, GRPCListener net.Listener
}

// Serve serves parts until stop is called, at the latest at the end of the test. It returns the
// addresses; that of gRPC is "" without it. Connections of clients should be closed before
// stop: cleanups that are registered after Serve run first.
func Serve(tb testing.TB, p Parts) (http, grpc string, stop func()) {
	tb.Helper()
	s := &served{tb: tb, front: httpfront.NewServer(p.Front)}
	ctx, cancel := context.WithCancel(context.Background())
	if p.Listener == nil {
		p.Listener = Listen(tb)
	}
	s.run("http", func() error { return s.front.Serve(p.Listener) })
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
		s.front.Close()
		s.wg.Wait()
	})
	tb.Cleanup(stop)
	return p.Listener.Addr().String(), grpc, stop
}

// served is a running hub.
type served struct {
	tb    testing.TB
	front *http.Server
	wg    sync.WaitGroup
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
