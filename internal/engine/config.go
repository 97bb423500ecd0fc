package engine

import (
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/task"
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
	// Rates limits the request rate of each caller; the bindings enforce it with
	// Engine.Limiter. The zero value does not limit.
	Rates ratelimit.Config
	// Memory is the budget for large requests, the runs of large messages, and large answers. If
	// nil, the engine has one of its own with the defaults.
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
	// MaxWait is the longest time that a blocking call waits before it returns the current
	// state of the task. Zero means 300 s.
	MaxWait time.Duration
	// FirstEvent is how long an agent may take to decide whether it answers with a bare
	// message; after that the caller gets a task. A stream waits as long for an agent that
	// confirms extensions. Zero means 1 s.
	FirstEvent time.Duration
	// AgentSilence is how long a run may yield no event before the engine ends it, unless its
	// agent sets another limit. Zero means 15 min; negative means no limit.
	AgentSilence time.Duration
	// CancelWait is how long an agent may take to confirm a cancellation. After that the engine
	// fences its run and cancels the task. Zero means 10 s.
	CancelWait time.Duration
	// DrainTimeout is how long runs may continue after the engine begins to drain. Zero means
	// 10 s; negative means that they are stopped at once.
	DrainTimeout time.Duration
	// Retention is how long a finished task is kept. Zero means 30 days.
	Retention time.Duration
	// IdleRetention is how long an interrupted task is kept open without a change of its
	// context. Then it fails, and Retention begins. Zero means 30 days.
	IdleRetention time.Duration
	// MaxRuns limits the concurrent runs; further tasks are queued. Zero means 10,000.
	MaxRuns int
	// MaxAway limits the concurrent runs of agents that wait for work elsewhere
	// (agent.Traits.Away), which do not count towards MaxRuns. Zero means 50,000.
	MaxAway int
	// MaxQueued limits the queued tasks; further messages are refused. Zero means 100,000.
	MaxQueued int
	// TasksPerCaller limits the tasks of one owner that run or are queued in this process or, once
	// they are stored, in other hubs; tasks that wait for their caller do not count. Zero or less
	// means no limit.
	TasksPerCaller int
	// StreamsPerCaller limits the open streams of one owner. Zero means 1,000; negative means
	// no limit.
	StreamsPerCaller int
	// Streams limits the open streams of all owners. Zero means 20,000; negative means no
	// limit.
	Streams int
	// Delegation limits how far the work of one caller may be delegated from agent to agent.
	Delegation delegation.Limits
	// MaxWaiting limits the unread messages of one task. Zero means 100.
	MaxWaiting int
	// MaxOutput limits the bytes that an agent may add to a task in one run; beyond it the task
	// fails. Zero means 1 GiB; negative means no limit.
	MaxOutput int64
}

func (c Config) withDefaults() Config {
	if c.Memory == nil {
		c.Memory = new(membudget.Budget)
	}
	if c.Observer == nil {
		c.Observer = Observers(nil)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.MaxWait, 300 * time.Second},
		{&c.FirstEvent, time.Second},
		{&c.AgentSilence, 15 * time.Minute},
		{&c.CancelWait, 10 * time.Second},
		{&c.DrainTimeout, 10 * time.Second},
		{&c.Retention, 30 * 24 * time.Hour},
		{&c.IdleRetention, 30 * 24 * time.Hour},
		{&c.Idempotency.TTL, defaultTTL},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.MaxOutput == 0 {
		c.MaxOutput = 1 << 30
	}
	for _, n := range []struct {
		field *int
		value int
	}{
		{&c.MaxRuns, 10_000},
		{&c.MaxAway, 50_000},
		{&c.MaxQueued, 100_000},
		{&c.MaxWaiting, 100},
		{&c.StreamsPerCaller, 1_000},
		{&c.Streams, 20_000},
	} {
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	return c
}
