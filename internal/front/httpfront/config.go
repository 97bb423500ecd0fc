package httpfront

import (
	"log/slog"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/task"
)

// Config configures a Front. Only Engine is required.
type Config struct {
	// Engine performs the operations of callers.
	Engine *engine.Engine
	// Auth identifies callers. If nil, every caller is the anonymous local one; the front then
	// acts as if Loopback were set and refuses callers from other machines.
	Auth auth.Authenticator
	// Loopback refuses requests whose Host or Origin is not a loopback name or
	// address, so that no web page can reach the hub through a browser.
	Loopback bool
	// PublicURL is the address that cards name, such as "https://hub.example". If empty, it is
	// derived from each request.
	PublicURL string
	// AllowedHosts are further hosts, with or without a port, under which callers reach the hub.
	// With Loopback, they and the host of PublicURL are accepted in Host and Origin, unless callers
	// need no credentials.
	AllowedHosts []string
	// TrustForwarded uses X-Forwarded-Proto and X-Forwarded-Host for that address. Set it only
	// behind a proxy that sets both headers.
	TrustForwarded bool
	// GRPCAddr is the address that cards name for gRPC: "host:port" or a URL. If empty, cards list
	// no gRPC interface, unless GRPCHere is set.
	GRPCAddr string
	// GRPCHere states that the server of the front performs calls of gRPC, too. Cards without
	// GRPCAddr then name the origin of their other addresses.
	GRPCHere bool
	// AllSkills lists the skills of all agents in the card of the hub, which is otherwise that
	// of the default agent. A message that names no agent then goes to the agent with its
	// skill.
	AllSkills bool
	// Interfaces are the bindings that cards list, the preferred one first. If empty, cards
	// list all of them in the hub's own order.
	Interfaces []a2a.TransportProtocol
	// Choices are answers of HTTP+JSON that the protocol leaves open.
	Choices Choices
	// PlainCard serves agent-card.json with the keys of v1.0 alone.
	PlainCard bool
	// NoStreaming disables the streaming operations; cards declare it.
	NoStreaming bool
	// LenientVersion treats a JSON-RPC call without A2A-Version as v1.0 (specification §3.6.2
	// requires refusing it).
	LenientVersion bool
	// Profiles define the dialects of calls that do not name theirs.
	Profiles Profiles
	// SpecStatuses answers on HTTP+JSON with the statuses of the specification instead of those
	// that clients of that surface expect: 400 instead of 409 for a task that cannot be
	// canceled, instead of 415 for media types that the agent does not accept or produce, and
	// instead of 501 for an extended card that is not declared; 200 with an empty object
	// instead of 204 for a deleted push notification config. Callers that name a version of the
	// protocol always get these statuses.
	SpecStatuses bool
	// API serves everything below /api/v1. If nil, those paths are not found. Requests carry
	// the caller's principal in their context; a body must arrive within Limits.BodyTime.
	API http.Handler
	// MCP serves /mcp, in the same way as API serves the paths below /api/v1. If nil, that path
	// is not found.
	MCP http.Handler
	// Console serves everything below /console/. Requests have no principal; the console
	// authenticates people itself. If nil, those paths are not found.
	Console http.Handler
	// KeySet returns the JSON of /.well-known/jwks.json: the public keys that sign cards and
	// assertions. If nil, that path is not found.
	KeySet func() ([]byte, error)
	// Metadata is the JSON of /.well-known/openid-configuration: the hub's metadata for
	// receivers of its assertions. If nil, that path is not found.
	Metadata []byte
	// Metrics serves /metrics. If nil, that path is not found.
	Metrics http.Handler
	// MetricsReaders selects the callers that may read /metrics.
	MetricsReaders Readers
	// Callbacks serves everything below /api/a2a/callback, where remote agents send
	// notifications about tasks. Requests have no principal; the handler authenticates them
	// itself. If nil, those paths are not found.
	Callbacks http.Handler
	// Surfaces serve paths in the shapes of other ecosystems. The front's own paths come first,
	// then the surfaces in their order.
	Surfaces []surface.Surface
	// LogRequests logs each request of a client when it has ended, except probes of the hub's
	// health.
	LogRequests bool
	// Logger receives a record for each error that is hidden from the caller. If nil, nothing
	// is logged.
	Logger *slog.Logger
	// SpoolDir is the folder for files with the bodies of large requests while they arrive; they
	// have no name there. If empty, it is the folder of the system for temporary files.
	SpoolDir string
	// Limits bound the cost of each request; zero fields have defaults.
	Limits limits.Limits
}

// Profiles are the dialects of callers and agents, by names such as "v0.3";
// other names are ignored. The dialect of the caller takes precedence.
type Profiles struct {
	// Callers are the dialects by the id of the principal. A caller with a dialect that has
	// aliases may read a task by the id of its message, and continues a task by its context, in
	// every dialect.
	Callers map[string]string
	// Agents are the dialects by agent name; the default agent's applies to calls that name
	// none.
	Agents map[task.Agent]string
}
