package hub

import (
	"log/slog"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/push"
)

// Parts are the parts of a hub. A nil part but the Store is absent; the comments of
// engine.Config state the effect.
type Parts struct {
	// Store keeps the tasks. It is required.
	Store task.Store
	// Auth identifies the principal of each call.
	Auth auth.Authenticator
	// Box seals secrets in the Store. If nil, the secrets of webhooks are sealed with the key
	// of the push options, and page tokens end with the process.
	Box *seal.Sealer
	// Recorder writes results of tasks to the memory of agents. The hub runs it.
	Recorder *recorder.Recorder
	// Turns are the conversations that are swept beside the Recorder.
	Turns *memory.Turns
	// Inbox holds the items that wait for a person. The hub runs it and delivers its answers to
	// the tasks unless Inbox.Deliver is set.
	Inbox *inbox.Inbox
	// Bus passes tasks to agents at queues. The hub runs it until the last task has ended and
	// sets its Tasks to the Store if they are nil.
	Bus *queue.Dispatcher
	// Letters counts the dead letters of the bus. If nil, they are not measured.
	Letters queue.LetterCounter
	// Trust counts the contacts of callers. The hub runs it.
	Trust *trust.Registry
	// Directory lists the agents of the hub and remote ones. The hub runs it.
	Directory *Listing
	// Transports are further transports to remote agents that the operator has named.
	Transports map[a2a.TransportProtocol]transport.Factory
	// Notes are the notes that the Recorder writes. API serves them, with the Turns.
	Notes *memory.Notes
	// MCP serves /mcp. The hub closes it when it stops.
	MCP MCP
	// Audit is the log of the operations of callers.
	Audit *audit.Log

	Policy    *policy.Policy
	Blobs     *blobstore.Externalizer
	Questions question.Responder
	Asserter  auth.Asserter
	Chooser   engine.Chooser
	Gate      engine.Gate
	// Observer is notified of durable changes, as Interest selects, after the parts above.
	Observer engine.Observer
	Interest engine.Interest
	Checks   func() []engine.Check
	SignCard func(doc []byte) ([]a2a.AgentCardSignature, error)
	// Peers are the other hubs on the Store, and Holder names this one in the runs of tasks. If nil,
	// the hub is the only one.
	Peers  Peers
	Holder task.Holder
	// Hubs returns the number of hubs on the Store that are alive. If nil, it is not sampled.
	Hubs func() int
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// MCP serves the endpoint /mcp.
type MCP interface {
	// Handler returns the handler, which calls the hub through inside.
	Handler(inside http.Handler) http.Handler
	// Close ends the calls of MCP hosts.
	Close()
}

// Settings configure a hub. The zero Settings are sensible.
type Settings struct {
	Limits      limits.Limits
	Idempotency engine.Idempotency
	Extended    engine.ExtendedCards
	// Push configures the notification of webhooks.
	Push push.Options
	// Default is the agent for requests that name none; the first agent if it does not exist.
	Default task.Agent
	// NoRecording disables the recording of tasks, although a Recorder is set.
	NoRecording bool
	// About describes the hub in cards.
	About card.About
	// NoClientIDs refuses task ids that callers choose.
	NoClientIDs bool
	// ShareTrees names the agents whose callers may read the tasks below their tasks; see
	// engine.Config.
	ShareTrees []string
	// SpoolDir is the folder for the files of large requests while they arrive. If empty, it is
	// the folder of the system for temporary files.
	SpoolDir string
	// PublicURL is the address under which callers reach the hub; empty if it is not known.
	PublicURL string
	// AllowedHosts are further hosts under which callers reach the hub.
	AllowedHosts []string
	// Bearers keeps the tokens of callers for executors that pass them on.
	Bearers bool
	// Version and Commit are those of the program.
	Version, Commit string
}

func engineConfig(p *Parts, s *Settings) engine.Config {
	c := engine.Config{
		Peers: p.Peers, Holder: p.Holder,
		Store: p.Store, Parts: p.Blobs, Policy: p.Policy, Questions: p.Questions, Asserter: p.Asserter,
		Chooser: p.Chooser, Gate: p.Gate, Interest: p.Interest, Checks: p.checks,
		SignCard: p.SignCard, About: s.About, Logger: p.Logger,
		Idempotency: s.Idempotency, Extended: s.Extended, Default: s.Default, NoClientIDs: s.NoClientIDs, ShareTrees: s.ShareTrees, Bearers: s.Bearers,
		Limits: s.Limits,
	}
	if p.Recorder != nil && !s.NoRecording {
		c.Recorder = p.Recorder
	}
	if p.Audit != nil {
		c.Auditor = taskAuditor{p.Audit}
	}
	if p.Box != nil {
		c.TokenKey = p.Box.Key("page tokens")
	}
	return c
}
