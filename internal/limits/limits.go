// Package limits is the one list of the limits of a hub. parley.Limits is its type, the server fills it
// from a configuration, and the engine and the bindings read it whole.
//
// A zero field means the default, which WithDefaults sets. The values are plain: the readers enforce
// them.
package limits

import (
	"cmp"
	"time"
)

// Limits bound the resources that callers and agents may use. A zero field means its default,
// which its comment states.
type Limits struct {
	// Body is the maximum size of a request in bytes; 10 MiB.
	Body int64
	// Memory is the maximum number of bytes that large requests and the runs of large messages
	// may occupy at one time; a sixteenth of the memory of the machine or its control group, from
	// 32 MiB to 192 MiB. Larger requests wait for up to 10 s; then their callers receive the time
	// after which to retry: status 429 and Retry-After over HTTP, RESOURCE_EXHAUSTED over gRPC.
	Memory int64
	// Spool is the maximum number of bytes of large requests in temporary files while they
	// arrive; 1 GiB.
	Spool int64
	// StreamsPerCaller is the maximum number of open streams of one caller; 1,000.
	StreamsPerCaller int
	// MaxWait is the maximum time that a blocking call waits; 300 s. After it, the call returns
	// the current task.
	MaxWait time.Duration
	// AgentSilence is the time without an event after which a run ends; 15 min. Negative means
	// never.
	AgentSilence time.Duration
	// DrainTimeout is the time that runs have to finish after the hub was stopped; 10 s.
	// Negative means no time.
	DrainTimeout time.Duration
	// Retention is the time that a finished task is kept; 30 days.
	Retention time.Duration
	// IdleRetention is the time that an interrupted task of an idle context is kept open; 30
	// days.
	IdleRetention time.Duration
	// MaxRuns is the maximum number of concurrent runs; 10,000.
	MaxRuns int
	// RequestsPerSecond is the maximum average rate of requests of one caller; unlimited, so
	// that a hub for one person is not slowed down. All anonymous callers count as one. A
	// caller above the limit receives the time after which to retry: status 429 and Retry-After
	// over HTTP, RESOURCE_EXHAUSTED over gRPC.
	RequestsPerSecond float64
	// Burst is the maximum number of requests at once after a pause; twice RequestsPerSecond.
	Burst int
	// BytesPerSecond is the maximum average rate of the bytes of one caller's requests;
	// unlimited. A single request may be larger: the caller's next request then has to wait
	// until the average is below the limit again.
	BytesPerSecond int64
	// TasksPerCaller is the maximum number of tasks of one caller that run or are queued in
	// this process; unlimited. Tasks that wait for the caller do not count.
	TasksPerCaller int
	// Hops is the maximum length of a chain of delegations between agents, through this hub and
	// others; 8.
	Hops int
	// Delegations is the maximum number of tasks that may be started on behalf of one; 1,000.
	Delegations int
	// DelegationTime is the time limit of work that an agent has delegated to others, unless
	// its caller has less time; unlimited.
	DelegationTime time.Duration
	// FirstEvent is the time that an agent has to answer with a bare message; 1 s. After it,
	// the caller receives a task.
	FirstEvent time.Duration
	// CancelWait is the time that an agent has to confirm a cancellation; 10 s. After it, the
	// task is canceled without the agent's confirmation.
	CancelWait time.Duration
	// MaxAway is the maximum number of concurrent runs whose agents wait for work elsewhere
	// (agent.Traits.Away); 50,000. They do not count towards MaxRuns.
	MaxAway int
	// MaxQueued is the maximum number of queued tasks; 100,000. Further messages are refused.
	MaxQueued int
	// MaxWaiting is the maximum number of unread messages of one task; 100.
	MaxWaiting int
	// MaxOutput is the maximum number of bytes that an agent may add to a task in one run; 1 GiB.
	// Beyond it, the task fails. Negative means unlimited.
	MaxOutput int64
	// Streams is the maximum number of open streams of all callers; 20,000. Negative means
	// unlimited.
	Streams int
	// BodyTime is the time that a request may take to arrive; 30 s.
	BodyTime time.Duration
	// WriteTime is the time that the reader of an answer may take to accept a write; 30 s.
	// After it, the reader is disconnected.
	WriteTime time.Duration
	// KeepAlive is the time of silence after which a stream sends a comment; 15 s.
	KeepAlive time.Duration
}

// WithDefaults returns l with the defaults in place of zero fields, but for Memory, Hops and
// Delegations, whose packages have them: membudget and delegation.
func (l Limits) WithDefaults() Limits {
	l.Body = cmp.Or(l.Body, 10<<20)
	l.Spool = cmp.Or(l.Spool, 1<<30)
	l.StreamsPerCaller = cmp.Or(l.StreamsPerCaller, 1_000)
	l.MaxWait = cmp.Or(l.MaxWait, 300*time.Second)
	l.AgentSilence = cmp.Or(l.AgentSilence, 15*time.Minute)
	l.DrainTimeout = cmp.Or(l.DrainTimeout, 10*time.Second)
	l.Retention = cmp.Or(l.Retention, 30*24*time.Hour)
	l.IdleRetention = cmp.Or(l.IdleRetention, 30*24*time.Hour)
	l.MaxRuns = cmp.Or(l.MaxRuns, 10_000)
	l.FirstEvent = cmp.Or(l.FirstEvent, time.Second)
	l.CancelWait = cmp.Or(l.CancelWait, 10*time.Second)
	l.MaxAway = cmp.Or(l.MaxAway, 50_000)
	l.MaxQueued = cmp.Or(l.MaxQueued, 100_000)
	l.MaxWaiting = cmp.Or(l.MaxWaiting, 100)
	l.MaxOutput = cmp.Or(l.MaxOutput, 1<<30)
	l.Streams = cmp.Or(l.Streams, 20_000)
	l.BodyTime = cmp.Or(l.BodyTime, 30*time.Second)
	l.WriteTime = cmp.Or(l.WriteTime, 30*time.Second)
	l.KeepAlive = cmp.Or(l.KeepAlive, 15*time.Second)
	return l
}
