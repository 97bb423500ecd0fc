package grpcbind

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
)

// Binding is the gRPC side of a hub.
type Binding struct {
	cfg     Config
	service service
	legacy  legacy
	// feeds waits for the goroutines that write to streams.
	feeds    sync.WaitGroup
	arrivals *arrivals
}

// New returns a Binding. It panics if Config.Engine is not that of a hub.
func New(cfg Config) *Binding {
	e, ok := cfg.Engine.(*engine.Engine)
	if !ok || e == nil {
		panic("grpcbind: Config.Engine is required, and must be that of a hub")
	}
	b := &Binding{cfg: cfg.withDefaults()}
	b.arrivals = newArrivals(e.Memory(), int64(b.cfg.Limits.Message))
	b.service.base = base{cfg: &b.cfg, engine: e, limiter: e.Limiter(), feeds: &b.feeds, version: servesV1}
	b.legacy.base = base{
		cfg: &b.cfg, engine: e, limiter: e.Limiter(), feeds: &b.feeds, version: dialect.LegacyVersion,
		shape: dialect.V03Proto, decoder: dialect.Decoder{Fill: true},
	}
	return b
}

// Register adds the services of both versions to r, whose owner is responsible for the limits
// of messages and connections.
func (b *Binding) Register(r grpc.ServiceRegistrar) {
	pb.RegisterA2AServiceServer(observer{r}, &b.service)
	pb0.RegisterA2AServiceServer(observer{r}, &b.legacy)
}

// The shortest allowed time between the pings of a client, and how long a client may take to
// answer the server's pings.
const (
	leastPing   = 10 * time.Second
	pingTimeout = 20 * time.Second
)

// greetingTime is how long a connection may take to become usable, and idleTime how long it may have
// no call.
const (
	greetingTime = 10 * time.Second
	idleTime     = 120 * time.Second
)

// maxMetadata is the maximum size of the metadata of a call in bytes, as HTTP/2 counts them. It
// is read before the caller is authenticated.
const maxMetadata = 64 << 10

// The window of a connection bounds no memory, because those of its calls do. gRPC's own buffer is
// small, because that of the meter is in front of it.
const (
	connWindow = 16 << 20
	readBuffer = 512
)

// Server returns a server that has the services, the limits of the Config and its Options.
// Without Config.Credentials it is unencrypted, which is meant for this machine and for
// networks with other protection.
func (b *Binding) Server() *grpc.Server {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(b.cfg.Limits.Message),
		grpc.MaxHeaderListSize(maxMetadata),
		grpc.ConnectionTimeout(greetingTime),
		grpc.InTapHandle(b.arriving),
		grpc.ForceServerCodecV2(newTurns()),
		grpc.Creds(newMetered(b.cfg.Credentials)),
		grpc.ReadBufferSize(readBuffer),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(connWindow),
		grpc.MaxConcurrentStreams(b.cfg.Limits.callsPerConnection()),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: b.cfg.Limits.KeepAlive, Timeout: pingTimeout, MaxConnectionIdle: idleTime,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
	}
	if b.cfg.LogRequests {
		opts = append(opts, grpc.StatsHandler(requestLog{b.cfg.Logger}))
	}
	s := grpc.NewServer(append(opts, b.cfg.Options...)...)
	b.Register(s)
	return s
}

// Serve serves on l until ctx ends. Then it accepts no further calls, gives open calls
// Limits.StopTime to end, and closes l. It returns an error if l fails before that.
func (b *Binding) Serve(ctx context.Context, l net.Listener) error {
	s := b.Server()
	failed := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
			b.stop(s)
		case <-failed:
		}
	})
	err := s.Serve(l)
	close(failed)
	s.Stop()
	wg.Wait()
	b.feeds.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve gRPC on %s: %w", l.Addr(), err)
	}
	return nil
}

// stop lets open calls end, for Limits.StopTime at most.
func (b *Binding) stop(s *grpc.Server) {
	late := time.AfterFunc(b.cfg.Limits.StopTime, func() {
		b.cfg.Logger.Warn("gRPC calls were cut off")
		s.Stop()
	})
	defer late.Stop()
	s.GracefulStop()
}
