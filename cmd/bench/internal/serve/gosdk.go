package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// sdkServer serves the agent with the Go SDK, like its examples, but without logging.
func sdkServer(g *gate) server {
	h := a2asrv.NewHandler(executor{g}, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	return handler{a2asrv.NewJSONRPCHandler(h)}
}

// handler is an http.Handler as a server.
type handler struct{ http.Handler }

// Serve implements server.
func (h handler) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- s.Close() })
	err := s.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return <-stopped
	}
	stop()
	return err
}
