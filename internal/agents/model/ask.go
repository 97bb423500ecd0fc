package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// The number of tries of a choice, and the pauses between them.
const (
	tries     = 3
	firstWait = time.Second
	// maxWait is the longest wait that a provider may demand. If it demands more, the next
	// choice is asked.
	maxWait = time.Minute
)

// ask asks the model for its next message, and adds it to the transcript.
func (s *session) ask(ctx context.Context) error {
	var problems []string
	for i := range s.agent.Choices {
		c := &s.agent.Choices[i]
		t, err := s.tryChoice(ctx, c)
		if err == nil {
			return s.finish(ctx, t)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := cmp.Or(c.Name, c.Model, "the model")
		problems = append(problems, name+": "+publicText(err))
		s.agent.logger().WarnContext(ctx, "model does not answer", "choice", name, "task", s.ec.TaskID, "error", err)
	}
	if len(problems) == 0 {
		return endedf("the agent has no model")
	}
	return endedf("no model answered: %s", strings.Join(problems, "; "))
}

func (s *session) tryChoice(ctx context.Context, c *Choice) (*turn, error) {
	r := s.request(c)
	wait := firstWait
	for try := 1; ; try++ {
		t, err := s.listen(ctx, c, r)
		switch {
		case err == nil || ctx.Err() != nil:
			return t, err
		case final(err) || try == tries || s.gone:
			return nil, err
		}
		pause := max(retryAfter(err), wait/2+rand.N(wait))
		if pause > maxWait {
			return nil, fmt.Errorf("%w; it asks callers to wait %v", err, pause.Round(time.Second))
		}
		s.agent.logger().DebugContext(ctx, "retrying model", "task", s.ec.TaskID, "in", pause, "error", err)
		if err := backoff.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

func (s *session) request(c *Choice) *llm.Request {
	parts := []guard.Text{guard.Operator(strings.TrimSpace(s.agent.SystemPrompt)), s.frame}
	if (len(s.tools.list) > 0 || !s.frame.IsEmpty() || s.t.labelled()) && s.agent.Screening != ScreenOff {
		parts = append(parts, guard.Words(guard.Notice))
	}
	return &llm.Request{
		Model: c.Model, Tools: s.tools.list, MaxTokens: s.agent.MaxTokens, Temperature: s.agent.Temperature,
		Messages: fit(guard.Join("\n\n", slices.DeleteFunc(parts, guard.Text.IsEmpty)...), s.t.items, s.tools.size, s.budget.Context),
	}
}

// listen reads one message of the model, and yields its text as it arrives.
func (s *session) listen(ctx context.Context, c *Choice, r *llm.Request) (*turn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := publicError("it was silent for %v", s.budget.Stall)
	watch := time.AfterFunc(s.budget.Stall, func() { cancel(stalled) })
	defer watch.Stop()
	s.out = output{sealed: s.out.sealed}
	var g gathering
	for d, err := range c.Provider.Complete(ctx, r) {
		if err != nil {
			if errors.Is(context.Cause(ctx), error(stalled)) {
				return nil, stalled
			}
			return nil, err
		}
		watch.Reset(s.budget.Stall)
		if err := g.add(d); err != nil {
			return nil, err
		}
		if d.Text != "" {
			s.out.add(s, d.Text)
		}
		if s.gone {
			return nil, context.Canceled
		}
	}
	if errors.Is(context.Cause(ctx), error(stalled)) {
		return nil, stalled
	}
	return g.turn(cmp.Or(c.Name, c.Model))
}

// finish adds a message of the model to the transcript. It becomes durable together with the
// end of its text.
func (s *session) finish(ctx context.Context, t *turn) error {
	if err := s.note(ctx, &record{Turn: t}); err != nil {
		return err
	}
	s.out.end(s, len(t.Keys) == 0 && !(s.awaits() && len(s.t.pending()) > 0) && len(s.t.opens()) == 0, t.Parts)
	labels := trace.Labels{Agent: string(s.name()), Protocol: t.Choice}
	trace.Count(ctx, trace.ModelInput, labels, int(t.Usage.Input))
	trace.Count(ctx, trace.ModelOutput, labels, int(t.Usage.Output))
	return nil
}

// Limits of one message of a model.
const (
	maxAnswer = 4 << 20 // bytes
	maxCalls  = 128
)

// gathering assembles the pieces of a message.
type gathering struct {
	text   strings.Builder
	calls  []*gathered
	t      turn
	size   int
	finish string
}

type gathered struct {
	index     int
	id, name  string
	arguments strings.Builder
}

func (g *gathering) add(d *llm.Delta) error {
	g.text.WriteString(d.Text)
	g.size += len(d.Text)
	for i := range d.Calls {
		c := &d.Calls[i]
		g.size += len(c.Arguments) + len(c.Name)
		at := slices.IndexFunc(g.calls, func(have *gathered) bool { return have.index == c.Index })
		if at < 0 {
			g.calls = append(g.calls, &gathered{index: c.Index})
			at = len(g.calls) - 1
		}
		have := g.calls[at]
		have.id, have.name = cmp.Or(have.id, c.ID), cmp.Or(have.name, c.Name)
		have.arguments.WriteString(c.Arguments)
	}
	g.t.Parts = append(g.t.Parts, d.Parts...)
	if d.Usage != nil {
		g.t.Usage = *d.Usage
	}
	g.finish = cmp.Or(d.Finish, g.finish)
	switch {
	case g.size > maxAnswer:
		return publicError("the answer is longer than %d bytes", maxAnswer)
	case len(g.calls) > maxCalls:
		return publicError("the model requested more than %d calls in one turn", maxCalls)
	}
	return nil
}

// turn returns the whole message, or an error if it is invalid.
func (g *gathering) turn(choice string) (*turn, error) {
	switch {
	case g.finish == "":
		return nil, errCut
	case g.finish == llm.FinishFilter:
		return nil, errFilter
	case g.text.Len() == 0 && len(g.calls) == 0 && len(g.t.Parts) == 0:
		return nil, errNothing
	}
	t := &g.t
	t.Choice, t.Finish = choice, g.finish
	t.Message = llm.ChatMessage{Role: "assistant"}
	if g.text.Len() > 0 {
		t.Message.Content = llm.ChatText(g.text.String())
	}
	life, seen := uuid.NewString(), make(map[string]bool)
	for i, c := range g.calls {
		if c.id == "" || seen[c.id] {
			c.id = fmt.Sprintf("call_%s_%d", life[:8], i)
		}
		seen[c.id] = true
		t.Message.ToolCalls = append(t.Message.ToolCalls, llm.ChatToolCall{
			ID: c.id, Type: "function",
			Function: llm.ChatFunction{Name: toolName(c.name), Arguments: c.arguments.String()},
		})
		t.Keys = append(t.Keys, fmt.Sprintf("%s/%d", life, i))
	}
	return t, nil
}

// maxToolName is the largest length of a tool's name.
const maxToolName = 64

// toolName replaces the characters of a name that providers reject.
func toolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name[:min(len(name), maxToolName)])
	return cmp.Or(name, "_")
}
