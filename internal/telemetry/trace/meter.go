package trace

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Labels are the attributes of a metric. Each value must be from a small set: never an id, nor
// anything else that a caller can choose. Empty labels are omitted.
type Labels struct {
	// Agent is the name of the called agent, which must be known to the hub.
	Agent string
	// Skill is a skill that the agent declares.
	Skill string
	// Operation is a method of the protocol.
	Operation string
	// Protocol is the dialect of a request, such as "v1.0", or the kind of an agent of the hub,
	// such as "command".
	Protocol string
	// Version is the version of A2A: "1.0" or "0.3".
	Version string
	// Transport is the binding: "jsonrpc", "http+json" or "grpc".
	Transport string
	// Outcome is the result of the work.
	Outcome string
	// Reason is the reason of a failure, a word of a closed set.
	Reason string
	// Grade is the latency grade; Served, Invoked and Requested set it.
	Grade string
}

// maxSets is how many label sets are distinguished. It bounds the memory of a program whose
// agents change without end.
const maxSets = 2000

// overflow represents all further label sets; the SDK uses the same key.
var overflow = optionsOf(attribute.NewSet(attribute.Bool("otel.metric.overflow", true)))

// options are a label set in the form for instruments.
type options struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// sets caches the label sets in use.
type sets struct {
	mu    sync.RWMutex // guards the field below
	known map[Labels]*options
}

// of returns the options for a label set.
func (s *sets) of(l Labels) *options {
	s.mu.RLock()
	o := s.known[l]
	s.mu.RUnlock()
	if o != nil {
		return o
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[Labels]*options)
	}
	if o = s.known[l]; o != nil {
		return o
	}
	if len(s.known) >= maxSets {
		return overflow
	}
	o = optionsOf(l.set())
	s.known[l] = o
	return o
}

func optionsOf(set attribute.Set) *options {
	o := metric.WithAttributeSet(set)
	return &options{add: []metric.AddOption{o}, record: []metric.RecordOption{o}}
}

func (l *Labels) set() attribute.Set {
	var kvs []attribute.KeyValue
	for _, a := range [...]struct{ key, value string }{
		{TargetAgent, l.Agent},
		{Skill, l.Skill},
		{Operation, l.Operation},
		{Protocol, l.Protocol},
		{Version, l.Version},
		{Transport, l.Transport},
		{Outcome, l.Outcome},
		{Reason, l.Reason},
		{Grade, l.Grade},
	} {
		if a.value != "" {
			kvs = append(kvs, attribute.String(a.key, a.value))
		}
	}
	return attribute.NewSet(kvs...)
}

// coarse returns the labels of a histogram, which has a row for each bucket.
func (l Labels) coarse() Labels {
	return Labels{Agent: l.Agent, Operation: l.Operation, Protocol: l.Protocol, Transport: l.Transport}
}

// A Counter counts events during calls.
type Counter uint8

// The counters.
const (
	// PollingAttempts counts the polls of tasks of other agents.
	PollingAttempts Counter = iota
	// StreamingEvents counts the events that other agents have streamed.
	StreamingEvents
	// SubscribeFallbacks counts the streams of other agents that were abandoned for polling.
	SubscribeFallbacks
	// InputRequiredRounds counts the answers that agents got to continue.
	InputRequiredRounds
	// InputRequiredBreaks counts the times that such rounds were aborted.
	InputRequiredBreaks
	// ServedEvents counts the events that were streamed to callers.
	ServedEvents
	// WebhookTries counts the notifications that were sent, successful or not.
	WebhookTries
	// ModelInput and ModelOutput count the tokens that language models have read and written.
	ModelInput
	ModelOutput
	// Republished counts the work that was missing in the queue of its agent.
	Republished
	// Damaged counts the reads and writes of the store that have met damaged data.
	Damaged
	numCounters
)

var counters = [numCounters]struct{ name, unit, description string }{
	PollingAttempts:     {"parley.a2a.polling_attempts", "{attempt}", "Times that a task of another agent was asked for."},
	StreamingEvents:     {"parley.a2a.streaming_events", "{event}", "Events that other agents have streamed."},
	SubscribeFallbacks:  {"parley.a2a.subscribe_fallbacks", "{fallback}", "Streams of other agents that were given up for polling."},
	InputRequiredRounds: {"parley.a2a.input_required_rounds", "{round}", "Answers given to agents that waited for input."},
	InputRequiredBreaks: {"parley.a2a.input_required_breaks", "{break}", "Rounds of questions and answers that were given up."},
	ServedEvents:        {"parley.server.streaming_events", "{event}", "Events that were streamed to callers."},
	WebhookTries:        {"parley.webhook.tries", "{try}", "Notifications that were sent to webhooks, by what became of them."},
	ModelInput:          {"parley.model.input_tokens", "{token}", "Tokens that language models have read."},
	ModelOutput:         {"parley.model.output_tokens", "{token}", "Tokens that language models have written."},
	Republished:         {"parley.queue.republished", "{task}", "Work that was missing in the queue of its agent and was published again."},
	Damaged:             {"parley.store.damaged", "{operation}", "Reads and writes of the store that have met damaged data."},
}

// family holds the instruments of one kind of work.
type family struct {
	requests, failures metric.Int64Counter
	duration           metric.Float64Histogram
}

type instruments struct {
	provider metric.MeterProvider
	on       bool

	served, invoked, requested family
	counters                   [numCounters]metric.Int64Counter
	commit                     metric.Float64Histogram
	changes                    metric.Int64Counter
	batch                      metric.Int64Histogram

	sets sets
}

// buckets are the bounds of durations in seconds: from a hub's own overhead to the longest wait
// of a blocking call.
var buckets = metric.WithExplicitBucketBoundaries(
	.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300,
)

// commitBuckets are the bounds for commits, which are expected to be short.
var commitBuckets = metric.WithExplicitBucketBoundaries(
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5,
)

// make creates the instruments. One that cannot be created records nothing; the error handler
// of the SDK gets its error.
func (m *instruments) make(from metric.Meter) {
	m.on = true
	m.served = familyOf(from, "parley.server", "Requests of callers")
	m.invoked = familyOf(from, "parley.a2a", "Calls of agents")
	m.requested = familyOf(from, "parley.client", "Requests to other agents")
	for i, c := range counters {
		m.counters[i], _ = from.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.description))
	}
	m.commit, _ = from.Float64Histogram("parley.store.commit.duration", metric.WithUnit("s"),
		metric.WithDescription("Time that a commit of the store took, the sync to the disk included."), commitBuckets)
	m.batch, _ = from.Int64Histogram("parley.store.batch", metric.WithUnit("{change}"),
		metric.WithDescription("Changes that a commit of the store has merged."), batchBuckets)
	m.changes, _ = from.Int64Counter("parley.store.changes", metric.WithUnit("{change}"),
		metric.WithDescription("Changes that the store was given, by what became of them."))
}

func familyOf(from metric.Meter, name, what string) family {
	var f family
	f.requests, _ = from.Int64Counter(name+".requests", metric.WithUnit("{request}"),
		metric.WithDescription(what+" that have ended."))
	f.failures, _ = from.Int64Counter(name+".failures", metric.WithUnit("{request}"),
		metric.WithDescription(what+" that have failed."))
	f.duration, _ = from.Float64Histogram(name+".duration", metric.WithUnit("s"),
		metric.WithDescription("Time that "+lower(what)+" took."), buckets)
	return f
}

// lower returns s with a lower-case first letter.
func lower(s string) string { return string(s[0]|0x20) + s[1:] }

// record records a finished piece of work.
func (m *instruments) record(ctx context.Context, f *family, l Labels, took time.Duration) {
	reason := l.Reason
	l.Reason, l.Grade = "", GradeOf(took)
	f.requests.Add(ctx, 1, m.sets.of(l).add...)
	f.duration.Record(ctx, took.Seconds(), m.sets.of(l.coarse()).record...)
	if reason != "" {
		l.Reason = reason
		f.failures.Add(ctx, 1, m.sets.of(l).add...)
	}
}

// Served records an answered request of a caller. It has failed if it has a Reason.
func Served(ctx context.Context, l Labels, took time.Duration) {
	if m := meter(); m != nil {
		m.record(ctx, &m.served, l, took)
	}
}

// Invoked records a finished run of an agent. It has failed if it has a Reason.
func Invoked(ctx context.Context, l Labels, took time.Duration) {
	if m := meter(); m != nil {
		m.record(ctx, &m.invoked, l, took)
	}
}

// Requested records a request to another agent's server. It has failed if it has a Reason.
func Requested(ctx context.Context, l Labels, took time.Duration) {
	if m := meter(); m != nil {
		m.record(ctx, &m.requested, l, took)
	}
}

// Count adds n to a counter.
func Count(ctx context.Context, c Counter, l Labels, n int) {
	if m := meter(); m != nil && n > 0 {
		m.counters[c].Add(ctx, int64(n), m.sets.of(l).add...)
	}
}

// batchBuckets are the bounds for the numbers of changes in a commit.
var batchBuckets = metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

// Committed records a commit of the store with a number of changes; it has failed if reason is
// not empty.
func Committed(changes int, took time.Duration, reason string) {
	m := meter()
	if m == nil {
		return
	}
	outcome := "stored"
	if reason != "" {
		outcome = "failed"
	}
	o := m.sets.of(Labels{Outcome: outcome, Reason: reason})
	m.commit.Record(context.Background(), took.Seconds(), m.sets.of(Labels{Outcome: outcome}).record...)
	m.batch.Record(context.Background(), int64(changes), m.sets.of(Labels{Outcome: outcome}).record...)
	m.changes.Add(context.Background(), int64(changes), o.add...)
}
