package hub

import (
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/agent/queue"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/task"
)

// Parts are what a hub consists of. A part that is nil is absent; the comments of
// engine.Config say what that means.
type Parts struct {
	// Store keeps the tasks. If nil, they live in memory.
	Store task.Store
	// Auth finds the principal of each call.
	Auth auth.Authenticator
	// Box seals secrets in the Store. If nil, the secrets of webhooks are sealed with the
	// key of the push options, and page tokens end with the process.
	Box *seal.Box
	// Recorder writes results of tasks into the memory of agents, and is run.
	Recorder *recorder.Recorder
	// Turns are the conversations that are swept beside the Recorder.
	Turns *memory.Turns
	// Inbox is what waits for a person. It is run, and its answers are delivered to the
	// tasks unless it has a Deliver.
	Inbox *inbox.Inbox
	// Bus gives tasks to agents at queues. It is run until the last task has ended; its
	// Tasks are the Store if it has none.
	Bus *queue.Dispatcher
	// Trust counts the contacts of callers. It is run.
	Trust *trust.Book
	// Audit is the log of who did what.
	Audit *audit.Log

	Policy    *policy.Policy
	Blobs     *blobstore.Keeper
	Questions engine.Questions
	Onward    auth.Onward
	Chooser   engine.Chooser
	Gate      engine.Gate
	Observer  engine.Observer
	Checks    func() []engine.Check
	SignCard  func(doc []byte) ([]a2a.AgentCardSignature, error)
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Settings say how a hub works. The zero Settings are sensible.
type Settings struct {
	Limits      Limits
	Idempotency engine.Idempotency
	Extended    engine.ExtendedCards
	// Push says how webhooks are notified.
	Push push.Options
	// Default is the agent for callers that name none; the first one if it is not there.
	Default task.Agent
	// NoRecording writes down nothing of tasks, although there is a Recorder.
	NoRecording bool
	// NoClientIDs refuses task ids that callers choose.
	NoClientIDs bool
	// Bearers keeps the tokens of callers for executors that pass them on.
	Bearers bool
	// Version and Commit are those of the program.
	Version, Commit string
}

// Limits bound time and space. A zero field means its default, which is named. It is the
// one list of them: parley.Limits has the same fields in the same order, and package
// server takes them from a configuration.
type Limits struct {
	// Body is the largest request in bytes; 10 MiB.
	Body int64
	// StreamsPerCaller is the number of streams that one caller may hold open; 1,000.
	StreamsPerCaller int
	// MaxWait is the longest time that a blocking call waits; 300 s.
	MaxWait time.Duration
	// AgentSilence ends a run that yields nothing for so long; 15 min. Negative means never.
	AgentSilence time.Duration
	// DrainTimeout is how long runs may continue when the hub stops; 10 s. Negative means
	// not at all.
	DrainTimeout time.Duration
	// Retention is how long a finished task is kept; 30 days.
	Retention time.Duration
	// IdleRetention is how long an interrupted task of an idle context is kept; 30 days.
	IdleRetention time.Duration
	// MaxRuns is the number of tasks that are executed at one time; 10,000.
	MaxRuns int
	// RequestsPerSecond is how many requests one caller may make per second, on average;
	// any number.
	RequestsPerSecond float64
	// Burst is how many of them may come at once; twice RequestsPerSecond.
	Burst int
	// BytesPerSecond is how many bytes one caller may send per second, on average; any
	// number.
	BytesPerSecond int64
	// TasksPerCaller is how many tasks of one caller may run or wait in line; any number.
	TasksPerCaller int
	// Hops is how many agents may ask each other one after the other; 8.
	Hops int
	// Delegations is how many tasks may be begun on behalf of one; 1,000.
	Delegations int
	// DelegationTime is how long work may take that an agent has delegated; no limit.
	DelegationTime time.Duration
	// FirstEvent is how long an agent may take to answer with a bare message; 1 s.
	FirstEvent time.Duration
	// CancelWait is how long an agent may take to confirm a cancellation; 10 s.
	CancelWait time.Duration
	// MaxAway is the number of tasks at one time whose agents wait for work elsewhere;
	// 50,000.
	MaxAway int
	// MaxQueued is the number of tasks that wait in line; 100,000.
	MaxQueued int
	// MaxWaiting is the number of unread messages of one task; 100.
	MaxWaiting int
	// Streams is the number of streams that are open in all; 20,000. Negative means any
	// number.
	Streams int
	// BodyTime is how long a request may take to arrive; 30 s.
	BodyTime time.Duration
	// WriteTime is how long a reader may take to accept a write; 30 s.
	WriteTime time.Duration
	// KeepAlive is the silence after which a stream sends a comment; 15 s.
	KeepAlive time.Duration
}

// engineConfig returns the configuration of the engine.
func engineConfig(p *Parts, s *Settings) engine.Config {
	l := &s.Limits
	c := engine.Config{
		Store: p.Store, Parts: p.Blobs, Policy: p.Policy, Questions: p.Questions, Onward: p.Onward,
		Chooser: p.Chooser, Gate: p.Gate, Observer: p.Observer, Checks: p.checks,
		SignCard: p.SignCard, Logger: p.Logger,
		Idempotency: s.Idempotency, Extended: s.Extended, Default: s.Default, NoClientIDs: s.NoClientIDs, Bearers: s.Bearers,
		MaxWait: l.MaxWait, FirstEvent: l.FirstEvent, AgentSilence: l.AgentSilence, CancelWait: l.CancelWait,
		DrainTimeout: l.DrainTimeout, Retention: l.Retention, IdleRetention: l.IdleRetention,
		MaxRuns: l.MaxRuns, MaxAway: l.MaxAway, MaxQueued: l.MaxQueued, MaxWaiting: l.MaxWaiting,
		StreamsPerCaller: l.StreamsPerCaller, Streams: l.Streams, TasksPerCaller: l.TasksPerCaller,
		Rates:   ratelimit.Config{Requests: l.RequestsPerSecond, Burst: l.Burst, Bytes: l.BytesPerSecond},
		Errands: delegation.Limits{Hops: l.Hops, Budget: l.Delegations, Time: l.DelegationTime},
	}
	if p.Recorder != nil && !s.NoRecording {
		c.Recorder = p.Recorder
	}
	if p.Trust != nil {
		c.Observer.Admitted = p.contact
	}
	if p.Audit != nil {
		c.Auditor = taskAuditor{p.Audit}
	}
	if p.Box != nil {
		c.TokenKey = p.Box.Key("page tokens")
	}
	return c
}

// frontLimits returns the limits of the front.
func frontLimits(l *Limits) httpfront.Limits {
	return httpfront.Limits{Body: l.Body, BodyTime: l.BodyTime, WriteTime: l.WriteTime, KeepAlive: l.KeepAlive}
}
