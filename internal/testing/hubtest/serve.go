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

// Parts are what a hub within the process of the test is made of.
type Parts struct {
	Engine *engine.Engine
	// Front is served on HTTP.
	Front http.Handler
	// GRPC is served on GRPCListener; nil leaves gRPC out.
	GRPC *grpcbind.Binding
	// Listener and GRPCListener are where; nil stands for new ones on loopback.
	Listener, GRPCListener net.Listener
}

// Serve serves parts until stop is called, and that is at the end of the test unless the
// test calls it. It returns the addresses; that of gRPC is "" without it. Connections of
// clients should be closed before stop: cleanups that are registered later run before.
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

// served is a hub that is served.
type served struct {
	tb    testing.TB
	front *http.Server
	wg    sync.WaitGroup
}

// run runs one of the parts.
func (s *served) run(what string, f func() error) {
	s.wg.Go(func() {
		if err := f(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.tb.Errorf("%s: %v", what, err)
		}
	})
}

// Listen listens on a port of loopback that nobody else has.
func Listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
