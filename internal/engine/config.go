package engine

import (
	"cmp"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// Config configures an Engine. Only Store is required; every other zero value is a usable
// default.
type Config struct {
	// Store keeps the tasks. It is required.
	Store task.Store
	// Push accepts webhooks, which the Observer notifies of changes of their tasks. If nil, push
	// notifications are not supported.
	Push Pusher
	// Peers are the other hubs on the Store. If nil, the engine is the only one that changes it.
	Peers Peers
	// Holder names the process in the runs of tasks. If empty, it is random.
	Holder task.Holder
	// Checks returns the checks that Ready adds to the engine's own, such as the state of a
	// bus. It must return at once. If nil, Ready adds none.
	Checks func() []Check
	// Recorder selects the tasks whose outcomes the Observer records. If nil, none is.
	Recorder Recorder
	// Default is the name of the agent for callers that name none. If no such agent is
	// registered, the default is the agent that was registered first.
	Default task.Agent
	// Extended controls which callers may see the extended cards.
	Extended ExtendedCards
	// Idempotency selects the messages that are made durable at most once.
	Idempotency Idempotency
	// Chooser selects an agent if several have the skill that a message asks for. If nil, the
	// agent that was registered first is selected.
	Chooser Chooser
	// Policy controls what each caller may do with each agent. If nil, each caller may do
	// everything with its own tasks.
	Policy *policy.Policy
	// Gate may refuse messages that would create a task. If nil, none is refused.
	Gate Gate
	// Observer is notified of durable changes. If nil, none is notified.
	Observer Observer
	// Interest selects the notifications of the Observer that need data.
	Interest Interest
	// Asserter lets executors assert the identity of callers to other services (auth.Assert). If
	// nil, executors cannot do so.
	Asserter auth.Asserter
	// Bearers keeps the tokens of callers in memory while their messages are processed, for
	// executors that pass them on.
	Bearers bool
	// Auditor records what callers do to tasks. If nil, it is not recorded.
	Auditor Auditor
	// Questions answers the questions of agents to their callers. If nil, the callers answer
	// them.
	Questions question.Responder
	// Parts stores the large parts of messages and artifacts. If nil, they are in the Store
	// like all other parts.
	Parts *blobstore.Externalizer
	// Memory is the budget for large requests, the runs of large messages, and large answers. If
	// nil, the engine has one of its own of the size Limits.Memory.
	Memory *membudget.Budget
	// Logger receives operational records. If nil, they are discarded.
	Logger *slog.Logger
	// NoClientIDs refuses task ids that callers choose (specification §3.4.2). Otherwise the
	// surfaces for such clients accept them, and cards declare card.ClientTaskIDs.
	NoClientIDs bool
	// ShareTrees names the agents whose callers may read the tasks below their tasks
	// (card.TaskTree). "*" names all agents. Callers without credentials may always do so.
	ShareTrees []string
	// About describes the hub in the cards of agents that leave it open.
	About card.About
	// SignCard creates the signatures of agent cards, see card.Options.Sign. If nil, cards are
	// not signed.
	SignCard func(doc []byte) ([]a2a.AgentCardSignature, error)
	// TokenKey encrypts page tokens; 32 random bytes. If nil, tokens are valid until the
	// process ends.
	TokenKey []byte
	// Limits bound time and space.
	limits.Limits
}

func (c Config) withDefaults() Config {
	if c.Memory == nil {
		c.Memory = &membudget.Budget{Max: c.Limits.Memory}
	}
	if c.Observer == nil {
		c.Observer = Observers(nil)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Limits = c.Limits.WithDefaults()
	c.Idempotency.TTL = cmp.Or(c.Idempotency.TTL, defaultTTL)
	return c
}

// delegations returns the limits of delegation.
func (c *Config) delegations() delegation.Limits {
	return delegation.Limits{Hops: c.Hops, Budget: c.Delegations, Time: c.DelegationTime}
}

// Chooser chooses among agents. It is called concurrently and must not wait.
type Chooser interface {
	// Choose returns one of at least two agents to receive a message for a skill. A name that
	// is not in the list means the first one. The Chooser may change the list.
	Choose(skill string, among []task.Agent) task.Agent
}

// Gate may refuse messages that would create a task. It is called concurrently and must not
// wait.
type Gate interface {
	// Admit returns an error for the caller if it refuses the message. Otherwise it returns a
	// function that undoes the admission, which the engine calls if no task is created.
	Admit(agent task.Agent, r *op.Send) (undo func(), err error)
}

// Pusher accepts webhooks. It is called concurrently and never waits for a webhook.
type Pusher interface {
	// Prepare checks a config that a caller registers. It returns the config as a hook with
	// sealed secrets and an ID, without Task and Position. The error is returned to the caller.
	Prepare(r *task.HookRequest) (*task.Hook, error)
}

// hookRequest returns the webhook that a caller registers in the form for a Pusher.
func hookRequest(c *op.Caller, r *op.PushConfig) *task.HookRequest {
	return &task.HookRequest{
		ID: r.ID, URL: r.URL, Token: r.Token, Scheme: r.Scheme, Credentials: r.Credentials, Dialect: r.Dialect,
		Credential: c.Principal.Credential(),
	}
}

// Recorder selects the tasks whose outcomes are recorded when they have ended. It is called
// concurrently and keeps none of its arguments.
type Recorder interface {
	// RecordRequest returns the data to keep for a message to the agent until the task has
	// ended, or nil if nothing is to be recorded. It is stored together with the message and
	// replaces the request of an earlier message. A task whose first message has a request is
	// never answered with a bare message, because that is not in the log.
	RecordRequest(c *op.Caller, r *op.Send, agent task.Agent) []byte
}

// recordRequest returns the record request of a message; nil if there is none.
func (e *Engine) recordRequest(c *op.Caller, r *op.Send, agent task.Agent) []byte {
	if e.cfg.Recorder == nil {
		return nil
	}
	return e.cfg.Recorder.RecordRequest(c, r, agent)
}
