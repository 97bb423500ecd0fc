package grpcbind_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// brokenListener fails to accept connections.
type brokenListener struct{ net.Listener }

var errBroken = errors.New("broken")

func (brokenListener) Accept() (net.Conn, error) { return nil, errBroken }

func TestServeReportsItsListener(t *testing.T) {
	t.Parallel()
	b := grpcbind.New(grpcbind.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)})})
	l := brokenListener{bufconn.Listen(1)}
	if err := b.Serve(t.Context(), l); !errors.Is(err, errBroken) {
		t.Errorf("Serve = %v, want %v", err, errBroken)
	}
}

// TestServeAndStop starts and stops at once, many times.
func TestServeAndStop(t *testing.T) {
	t.Parallel()
	b := grpcbind.New(grpcbind.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)})})
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		stop := background(func(context.Context) error { return b.Serve(ctx, bufconn.Listen(1)) })
		cancel()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewNeedsTheEngineOfAHub(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]grpcbind.Engine{
		"none": nil, "a nil engine": (*engine.Engine)(nil), "another type": struct{ grpcbind.Engine }{engine.New(engine.Config{Store: new(memstore.Store)})},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New did not panic", name)
				}
			}()
			grpcbind.New(grpcbind.Config{Engine: e})
		}()
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s := grpc.NewServer()
	grpcbind.New(grpcbind.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)})}).Register(s)
	info, ok := s.GetServiceInfo()["lf.a2a.v1.A2AService"]
	if !ok || len(info.Methods) != 11 {
		t.Errorf("service has %d methods (there: %v), want 11", len(info.Methods), ok)
	}
}
