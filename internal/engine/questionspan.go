package engine

import (
	"context"

	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

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
