package grpcbind

import (
	"net/http"
	"strings"
	"sync"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
)

// Binding is the gRPC side of a hub.
type Binding struct {
	cfg     Config
	service service
	legacy  legacy
	// server performs the calls of ServeHTTP.
	server *grpc.Server
	// feeds waits for the goroutines that write to streams.
	feeds    sync.WaitGroup
	arrivals *arrivals
}

var _ http.Handler = (*Binding)(nil)

// New returns a Binding. It panics if Config.Engine is not that of a hub.
func New(cfg Config) *Binding {
	e, ok := cfg.Engine.(*engine.Engine)
	if !ok || e == nil {
		panic("grpcbind: Config.Engine is required and must be the engine of a hub")
	}
	hub := e.Limits()
	b := &Binding{cfg: cfg.withDefaults(&hub)}
	b.arrivals = newArrivals(e.Memory(), int64(b.cfg.Limits.Message))
	b.service.base = base{cfg: &b.cfg, engine: e, limiter: e.Limiter(), feeds: &b.feeds, version: servesV1}
	b.legacy.base = base{
		cfg: &b.cfg, engine: e, limiter: e.Limiter(), feeds: &b.feeds, version: dialect.LegacyVersion,
		shape: dialect.V03Proto, decoder: dialect.Decoder{Fill: true},
	}
	opts := []grpc.ServerOption{grpc.MaxRecvMsgSize(b.cfg.Limits.Message), grpc.ForceServerCodecV2(newTurns())}
	if b.cfg.LogRequests {
		opts = append(opts, grpc.StatsHandler(requestLog{b.cfg.Logger}))
	}
	b.server = grpc.NewServer(append(opts, b.cfg.Options...)...)
	b.Register(b.server)
	return b
}

// Register adds the services of both versions to r, whose owner is responsible for the limits
// of messages and connections.
func (b *Binding) Register(r grpc.ServiceRegistrar) {
	pb.RegisterA2AServiceServer(observer{r}, &b.service)
	pb0.RegisterA2AServiceServer(observer{r}, &b.legacy)
}

// Beside returns a handler that performs the calls of gRPC, and passes all other requests to next.
// Its server must speak HTTP/2, without TLS with prior knowledge; that of parley.Hub.NewServer does.
func (b *Binding) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isCall(r) {
			b.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isCall reports whether a request is a call of gRPC. Those of gRPC-Web, application/grpc-web, are
// not.
func isCall(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}
