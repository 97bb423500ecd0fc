package engine

import (
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/task"
)

// Config says how an Engine works. The zero Config is ready to use.
type Config struct {
	// Store keeps the tasks. It is required.
	Store task.Store
	// Push notifies webhooks of changes of their tasks. If nil, push notifications are not
	// supported.
	Push Pusher
	// Checks returns what Ready says beside the engine's own conditions, such as how a bus
	// is. It answers at once. If nil, there is nothing.
	Checks func() []Check
	// Recorder writes down what comes of tasks. If nil, nothing is written down.
	Recorder Recorder
	// Default is the agent for callers that name none, where there is one of that name.
	// Otherwise it is the first that was registered.
	Default task.Agent
	// Extended says who may see the extended cards.
	Extended ExtendedCards
	// Idempotency says which messages are made durable at most once.
	Idempotency Idempotency
	// Chooser chooses where several agents have the skill that a message asks for. If
	// nil, the one that was registered first is taken.
	Chooser Chooser
	// Policy says which caller may do what with which agent. If nil, everybody may do
	// everything with his own tasks.
	Policy *policy.Policy
	// Gate may refuse messages that would begin a task. If nil, none is refused.
	Gate Gate
	// Observer is notified of messages, the output of agents, and the ends of tasks.
	Observer Observer
	// Onward says to others who callers are, for executors (auth.Assert). If nil, nobody
	// does.
	Onward auth.Onward
	// Bearers keeps the tokens of callers in memory while their messages are dealt with, for
	// executors that pass them on.
	Bearers bool
	// Auditor writes down who does what to tasks. If nil, nobody does.
	Auditor Auditor
	// Questions answers what agents ask their callers. If nil, the callers do.
	Questions Questions
	// Parts keeps the large parts of messages and artifacts. If nil, they are in the Store,
	// as all others.
	Parts *blobstore.Keeper
	// Rates bound what one caller may ask for; the bindings keep to them with
	// Engine.Limiter. The zero value does not limit.
	Rates ratelimit.Config
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
	// NoClientIDs refuses task ids that callers choose (specification §3.4.2), which the
	// surfaces for clients that do so take otherwise; cards declare card.ClientTaskIDs then.
	NoClientIDs bool
	// SignCard makes the signatures of the cards of agents, see card.Options.Sign. If nil,
	// they have none.
	SignCard func(doc []byte) ([]a2a.AgentCardSignature, error)
	// TokenKey encrypts page tokens; 32 random bytes. If nil, tokens end with the
	// process.
	TokenKey []byte
	// MaxWait is the longest time that a blocking call waits before it returns the
	// task as it is. Zero means 300 s.
	MaxWait time.Duration
	// FirstEvent is how long an agent may take to decide whether it answers with a
	// bare message; after that the caller gets a task. A stream waits as long for an agent
	// that confirms extensions. Zero means 1 s.
	FirstEvent time.Duration
	// AgentSilence ends a run that yields nothing for so long, unless its agent says
	// otherwise. Zero means 15 min; negative means never.
	AgentSilence time.Duration
	// CancelWait is how long an agent may take to confirm a cancellation before its
	// run is fenced and the task canceled without it. Zero means 10 s.
	CancelWait time.Duration
	// DrainTimeout is how long runs may go on after the engine was told to stop.
	// Zero means 10 s; negative means not at all.
	DrainTimeout time.Duration
	// Retention is how long a finished task is kept. Zero means 30 days.
	Retention time.Duration
	// IdleRetention is how long an interrupted task whose context sees no change is
	// kept open; then it fails, and Retention begins. Zero means 30 days.
	IdleRetention time.Duration
	// MaxRuns limits the runs at one time; further tasks wait in line. Zero means
	// 10,000.
	MaxRuns int
	// MaxAway limits the runs at one time of agents that wait for work elsewhere
	// (agent.Traits.Away), which do not count towards MaxRuns. Zero means 50,000.
	MaxAway int
	// MaxQueued limits the tasks in line; further messages are refused. Zero means
	// 100,000.
	MaxQueued int
	// TasksPerCaller limits the tasks of one owner that run or wait in line in this
	// process; those that wait for their caller do not count. Zero or less means any
	// number.
	TasksPerCaller int
	// StreamsPerCaller limits the streams that one owner may have open. Zero means
	// 1,000; negative means any number.
	StreamsPerCaller int
	// Streams limits the open streams in all. Zero means 20,000; negative means any
	// number.
	Streams int
	// Errands bound how far the work of one caller goes from agent to agent.
	Errands delegation.Limits
	// MaxWaiting limits the unread messages of one task. Zero means 100.
	MaxWaiting int
}

func (c Config) withDefaults() Config {
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
