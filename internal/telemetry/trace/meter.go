package trace

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Labels are the attributes of a metric. Each value must be one of few: never an id, nor
// anything else that a caller can choose. Empty ones are left out.
type Labels struct {
	// Agent is the name of the agent that is called, one that the hub knows.
	Agent string
	// Skill is a skill that the agent declares.
	Skill string
	// Operation is a method of the protocol.
	Operation string
	// Protocol is how the agent is spoken to: the wire shape of a request, such as
	// "v1.0", or what an agent of the hub is, such as "command".
	Protocol string
	// Version is the version of A2A: "1.0" or "0.3".
	Version string
	// Transport is the binding: "jsonrpc", "http+json" or "grpc".
	Transport string
	// Outcome is how the work ended.
	Outcome string
	// Reason is why it failed, a word of a closed set.
	Reason string
	// Grade is the latency grade; Served and its like fill it in.
	Grade string
}

// maxSets is how many label sets are told apart. A program whose agents come and go
// without end does not grow without end.
const maxSets = 2000

// overflow stands for all further label sets; the key is the SDK's for the same.
var overflow = optionsOf(attribute.NewSet(attribute.Bool("otel.metric.overflow", true)))

// options are a label set as instruments take it.
type options struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// sets are the label sets that were used.
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

// coarse returns the labels of a histogram, which costs a row for each bucket.
func (l Labels) coarse() Labels {
	return Labels{Agent: l.Agent, Operation: l.Operation, Protocol: l.Protocol, Transport: l.Transport}
}

// A Counter counts what happens on the way of a call.
type Counter uint8

// The counters.
const (
	// PollingAttempts are the times that a task of another agent was asked for.
	PollingAttempts Counter = iota
	// StreamingEvents are the events that other agents have streamed.
	StreamingEvents
	// SubscribeFallbacks are the streams of other agents that were given up for polling.
	SubscribeFallbacks
	// InputRequiredRounds are the times that an agent was given an answer to go on.
	InputRequiredRounds
	// InputRequiredBreaks are the times that this was given up.
	InputRequiredBreaks
	// ServedEvents are the events that were streamed to callers.
	ServedEvents
	// WebhookTries are the notifications that were sent, successful or not.
	WebhookTries
	// ModelInput and ModelOutput are the tokens that language models have read and written.
	ModelInput
	ModelOutput
	numCounters
)

var counters = [numCounters]struct{ name, unit, description string }{
	PollingAttempts:     {"parley.a2a.polling_attempts", "{attempt}", "Times that a task of another agent was asked for."},
	StreamingEvents:     {"parley.a2a.streaming_events", "{event}", "Events that other agents have streamed."},
	SubscribeFallbacks:  {"parley.a2a.subscribe_fallbacks", "{fallback}", "Streams of other agents that were given up for polling."},
	InputRequiredRounds: {"parley.a2a.input_required_rounds", "{round}", "Answers that agents were given to go on."},
	InputRequiredBreaks: {"parley.a2a.input_required_breaks", "{break}", "Rounds of questions and answers that were given up."},
	ServedEvents:        {"parley.server.streaming_events", "{event}", "Events that were streamed to callers."},
	WebhookTries:        {"parley.webhook.tries", "{try}", "Notifications that were sent to webhooks, by what became of them."},
	ModelInput:          {"parley.model.input_tokens", "{token}", "Tokens that language models have read."},
	ModelOutput:         {"parley.model.output_tokens", "{token}", "Tokens that language models have written."},
}

// family is what is known of one kind of work.
type family struct {
	requests, failures metric.Int64Counter
	duration           metric.Float64Histogram
}

// instruments are those of one provider.
type instruments struct {
	provider metric.MeterProvider
	on       bool

	served, invoked, requested family
	counters                   [numCounters]metric.Int64Counter
	commit                     metric.Float64Histogram
	changes                    metric.Int64Counter

	sets sets
}

// buckets are the bounds of durations in seconds: from what a hub adds by itself to the
// longest time that a blocking call waits.
var buckets = metric.WithExplicitBucketBoundaries(
	.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300,
)

// commitBuckets are those of commits, which are expected to be short.
var commitBuckets = metric.WithExplicitBucketBoundaries(
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5,
)

// make makes the instruments. One that cannot be made records nothing: what is wrong
// with it is for the error handler of the SDK.
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
	m.changes, _ = from.Int64Counter("parley.store.changes", metric.WithUnit("{change}"),
		metric.WithDescription("Changes that the store was given, by what became of them."))
}

func familyOf(from metric.Meter, name, what string) family {
	var f family
	f.requests, _ = from.Int64Counter(name+".requests", metric.WithUnit("{request}"),
		metric.WithDescription(what+" that have come to an end."))
	f.failures, _ = from.Int64Counter(name+".failures", metric.WithUnit("{request}"),
		metric.WithDescription(what+" that have failed."))
	f.duration, _ = from.Float64Histogram(name+".duration", metric.WithUnit("s"),
		metric.WithDescription("Time that "+lower(what)+" took."), buckets)
	return f
}

// lower returns s with a small first letter.
func lower(s string) string { return string(s[0]|0x20) + s[1:] }

// record notes a piece of work that has come to an end.
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

// Served notes a request of a caller that was answered. It has failed if it has a
// Reason.
func Served(ctx context.Context, l Labels, took time.Duration) {
	if m := meter(); m != nil {
		m.record(ctx, &m.served, l, took)
	}
}

// Invoked notes a run of an agent that has ended. It has failed if it has a Reason.
func Invoked(ctx context.Context, l Labels, took time.Duration) {
	if m := meter(); m != nil {
		m.record(ctx, &m.invoked, l, took)
	}
}

// Requested notes a request to another agent's server. It has failed if it has a Reason.
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

// Committed notes a commit of the store with so many changes; it has failed if it has a
// reason.
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
	m.changes.Add(context.Background(), int64(changes), o.add...)
}
