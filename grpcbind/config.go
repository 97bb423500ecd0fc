package grpcbind

import (
	"cmp"
	"log/slog"
	"math"
	"time"

	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
)

// Config says how a Binding works. Only Engine is required.
type Config struct {
	// Engine does what callers ask for.
	Engine *engine.Engine
	// Auth finds out who calls. If nil, every caller on this machine is the anonymous
	// local one, and callers from other machines are refused, unless AllowAnonymous
	// says otherwise.
	Auth auth.Authenticator
	// AllowAnonymous accepts callers from everywhere when Auth is nil.
	AllowAnonymous bool
	// PublicURL is the address of the HTTP bindings, such as "https://hub.example",
	// which extended cards name. If empty, they name gRPC alone.
	PublicURL string
	// NoStreaming switches the streaming operations off.
	NoStreaming bool
	// Logger receives a record for each error that the caller is not told. If nil,
	// nothing is logged.
	Logger *slog.Logger
	// Limits are described there.
	Limits Limits
	// Options are added to the options of the server that Server makes, such as
	// transport credentials.
	Options []grpc.ServerOption
}

// Limits bound what callers may take. Zero fields have the default named.
type Limits struct {
	// Message is the largest request in bytes: 10 MiB.
	Message int
	// SendTime is how long the reader of a stream may take to accept a message: 30 s.
	SendTime time.Duration
	// CallsPerConnection is how many calls one connection may have open, streams
	// among them: 1,000. Further calls wait. Negative means any number.
	CallsPerConnection int
	// KeepAlive is the silence after which a connection is asked whether it is still
	// there: 60 s.
	KeepAlive time.Duration
	// StopTime is how long calls may go on after Serve was told to stop: 15 s. It
	// should be longer than the engine takes to drain.
	StopTime time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Message = cmp.Or(l.Message, 10<<20)
	l.SendTime = cmp.Or(l.SendTime, 30*time.Second)
	l.CallsPerConnection = cmp.Or(l.CallsPerConnection, 1_000)
	l.KeepAlive = cmp.Or(l.KeepAlive, 60*time.Second)
	l.StopTime = cmp.Or(l.StopTime, 15*time.Second)
	return l
}

// callsPerConnection is the limit as HTTP/2 counts it.
func (l *Limits) callsPerConnection() uint32 {
	if l.CallsPerConnection < 0 {
		return math.MaxUint32
	}
	return uint32(min(l.CallsPerConnection, math.MaxUint32))
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Auth == nil {
		c.Auth = auth.Anonymous(c.AllowAnonymous)
	}
	return c
}
