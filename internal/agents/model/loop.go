package model

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/task"
)

// loopSpan is the trace span over the questions of one task that the model answers. It ends with
// the execution; the next one begins another one. A nil loopSpan records nothing.
type loopSpan struct {
	span  trace.Span
	agent task.Agent
	// rounds counts the answers.
	rounds int
}

// answers counts an answer to a question, and returns the span of its task, which it starts if
// necessary.
func (s *session) answers(ctx context.Context, q *Question) *loopSpan {
	trace.Count(ctx, trace.InputRequiredRounds, trace.Labels{Agent: string(q.Agent)}, 1)
	if !trace.On() {
		return nil
	}
	l := s.loops[q.Task]
	if l == nil {
		l = &loopSpan{agent: q.Agent}
		_, l.span = trace.Start(ctx, "input_required_loop", trace.Internal)
		l.span.Label(trace.Labels{Agent: string(q.Agent)})
		if s.loops == nil {
			s.loops = make(map[a2a.TaskID]*loopSpan)
		}
		s.loops[q.Task] = l
	}
	l.rounds++
	return l
}

// round starts the span of the last answer. The caller must end it.
func (l *loopSpan) round(ctx context.Context) (context.Context, trace.Span) {
	if l == nil {
		return ctx, trace.Span{}
	}
	ctx, span := trace.Start(l.span.Below(ctx), "input_required_round", trace.Internal)
	span.Label(trace.Labels{Agent: string(l.agent)})
	span.Int(trace.Round, l.rounds)
	return ctx, span
}

// endLoop ends the span over the questions of a task, if there is one.
func (s *session) endLoop(id a2a.TaskID, outcome string) {
	l := s.loops[id]
	if l == nil {
		return
	}
	delete(s.loops, id)
	l.span.Int(trace.Round, l.rounds)
	l.span.Label(trace.Labels{Outcome: outcome})
	l.span.End()
}

// endLoops ends the spans over the questions of all tasks.
func (s *session) endLoops() {
	for id := range s.loops {
		s.endLoop(id, "")
	}
}
