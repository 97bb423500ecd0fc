package httpfront

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/task"
)

// Config says how a Front works. Only Engine is required.
type Config struct {
	// Engine does what callers ask for.
	Engine *engine.Engine
	// Auth finds out who calls. If nil, every caller is the anonymous local one; the
	// front then acts as if Loopback were set and refuses callers from other
	// machines, unless AllowAnonymous says otherwise.
	Auth auth.Authenticator
	// AllowAnonymous accepts callers from everywhere when Auth is nil.
	AllowAnonymous bool
	// Loopback refuses requests whose Host or Origin is not a loopback name or
	// address, so that no web page can reach the hub through a browser.
	Loopback bool
	// PublicURL is the address that cards name, such as "https://hub.example". If
	// empty, it is made from each request.
	PublicURL string
	// TrustForwarded takes X-Forwarded-Proto and X-Forwarded-Host for that, which is
	// right only behind a proxy that sets both.
	TrustForwarded bool
	// GRPCAddr is the "host:port" that cards name for gRPC. If empty, they do not.
	GRPCAddr string
	// UnionCard serves the card with the keys of v0.3 also at agent-card.json.
	UnionCard bool
	// AllSkills lists the skills of all agents in the card of the hub, which is that of the
	// default agent: a message without an agent is for the one that has its skill.
	AllSkills bool
	// Interfaces are the bindings that cards list, the preferred one first. If empty, all of
	// them in the hub's own order.
	Interfaces []a2a.TransportProtocol
	// Awaken answers as Awaken's server does where the protocol leaves it open: see
	// awaken.go.
	Awaken bool
	// NoStreaming switches the streaming operations off; cards say so.
	NoStreaming bool
	// LenientVersion takes a JSON-RPC call without A2A-Version for v1.0 (specification
	// §3.6.2 asks to refuse it).
	LenientVersion bool
	// Profiles say how calls are read that do not say it themselves.
	Profiles Profiles
	// SpecStatuses answers on HTTP+JSON with the specification's status where clients
	// of that surface are used to another: 400 instead of 409 for a task that cannot
	// be canceled, instead of 415 for media types that the agent does not take or give,
	// and instead of 501 for an extended card that is not declared; 200
	// with an empty object instead of 204 for a push notification config that was
	// deleted. Callers that name a version of the protocol get these anyway.
	SpecStatuses bool
	// API serves everything below /api/v1. If nil, those paths are not found. It is
	// called with the caller's principal in the context; a body must arrive within
	// Limits.BodyTime.
	API http.Handler
	// MCP serves /mcp, as API does what is below /api/v1. If nil, that path is not found.
	MCP http.Handler
	// KeySet returns the JSON of /.well-known/jwks.json: the public keys that sign cards and
	// assertions. If nil, that path is not found.
	KeySet func() ([]byte, error)
	// Metadata is the JSON of /.well-known/openid-configuration: what the hub says of itself
	// to those who believe its assertions. If nil, that path is not found.
	Metadata []byte
	// Metrics serves /metrics. If nil, that path is not found.
	Metrics http.Handler
	// MetricsReaders are those who may read it.
	MetricsReaders Readers
	// Callbacks serves everything below /api/a2a/callback, where agents elsewhere tell
	// about tasks, without a principal: it checks who calls by itself. If nil, those paths
	// are not found.
	Callbacks http.Handler
	// Guests serve paths in the shapes of other ecosystems, each those that the front and
	// the guests before it do not serve.
	Guests []surface.Surface
	// Logger receives a record for each error that the caller is not told. If nil,
	// nothing is logged.
	Logger *slog.Logger
	// Limits are described there.
	Limits Limits
}

// Profiles are the dialects of callers and agents, by names such as "v0.3" or
// "promptkit"; other names count as none. The dialect of the caller counts first.
type Profiles struct {
	// Callers are by the id of the principal. A caller with RockBot's may ask for a task
	// by the id of its message, and goes on with a task by its context, in every dialect.
	Callers map[string]string
	// Agents are by their names; the default agent's counts for calls that name none.
	Agents map[task.Agent]string
}

// Limits bound what one request may take. Zero fields have the default named.
type Limits struct {
	// Body is the largest request body in bytes: 10 MiB.
	Body int64
	// BodyTime is how long a body may take to arrive: 30 s.
	BodyTime time.Duration
	// WriteTime is how long the reader of an answer may take to accept a write: 30 s.
	// A reader who takes longer is cut off.
	WriteTime time.Duration
	// KeepAlive is the silence after which a stream sends a comment: 15 s.
	KeepAlive time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, 10<<20)
	l.BodyTime = cmp.Or(l.BodyTime, 30*time.Second)
	l.WriteTime = cmp.Or(l.WriteTime, 30*time.Second)
	l.KeepAlive = cmp.Or(l.KeepAlive, 15*time.Second)
	return l
}
