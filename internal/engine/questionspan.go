package engine

import (
	"context"

	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// loop is the trace span over the consecutive questions of a task that the hub answers. It ends
// with the process; the next process begins another one.
type loop struct {
	span   trace.Span
	rounds int
}

// inLoop returns ctx for the reply to a question. It carries the trace and the ids of the
// message that the agent was processing, below the span of the loop.
func (e *Engine) inLoop(ctx context.Context, q *Question) context.Context {
	r := q.run
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
		e.endLoop(l) // the caller has sent a message, which began another loop
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loop == nil {
		_, span := trace.Start(ctx, "input_required_loop", trace.Internal)
		span.Label(trace.Labels{Agent: string(q.Agent), Skill: r.agent.skillLabel(q.Skill), Protocol: r.agent.kind()})
		l.loop = &loop{span: span}
	}
	l.loop.rounds++
	return l.loop.span.Below(ctx)
}

// endLoop ends the span over the questions of a task, if there is one.
func (e *Engine) endLoop(l *live) {
	l.mu.Lock()
	ended, state := l.loop, l.head.State
	l.loop = nil
	l.mu.Unlock()
	if ended == nil {
		return
	}
	ended.span.Int(trace.Round, ended.rounds)
	ended.span.Label(trace.Labels{Outcome: outcomes[state]})
	ended.span.End()
}
