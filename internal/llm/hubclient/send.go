package hubclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Send is a message to an agent.
type Send struct {
	// Key makes the call happen once: a call whose key was used joins the task of the first
	// one, whatever its message. If Key is empty, each call is new.
	Key string
	// Agent is the name of the agent in the hub. It may be empty if TaskID is set.
	Agent string
	// Skill is the requested skill, or empty.
	Skill string
	// ContextID is the conversation to continue, or empty.
	ContextID string
	// TaskID is the task to continue, which waits for its caller. If empty, a new task begins.
	TaskID a2a.TaskID
	// Parts are the content of the message, Metadata its metadata.
	Parts    []*a2a.Part
	Metadata map[string]any
	// Session is the session that receives the result: the hub stores it as a note below
	// session/{Session}/, see ResultKey. If empty, the result is not stored.
	Session string
	// Wait is how long to wait for the end of the task. Zero means until the hub has accepted
	// the task, negative until ctx ends.
	Wait time.Duration
	// Abort cancels the task if ctx ends.
	Abort bool
	// Progress is called with each status of the task. It may be nil.
	Progress func(llm.Progress)
}

const (
	// acceptTimeout limits the time until the hub has accepted a message that was sent.
	acceptTimeout = 30 * time.Second
	cancelTimeout = 15 * time.Second
)

// errWaitOver is the cause of the end of a wait that has timed out.
var errWaitOver = errors.New("the time to wait is over")

// waiting returns a context that ends after wait, unless that is zero or negative.
func waiting(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, wait, errWaitOver)
}

// Send sends a message to an agent. It waits until the task has ended or waits for its caller,
// or until s.Wait is over, and returns the current task. If ctx ends, it returns the cause; it
// cancels the task if s.Abort is set, otherwise the task continues. Send waits for an
// unreachable hub. If the hub becomes unreachable after it has accepted the message, Send
// finally returns the last known state of the task.
func (h *Hub) Send(ctx context.Context, s *Send) (*Sent, error) {
	d, err := h.delivery(ctx, s)
	if err != nil {
		return nil, err
	}
	defer d.client.Close()
	if err := d.accept(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, d.aborted(ctx)
	}
	d.begin()
	if s.Wait == 0 || d.settled() {
		return d.sent(), nil
	}
	wait, cancel := waiting(ctx, s.Wait)
	defer cancel()
	err = d.follow(wait)
	switch {
	case ctx.Err() != nil:
		return nil, d.aborted(ctx)
	case err != nil && wait.Err() == nil && !temporary(err):
		return nil, callError(err)
	case err != nil && wait.Err() == nil && h.Logger != nil:
		h.Logger.Warn("the hub was lost while a task was followed", "task", string(d.id), "error", err)
	}
	// The hub has the task, even if it is unreachable now.
	return d.sent(), nil
}

// delivery is a message being sent, and then its task.
type delivery struct {
	hub    *Hub
	client *client.Client
	send   *Send
	agent  string
	// id is the id of the task, message that of the message. Both stay the same if the call is
	// repeated. begins is set if the message begins the task.
	id      a2a.TaskID
	message string
	begins  bool
	// question is the status that the message answers.
	question *a2a.TaskStatus
	fold     client.Fold
	shown    a2a.TaskStatus // the last reported status
	// at is the position from which the task is followed. old is set while events may precede
	// the answer to the question.
	at    client.Position
	stale bool
}

// delivery prepares a message.
func (h *Hub) delivery(ctx context.Context, s *Send) (*delivery, error) {
	d := &delivery{hub: h, send: s, agent: s.Agent, id: s.TaskID, message: a2a.NewMessageID()}
	if s.Key != "" {
		d.message = derived("message", s.Key)
	}
	if d.begins = d.id == ""; d.begins {
		if d.id = a2a.NewTaskID(); s.Key != "" {
			d.id = a2a.TaskID(derived("task", s.Key))
		}
	}
	if d.agent == "" {
		info, err := h.taskInfo(ctx, d.id)
		if err != nil {
			return nil, err
		}
		d.agent = info.Agent
	}
	var err error
	d.client, err = h.client(d.agent)
	return d, err
}

// derived returns an id that depends only on its arguments.
func derived(what, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "parley tool %s %q", what, key))
	id, _ := uuid.FromBytes(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8: vendor specific
	return id.String()
}

// accept sends the message until the hub has accepted it, exactly once. It does not end with
// ctx: the hub answers at once, and an aborted call must know the task to cancel.
func (d *delivery) accept(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), acceptTimeout+d.hub.patience(), errors.New("the hub does not answer"))
	defer cancel()
	defer d.hub.keys.lock(d.send.Key)()
	look := d.send.Key != "" || !d.begins
	return d.hub.retry(ctx, func() (again bool, err error) {
		if look {
			accepted, err := d.accepted(ctx)
			if accepted || err != nil {
				return temporary(err), callError(err)
			}
		}
		res, err := d.post(ctx)
		if err == nil {
			d.fold.Apply(res.(a2a.Event))
			return false, nil
		}
		look = look || !errors.Is(err, client.ErrUnreachable) // the hub may have received it
		return temporary(err), callError(err)
	})
}

// accepted reports whether the hub has the message of an earlier try, or of an earlier call with
// the key.
func (d *delivery) accepted(ctx context.Context) (bool, error) {
	t, err := d.client.Get(ctx, &a2a.GetTaskRequest{ID: d.id})
	switch {
	case d.begins && errors.Is(err, a2a.ErrTaskNotFound):
		return false, nil
	case err != nil:
		return false, err
	case d.begins:
		d.fold.Apply(t)
		return true, nil
	}
	for _, m := range t.History {
		if m != nil && m.ID == d.message {
			d.fold.Apply(t)
			return true, nil
		}
	}
	if d.question == nil && client.Interrupted(t.Status.State) {
		d.question = &t.Status
	}
	return false, nil
}

// post sends the message and does not wait for its result.
func (d *delivery) post(ctx context.Context) (a2a.SendMessageResult, error) {
	m := &a2a.Message{
		ID: d.message, Role: a2a.MessageRoleUser, Parts: d.send.Parts, ContextID: d.send.ContextID, TaskID: d.id,
		Metadata: map[string]any{},
	}
	for k, v := range d.send.Metadata {
		m.Metadata[k] = v
	}
	if d.send.Skill != "" {
		m.Metadata["skill"] = d.send.Skill
	}
	req := &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true}}
	if d.send.Session != "" {
		req.Metadata = map[string]any{"sessionId": d.send.Session}
	}
	res, err := d.client.Send(ctx, req)
	if d.begins && errors.Is(err, a2a.ErrTaskNotFound) {
		// The hub does not accept ids of clients.
		m.TaskID = ""
		if res, err = d.client.Send(ctx, req); err != nil && peer.Passing(err) && !errors.Is(err, client.ErrUnreachable) {
			return nil, Refusef("the hub was lost while it took the message, and it is unknown whether the agent got it; look at list_tasks before you send it again")
		}
		if t, ok := res.(*a2a.Task); ok {
			d.id = t.ID
		}
	}
	return res, err
}

// created is the id of the first event of a hub's task.
const created = "1"

// begin selects the position from which to follow the task. If every status is to be reported,
// that is its beginning, because the task may have changed since the hub's answer.
func (d *delivery) begin() {
	if d.send.Progress == nil || d.send.Wait == 0 || d.fold.Task == nil || !d.begins && d.question == nil {
		return
	}
	d.at.EventID = created
	d.rewind()
	if d.begins {
		d.progress() // SUBMITTED precedes the first event
	}
}

// rewind resets the state of a task that is read from its beginning.
func (d *delivery) rewind() {
	if d.at.EventID != created {
		return
	}
	t := *d.fold.Task
	t.Status, t.Artifacts = a2a.TaskStatus{State: a2a.TaskStateSubmitted}, nil
	d.fold, d.stale = client.Fold{Task: &t}, d.question != nil
}

// follow follows the task until it is settled. It waits for an unreachable hub.
func (d *delivery) follow(ctx context.Context) error {
	for {
		received := false
		err := d.hub.retry(ctx, func() (bool, error) {
			err := d.watch(ctx, &received)
			return !received && err != nil && peer.Passing(err) && ctx.Err() == nil, err
		})
		if d.settled() || err != nil && !(received && peer.Passing(err)) || ctx.Err() != nil {
			return err
		}
	}
}

// watch follows the task until the stream breaks, and sets news if it received an event.
func (d *delivery) watch(ctx context.Context, received *bool) error {
	d.at.Task = d.id
	d.rewind()
	for event, err := range d.client.Follow(ctx, d.at) {
		if err != nil {
			if cut := (*client.Cut)(nil); errors.As(err, &cut) {
				d.at = cut.Position
			}
			return err
		}
		*received = true
		d.fold.Apply(event)
		if d.beforeAnswer(event) {
			continue
		}
		d.progress()
		if d.settled() {
			return nil
		}
	}
	if d.settled() {
		return nil
	}
	return client.ErrCut
}

// beforeAnswer reports whether an event precedes the answer to the question.
func (d *delivery) beforeAnswer(event a2a.Event) bool {
	was := d.stale
	if _, whole := event.(*a2a.Task); whole {
		d.stale, was = false, false // a whole task is the current one
	}
	d.stale = d.stale && !same(d.question, &d.fold.Task.Status)
	return was
}

// settled reports whether the task has ended, or waits for its caller with a question other
// than the answered one.
func (d *delivery) settled() bool {
	t := d.fold.Task
	if t == nil {
		return d.fold.Message != nil
	}
	return t.Status.State.Terminal() || client.Interrupted(t.Status.State) && !same(d.question, &t.Status)
}

// same reports whether two statuses are equal.
func same(a, b *a2a.TaskStatus) bool {
	if a == nil || a.State != b.State || (a.Message == nil) != (b.Message == nil) || (a.Timestamp == nil) != (b.Timestamp == nil) {
		return false
	}
	return (a.Message == nil || a.Message.ID == b.Message.ID) && (a.Timestamp == nil || a.Timestamp.Equal(*b.Timestamp))
}

func (d *delivery) progress() {
	t := d.fold.Task
	if t == nil || d.send.Progress == nil || same(&d.shown, &t.Status) || same(d.question, &t.Status) {
		return
	}
	d.shown = t.Status
	p := llm.Progress{Agent: d.agent, State: string(t.Status.State)}
	if m := t.Status.Message; m != nil {
		p.Text = Text(m.Parts)
	}
	d.send.Progress(p)
}

// aborted cancels the task of an aborted call if Abort is set, and returns the cause.
func (d *delivery) aborted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !d.send.Abort || d.fold.Message != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if _, err := d.client.Cancel(ctx, &a2a.CancelTaskRequest{ID: d.id}); err != nil && !errors.Is(err, a2a.ErrTaskNotCancelable) {
		return fmt.Errorf("%w; its task %s continues, because it could not be canceled: %w", cause, d.id, err)
	}
	return cause
}

func (d *delivery) sent() *Sent {
	return &Sent{Agent: d.agent, Task: d.fold.Task, Message: d.fold.Message, fold: &d.fold}
}
