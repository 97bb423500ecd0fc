package grpcbind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long a connection may take to become usable, how long it may have no call, and how long a caller
// may take to answer a ping.
const (
	greetingTime = 10 * time.Second
	idleTime     = 120 * time.Second
	pingTimeout  = 20 * time.Second
)

// maxHead is the size in bytes up to which the head of a call is read. A head above maxMetadata ends its
// call, one above maxHead its connection, because the compression of heads depends on those before.
const maxHead = 256 << 10

// window is the number of bytes of a message that may arrive before they are read.
const window = 128 << 10

// newServer returns the server of Serve.
func (b *Binding) newServer() *http.Server {
	var p http.Protocols
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	l := &b.cfg.Limits
	return &http.Server{
		Handler: b, Protocols: &p, TLSConfig: b.cfg.TLS, ConnState: b.cfg.ConnState,
		ReadHeaderTimeout: greetingTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: l.callsPerConnection(), MaxReceiveBufferPerStream: window,
			SendPingTimeout: l.KeepAlive, PingTimeout: pingTimeout,
		},
		ErrorLog: slog.NewLogLogger(b.cfg.Logger.Handler(), slog.LevelDebug),
	}
}

// Serve serves on l until ctx ends. Then it accepts no further calls, gives open calls
// Limits.StopTime to end, and closes l. It returns an error if l fails before that.
func (b *Binding) Serve(ctx context.Context, l net.Listener) error {
	s := b.newServer()
	failed := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
			b.stop(ctx, s)
		case <-failed:
		}
	})
	err := b.serve(s, l)
	if !errors.Is(err, http.ErrServerClosed) {
		close(failed)
		s.Close()
	}
	wg.Wait()
	b.feeds.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve gRPC on %s: %w", l.Addr(), err)
	}
	return nil
}

func (b *Binding) serve(s *http.Server, l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Serve(l)
}

// stop lets open calls end, for Limits.StopTime at most.
func (b *Binding) stop(ctx context.Context, s *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.cfg.Limits.StopTime)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		b.cfg.Logger.Warn("gRPC calls were cut off", "error", err)
		s.Close()
	}
}
