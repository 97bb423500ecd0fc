package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/task"
)

// session is one execution.
type session struct {
	agent  *Agent
	budget Budget
	ec     *a2asrv.ExecutorContext
	call   *agent.Call // nil outside a hub
	yield  func(a2a.Event, error) bool
	// gone is set once the hub accepts no more events.
	gone bool

	t *transcript
	// all holds the tools of the task, tools those that the model may call now.
	all, tools *tools
	// frame is the part of the instructions that depends on the message.
	frame guard.Text
	out   output
	// fresh marks the calls of this execution whose results are awaited.
	fresh map[string]bool
	// loops are the spans over the questions of agents that the model answers.
	loops map[a2a.TaskID]*loopSpan
	// shownCalls is set if this execution has reported a call.
	shownCalls bool
}

// ended is an error with a text for the caller of the task.
type ended struct{ reason string }

func (e *ended) Error() string { return e.reason }

func endedf(format string, args ...any) error { return &ended{fmt.Sprintf(format, args...)} }

// run works on the task until it has ended, waits for its caller, or ctx ends.
func (s *session) run(ctx context.Context) {
	err := s.work(ctx)
	var end *ended
	var no *refused
	switch {
	case errors.As(err, &no):
		s.status(a2a.TaskStateRejected, no.reason)
	case err == nil || s.gone || ctx.Err() != nil:
	case errors.Is(err, errLeft):
	case errors.As(err, &end):
		ev := agent.Status(s.ec, a2a.TaskStateFailed, a2a.NewTextPart(end.reason))
		s.account(ev.Status.Message)
		s.emit(ev, nil)
	default:
		s.emit(nil, err)
	}
}

// errLeft means that the hub drains, and that the next process continues.
var errLeft = errors.New("left for the next process")

func (s *session) work(ctx context.Context) (err error) {
	if s.t, err = load(ctx); err != nil {
		return err
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	ctx, cancel := s.inTime(ctx)
	defer cancel()
	defer s.endLoops()
	if s.all, err = s.agent.toolsFor(ctx, &Scope{s.name(), s.ec.ContextID}); err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	s.tools = s.all
	s.frame = frame(ctx, s.call, s.tools)
	if err := s.withdraw(ctx); err != nil {
		return fmt.Errorf("withdraw questions: %w", err)
	}
	for !s.gone {
		done, err := s.step(ctx)
		if err != nil && ctx.Err() != nil {
			if cause := context.Cause(ctx); errors.As(cause, new(*ended)) {
				return cause
			}
		}
		if done || err != nil {
			return err
		}
	}
	return nil
}

// inTime limits the time for a message of the caller.
func (s *session) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.budget.Time <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, s.t.since.Add(s.budget.Time), endedf("the agent took longer than %v", s.budget.Time))
}

// step performs the next step. done is set after the last one.
func (s *session) step(ctx context.Context) (done bool, err error) {
	if s.tools = s.all; s.t.answering() {
		var rest []llm.Tool
		for _, tool := range s.all.list {
			if !anyMatches(callers, tool.Name) {
				rest = append(rest, tool)
			}
		}
		s.tools = newTools(rest, nil)
	}
	if open := s.t.open(); len(open) > 0 {
		if err := s.perform(ctx, open); err != nil {
			return false, err
		}
		if c := s.t.waiting(); c != nil {
			reason := "agent_delegate:input_required"
			if c.asked.Auth {
				reason = "agent_delegate:auth_required"
			}
			ev := agent.Status(s.ec, a2a.TaskStateInputRequired, a2a.NewTextPart(c.asked.Question))
			ev.Metadata = map[string]any{"reason": reason, "tool_call_id": c.ID, "tool_name": c.Function.Name, "task_id": string(c.asked.Task)}
			s.emit(ev, nil)
			return true, nil
		}
		return false, nil
	}
	last := s.t.last()
	if last != nil && len(last.calls) == 0 && s.agent.Gate != nil {
		if done, err := s.surface(ctx, last.turn); done || err != nil {
			return true, err
		}
	}
	if calls := s.t.pending(); len(calls) > 0 && s.awaits() && (s.t.arriving() || last != nil && len(last.calls) == 0) {
		return false, s.await(ctx, calls)
	}
	if last != nil && len(last.calls) == 0 {
		return true, s.complete(last.turn)
	}
	if err := s.allowed(); err != nil {
		return false, err
	}
	return false, s.ask(ctx)
}

// allowed returns an error if the model may not be asked again.
func (s *session) allowed() error {
	b, used := &s.budget, s.t.usage.Input+s.t.usage.Output
	switch {
	case s.t.rounds >= b.Rounds:
		return endedf("the model did not reach an answer in %d rounds", b.Rounds)
	case s.t.alike() > mostSame:
		return endedf("the model makes the same call again and again")
	case s.t.calls > b.Calls:
		return endedf("the model requested more than %d tool calls", b.Calls)
	case b.Tokens > 0 && used >= b.Tokens:
		return endedf("the task has used %d tokens, and may use %d", used, b.Tokens)
	}
	return nil
}

// key returns the key of the message that the execution is for.
func (s *session) key() string {
	if s.call == nil {
		return string(s.ec.TaskID)
	}
	return s.call.Key
}

// name returns the name of the agent; empty outside a hub.
func (s *session) name() task.Agent {
	if s.call == nil {
		return ""
	}
	return s.call.Agent
}

// take adds the caller's message to the transcript, unless an earlier execution has: as the
// answer to a waiting question, or otherwise as a message to the model.
func (s *session) take(ctx context.Context) error {
	if s.t.taken[s.key()] {
		return nil
	}
	if c := s.t.waiting(); c != nil {
		return s.note(ctx, &record{Answered: &answered{Key: c.key, By: s.key(), Parts: s.ec.Message.Parts}})
	}
	msgs, err := s.opening(ctx)
	if err != nil {
		return err
	}
	if err := s.note(ctx, &record{Said: &statusAndText{Key: s.key(), At: time.Now().UTC(), Messages: msgs}}); err != nil {
		return err
	}
	if s.ec.StoredTask == nil || s.ec.StoredTask.Status.State != a2a.TaskStateWorking {
		s.status(a2a.TaskStateWorking, "")
	}
	return nil
}

// opening returns the messages to the model for a message of the caller, with the earlier
// conversation if it is the first one.
func (s *session) opening(ctx context.Context) ([]llm.ChatMessage, error) {
	user, err := s.asked(s.ec.Message.Parts)
	if err != nil {
		return nil, err
	}
	own := llm.ChatMessage{Role: "user", Content: user}
	if len(s.t.items) > 0 {
		return []llm.ChatMessage{own}, nil
	}
	before, err := s.before(ctx)
	if err != nil {
		return nil, err
	}
	return append(before, own), nil
}

// complete ends the task with the model's last message.
func (s *session) complete(t *turn) error {
	text := cmp.Or(t.Message.Content.Text(), t.Message.Refusal)
	if strings.Trim(text, " .\n") == noAnswer && !s.frame.IsEmpty() {
		s.status(a2a.TaskStateRejected, "the model has no answer to this")
		return nil
	}
	if err := s.out.whole(s, text, t.Parts); err != nil {
		return err
	}
	parts := append(a2a.ContentParts{}, t.Parts...)
	if text != "" {
		parts = append(a2a.ContentParts{a2a.NewTextPart(text)}, parts...)
	}
	m := a2a.NewMessage(a2a.MessageRoleAgent, parts...)
	s.account(m)
	ev := a2a.NewStatusUpdateEvent(s.ec, a2a.TaskStateCompleted, m)
	if t.Finish == llm.FinishLength {
		ev.Metadata = map[string]any{"finish_reason": llm.FinishLength}
	}
	s.emit(ev, nil)
	return nil
}

// status yields a status with a text; without a message if the text is empty.
func (s *session) status(state a2a.TaskState, text string) {
	var parts []*a2a.Part
	if text != "" {
		parts = append(parts, a2a.NewTextPart(text))
	}
	s.emit(agent.Status(s.ec, state, parts...), nil)
}

// emit yields an event or an error.
func (s *session) emit(ev a2a.Event, err error) {
	if !s.gone && !s.yield(ev, err) {
		s.gone = true
	}
}
