package conversation

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/llm"
)

// turn is one message to a Conversation.
type turn struct {
	agent     *Agent
	session   *session
	x         *a2asrv.ExecutorContext
	principal *auth.Principal
	yield     func(a2a.Event, error) bool

	// wait holds the calls and the question for the caller.
	wait Reply
	// begun is set once the artifact exists, stopped when the hub accepts no more events.
	begun, stopped bool
}

// run answers the message.
func (t *turn) run(ctx context.Context) {
	pending := pendingOf(t.x.StoredTask)
	results, problem := match(pending, t.x.Message)
	if problem != "" {
		t.status(a2a.TaskStateInputRequired, question(problem, pending)...)
		return
	}
	if !t.status(a2a.TaskStateWorking) {
		return
	}
	if err := t.converse(ctx, pending, results); err != nil {
		t.agent.end(t.session)
		if ctx.Err() == nil && !t.stopped {
			t.yield(nil, err)
		}
		return
	}
	if !t.stopped {
		t.finish()
	}
}

// errNoResumer is returned if a Conversation asks for tools but cannot receive their results.
var errNoResumer = errors.New("the conversation asks for tools but does not implement Resumer")

func (t *turn) converse(ctx context.Context, pending []*llm.ClientCall, results []*llm.ClientResult) error {
	if err := t.open(ctx, pending); err != nil {
		return err
	}
	for r, err := range t.replies(ctx, results) {
		if err != nil {
			return fmt.Errorf("converse in %s: %w", t.x.ContextID, err)
		}
		if r != nil {
			t.emit(r)
		}
		if t.stopped {
			return nil
		}
	}
	if _, ok := t.session.conv.(Resumer); !ok && len(t.wait.Calls) > 0 {
		return fmt.Errorf("converse in %s: %w", t.x.ContextID, errNoResumer)
	}
	return nil
}

// open opens the Conversation unless it is open.
func (t *turn) open(ctx context.Context, pending []*llm.ClientCall) error {
	if t.session.conv != nil {
		return nil
	}
	o := &Opening{ContextID: t.x.ContextID, Principal: t.principal, Pending: pending}
	if t.x.StoredTask != nil {
		o.History = t.x.StoredTask.History
	}
	conv, err := t.agent.Open(ctx, o)
	if err == nil && conv == nil {
		err = errors.New("the opener returned no conversation")
	}
	if err != nil {
		return fmt.Errorf("open conversation %s: %w", t.x.ContextID, err)
	}
	t.session.conv = conv
	return nil
}

// replies yields the replies of the Conversation. It uses Resume, Stream or Send, the first
// that applies.
func (t *turn) replies(ctx context.Context, results []*llm.ClientResult) iter.Seq2[*Reply, error] {
	resumer, ok := t.session.conv.(Resumer)
	if ok && len(results) > 0 {
		return func(yield func(*Reply, error) bool) { yield(resumer.Resume(ctx, results)) }
	}
	if s, ok := t.session.conv.(Streamer); ok {
		return s.Stream(ctx, t.x.Message)
	}
	return func(yield func(*Reply, error) bool) { yield(t.session.conv.Send(ctx, t.x.Message)) }
}

// emit yields a piece of the reply as an event, and stores its calls and question.
func (t *turn) emit(r *Reply) {
	if len(r.Calls) > 0 {
		t.wait.Calls = r.Calls
	}
	if r.Question != "" {
		t.wait.Question = r.Question
	}
	if len(r.Parts) == 0 {
		return
	}
	ev := a2a.NewArtifactUpdateEvent(t.x, "reply", r.Parts...)
	ev.Append = t.begun
	t.begun = true
	t.stopped = !t.yield(ev, nil)
}

// finish yields the final status: input required, or completed.
func (t *turn) finish() {
	if t.wait.Question != "" || len(t.wait.Calls) > 0 {
		t.status(a2a.TaskStateInputRequired, question(t.wait.Question, t.wait.Calls)...)
		return
	}
	t.status(a2a.TaskStateCompleted)
}

func (t *turn) status(s a2a.TaskState, parts ...*a2a.Part) bool {
	t.stopped = !t.yield(agent.Status(t.x, s, parts...), nil)
	return !t.stopped
}

// question returns the parts of a message with a question and calls of tools.
func question(text string, calls []*llm.ClientCall) a2a.ContentParts {
	var parts a2a.ContentParts
	if text != "" {
		parts = append(parts, a2a.NewTextPart(text))
	}
	for _, c := range calls {
		parts = append(parts, c.Part())
	}
	return parts
}

// pendingOf returns the calls that a task waits for.
func pendingOf(t *a2a.Task) (calls []*llm.ClientCall) {
	if t == nil {
		return nil
	}
	asked := t.Status.Message
	// The status may already hold the caller's answer; the calls are in the history then.
	for i := len(t.History) - 1; asked == nil && i >= 0; i-- {
		if t.History[i].Role == a2a.MessageRoleAgent {
			asked = t.History[i]
		}
	}
	if asked == nil {
		return nil
	}
	for _, p := range asked.Parts {
		if c, ok := llm.ClientCallOf(p); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// match returns the result of each pending call. A message without results answers in words,
// which are for the Conversation. A call without a result counts as rejected if other calls
// have one.
func match(pending []*llm.ClientCall, m *a2a.Message) (results []*llm.ClientResult, problem string) {
	got := map[string]*llm.ClientResult{}
	if m != nil {
		for _, p := range m.Parts {
			if r, ok := llm.ClientResultOf(p); ok {
				got[r.ID] = r
			}
		}
	}
	if len(got) == 0 {
		return nil, ""
	}
	for _, c := range pending {
		r := got[c.ID]
		if r == nil {
			r = &llm.ClientResult{ID: c.ID, Rejected: true, Reason: "the caller did not answer"}
		}
		delete(got, c.ID)
		results = append(results, r)
	}
	for id := range got {
		return nil, fmt.Sprintf("no call %q waits for a result", id)
	}
	return results, ""
}
