package engine

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// observed holds the measurements of a run until it has ended.
type observed struct {
	// began is zero if tracing is off.
	began time.Time
	span  trace.Span
	skill string
}

// observe reads the ids and the trace context of the message, and begins to record the run. It
// returns a context for the executor.
func (r *run) observe(rec *callRecord) (context.Context, trace.IDs) {
	ctx, ids := r.ctx, r.ids(rec)
	if !trace.On() && len(rec.Params) == 0 && ids == (trace.IDs{Correlation: string(r.live.ref.id)}) {
		return ctx, ids // the id is the hub's own: executors find it in their call
	}
	ids.Task, ids.Context = string(r.live.ref.id), r.live.contextID
	ctx = trace.WithIDs(trace.Extract(ctx, rec.Params), ids)
	if trace.On() {
		r.seen.began, r.seen.skill = time.Now(), r.agent.skillLabel(rec.Skill)
		ctx, r.seen.span = trace.Start(ctx, "invoke", trace.Internal)
		r.seen.span.Int(trace.Attempt, r.attempt)
	}
	r.scope = ctx
	return ctx, ids
}

// ids returns the ids that came with the message, or else with the first message of its task.
// Without a correlation id, the id of the task is used.
func (r *run) ids(rec *callRecord) trace.IDs {
	ids := rec.ids()
	if ids.Correlation == "" && r.msg.version != 1 {
		ids = ids.Or(r.engine.firstIDs(r.ctx, r.live))
	}
	if id := string(r.live.ref.id); ids.Correlation == "" && trace.Usable(id) {
		ids.Correlation = id
	}
	return ids
}

func (rec *callRecord) ids() trace.IDs {
	ids := trace.HeaderIDs(rec.Params)
	ids.Session = trace.MetadataIDs(rec.Metadata).Session
	return ids
}

// TraceID returns the id of the trace that a task belongs to, from its first entry; empty if it has none.
func TraceID(first *task.Entry) string {
	rec, err := decodeCall(first.Call)
	if err != nil {
		return ""
	}
	return trace.ID(rec.Params)
}

// firstIDs returns the ids that came with the first message of a task. They are informational:
// if they cannot be read, it returns none.
func (e *Engine) firstIDs(ctx context.Context, l *live) trace.IDs {
	rec, err := e.firstCall(ctx, l)
	if err != nil {
		return trace.IDs{}
	}
	return rec.ids()
}

// firstCall returns the record that was stored with the first message of a task.
func (e *Engine) firstCall(ctx context.Context, l *live) (*callRecord, error) {
	l.mu.Lock()
	events, ok := l.tail.all()
	key := l.head.Key
	l.mu.Unlock()
	var call []byte
	if ok {
		call = events[0].Call
	} else if call, ok = e.firstCalls.get(key); !ok {
		page, err := e.store.Read(ctx, key, 0)
		if err != nil {
			return nil, err
		}
		if len(page) > 0 {
			call = bytes.Clone(page[0].Call) // the page is not kept
			e.firstCalls.put(key, call)
		}
	}
	return decodeCall(call)
}

// traced returns the call record for the executor, with the trace context of the run if there
// is one.
func (r *run) traced(ctx context.Context, rec *callRecord) *callRecord {
	if !r.seen.span.On() {
		return rec
	}
	own := *rec
	own.Params = trace.Store(ctx, maps.Clone(rec.Params))
	return &own
}

// conclude ends the recording that observe has begun.
func (r *run) conclude() {
	if r.seen.began.IsZero() {
		return
	}
	took := time.Since(r.seen.began)
	l := trace.Labels{
		Agent: string(r.agent.Name), Skill: r.seen.skill, Protocol: r.agent.kind(), Outcome: r.outcome(),
	}
	switch l.Outcome {
	case outcomes[task.Failed], outcomes[task.Rejected], refusedOutcome:
		l.Reason = l.Outcome
	}
	s := r.seen.span
	if r.continues {
		s.End()
		return
	}
	trace.Invoked(r.scope, l, took)
	s.Label(l)
	s.Text(trace.Grade, trace.GradeOf(took))
	if l.Reason != "" {
		s.Fail(l.Reason)
	}
	s.End()
}

// Outcomes of runs that are not states.
const (
	refusedOutcome  = "refused"
	answeredOutcome = "answered"
	fencedOutcome   = "fenced"
)

// outcomes are the names of the states in metrics, such as "input_required".
var outcomes = func() (names [task.AuthRequired + 1]string) {
	for s := range names {
		names[s] = strings.ToLower(strings.TrimPrefix(task.State(s).String(), "TASK_STATE_"))
	}
	return names
}()

// outcome returns how the run has ended. It must be called before the end of the run cancels
// its context.
func (r *run) outcome() string {
	r.mu.Lock()
	state := r.state
	r.mu.Unlock()
	r.live.mu.Lock()
	refused, answered := r.live.refusal != nil, r.live.head.Visibility == task.Replied
	r.live.mu.Unlock()
	switch cause := context.Cause(r.ctx); {
	case refused:
		return refusedOutcome
	case answered:
		return answeredOutcome
	case state.Terminal() || state.Interrupted():
		return outcomes[state]
	case errors.Is(cause, errCanceled):
		return outcomes[task.Canceled]
	case cause != nil:
		return fencedOutcome
	}
	return outcomes[state]
}

// kind returns how the hub reaches the agent, such as "command".
func (a *Agent) kind() string {
	if k, ok := a.Executor.(interface{ Kind() string }); ok {
		return k.Kind()
	}
	return "local"
}

// skillLabel returns the label of a requested skill for metrics: a skill of the agent, or
// "other".
func (a *Agent) skillLabel(skill string) string {
	if skill == "" {
		return ""
	}
	for i := range a.Card.Skills {
		if a.Card.Skills[i].ID == skill {
			return skill
		}
	}
	return "other"
}

// Stats are operational metrics of an engine.
type Stats struct {
	// Runs is the number of tasks with a run, Queued the number of tasks that wait for one.
	Runs, Queued int
	// Oldest is when the oldest of the tasks that wait for a run began to wait; zero without one.
	Oldest time.Time
	// Streams is the number of open streams.
	Streams int
	// TailBytes is the memory in bytes for the newest entries of tasks that are followed.
	TailBytes int64
	// Unsettled is the number of tasks that wait for the store after a failed change.
	Unsettled int
}

// Stats returns the current metrics of the engine.
func (e *Engine) Stats() Stats {
	s := Stats{TailBytes: e.tailBytes.Load()}
	s.Runs, s.Queued = e.scheduler.size()
	s.Oldest = e.scheduler.oldest()
	e.quota.mu.Lock()
	s.Streams = e.quota.open
	e.quota.mu.Unlock()
	e.reconciler.mu.Lock()
	s.Unsettled = len(e.reconciler.tasks)
	e.reconciler.mu.Unlock()
	return s
}

const (
	// maxFirstCalls is the number of first calls that are cached, and maxFirstCall the largest
	// size of one in bytes.
	maxFirstCalls = 512
	maxFirstCall  = 4 << 10
)

// firstCalls caches the stored calls of the first messages of tasks with several messages, so
// that a further message does not read the beginning of the log. They never change. The zero
// firstCalls is empty.
type firstCalls struct {
	mu    sync.Mutex // guards calls
	calls map[task.Key][]byte
}

func (f *firstCalls) get(key task.Key) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call, ok := f.calls[key]
	return call, ok
}

func (f *firstCalls) put(key task.Key, call []byte) {
	if len(call) > maxFirstCall {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil || len(f.calls) >= maxFirstCalls {
		f.calls = make(map[task.Key][]byte)
	}
	f.calls[key] = call
}

// questionSpan is the trace span over the consecutive questions of a task that the hub answers.
// It ends with the process; the next process begins another one.
type questionSpan struct {
	span   trace.Span
	rounds int
}

// withQuestionSpan returns ctx for the reply to a question. It carries the trace and the ids of
// the message that the agent was processing, below the span of the questions.
func (e *Engine) withQuestionSpan(ctx context.Context, q *question.Question) context.Context {
	r := q.Run.(asker).run
	if rec := r.msg.record; trace.On() || len(rec.Params) > 0 {
		ids := r.ids(rec)
		ids.Task, ids.Context = string(q.Task), q.ContextID
		ctx = trace.WithIDs(trace.Extract(ctx, rec.Params), ids)
	}
	if !trace.On() {
		return ctx
	}
	l := r.live
	if len(q.Turns) == 0 {
		e.endQuestionSpan(l) // the caller has sent a message, which began another span
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.questionSpan == nil {
		_, span := trace.Start(ctx, "input_required_loop", trace.Internal)
		span.Label(trace.Labels{Agent: string(q.Agent), Skill: r.agent.skillLabel(q.Skill), Protocol: r.agent.kind()})
		l.questionSpan = &questionSpan{span: span}
	}
	l.questionSpan.rounds++
	return l.questionSpan.span.Below(ctx)
}

// endQuestionSpan ends the span over the questions of a task, if there is one.
func (e *Engine) endQuestionSpan(l *live) {
	l.mu.Lock()
	ended, state := l.questionSpan, l.head.State
	l.questionSpan = nil
	l.mu.Unlock()
	if ended == nil {
		return
	}
	ended.span.Int(trace.Round, ended.rounds)
	ended.span.Label(trace.Labels{Outcome: outcomes[state]})
	ended.span.End()
}
