package grpcbind

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/limits"
)

// Config configures a Binding. Only Engine is required.
type Config struct {
	// Engine performs the operations of callers: that of parley.Hub.Engine.
	Engine Engine
	// Auth identifies callers. If nil, every caller on this machine is the anonymous local one,
	// and callers from other machines are refused.
	Auth auth.Authenticator
	// PublicURL is the address of the HTTP bindings, such as "https://hub.example", which
	// extended cards name. If empty, they name gRPC only.
	PublicURL string
	// NoStreaming disables the streaming operations.
	NoStreaming bool
	// Logger receives a record for each error that is hidden from the caller. If nil, nothing
	// is logged.
	Logger *slog.Logger
	// LogRequests logs each call when it has ended.
	LogRequests bool
	// Limits bound the cost of calls. Most are those of the hub unless they are set.
	Limits Limits
	// TLS encrypts the connections of Serve. If nil, they are not encrypted, which is meant for this
	// machine and for networks with other protection.
	TLS *tls.Config
	// ConnState is that of the server of Serve; see http.Server. It may be nil.
	ConnState func(net.Conn, http.ConnState)
	// Options are further options for calls, such as interceptors. Those of transports have no effect:
	// calls arrive through net/http.
	Options []grpc.ServerOption
}

// Engine performs the operations of the callers of a hub. parley.Hub.Engine returns one; New
// accepts no other implementation.
type Engine interface {
	// Recovered is closed when the tasks of an earlier process have been recovered.
	Recovered() <-chan struct{}
}

// Limits bound the cost of calls. A zero field means the limit of the hub (parley.Limits) or the
// default that its comment names.
type Limits struct {
	// Message is the largest request in bytes; Body of the hub.
	Message int
	// BodyTime is how long the message of a call may take to arrive; BodyTime of the hub.
	BodyTime time.Duration
	// SendTime is how long the reader of a stream may take to accept a message; WriteTime of the hub.
	SendTime time.Duration
	// CallsPerConnection is how many calls one connection of Serve may have open, including streams.
	// The default is 1,000. Further calls wait. Negative means no limit.
	CallsPerConnection int
	// KeepAlive is the silence after which Serve pings a connection; KeepAlive of the hub.
	KeepAlive time.Duration
	// StopTime is how long calls may continue after the context of Serve has ended. The default
	// is 15 s. It should be longer than the engine takes to drain.
	StopTime time.Duration
}

func (l Limits) withDefaults(hub *limits.Limits) Limits {
	l.Message = cmp.Or(l.Message, int(min(hub.Body, math.MaxInt)))
	l.BodyTime = cmp.Or(l.BodyTime, hub.BodyTime)
	l.SendTime = cmp.Or(l.SendTime, hub.WriteTime)
	l.CallsPerConnection = cmp.Or(l.CallsPerConnection, 1_000)
	l.KeepAlive = cmp.Or(l.KeepAlive, hub.KeepAlive)
	l.StopTime = cmp.Or(l.StopTime, 15*time.Second)
	return l
}

// callsPerConnection returns the limit in HTTP/2's type.
func (l *Limits) callsPerConnection() int {
	if l.CallsPerConnection < 0 {
		return math.MaxInt32
	}
	return min(l.CallsPerConnection, math.MaxInt32)
}

func (c Config) withDefaults(hub *limits.Limits) Config {
	c.Limits = c.Limits.withDefaults(hub)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Auth == nil {
		c.Auth = auth.ThisMachine()
	}
	return c
}
