package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Limits of what a caller may choose.
const (
	maxTaskID    = 128
	maxContextID = 256
)

// admitted is a message that is durable in its task.
type admitted struct {
	live *live
	// version is the version of the message.
	version int64
	// joined is set if the message was there before.
	joined bool
	// repeated is set if it was admitted before.
	repeated bool
}

// admit makes a message durable, in a new task or in an existing one, and starts
// the run if there is room. The caller releases the task.
func (e *Engine) admit(ctx context.Context, c *op.Caller, r *op.Send, wait bool) (*admitted, error) {
	if e.phase.Load() == draining {
		return nil, &apierror.Error{Err: apierror.ErrUnavailable, Message: "the hub is shutting down", RetryAfter: 5 * time.Second}
	}
	if e.doubts.full() {
		return nil, &apierror.Error{Err: apierror.ErrUnavailable, Message: "the hub cannot store this now", RetryAfter: 5 * time.Second}
	}
	if r.Push != nil && !e.Pushes() {
		return nil, errNoPush()
	}
	if err := checkIDs(&r.Message); err != nil {
		return nil, err
	}
	parent, err := e.adopt(ctx, c, r)
	if err != nil {
		return nil, err
	}
	if err := e.readErrand(c, r); err != nil {
		return nil, err
	}
	if err := e.checkAddresses(ctx, c, r); err != nil {
		return nil, err
	}
	ad, err := e.admitKeyed(ctx, c, r, wait)
	if err == nil && parent != nil {
		parent.adopted(ad, c)
	}
	if f := e.cfg.Contact; err == nil && f != nil && r.Lineage == nil && !ad.repeated && !c.Principal.Anonymous() {
		f(c.Principal)
	}
	return ad, err
}

// admitKeyed admits a message at most once, if it has a key.
func (e *Engine) admitKeyed(ctx context.Context, c *op.Caller, r *op.Send, wait bool) (*admitted, error) {
	key, err := e.keyOf(r)
	if err != nil {
		return nil, err
	}
	if key != "" {
		return e.admitOnce(ctx, c, r, key)
	}
	return e.admitMessage(ctx, c, r, wait)
}

// admitMessage admits a message that has passed the checks.
func (e *Engine) admitMessage(ctx context.Context, c *op.Caller, r *op.Send, wait bool) (*admitted, error) {
	if r.Message.TaskID == "" {
		if r.Resume && r.Message.ContextID != "" {
			return e.resume(ctx, c, r, wait)
		}
		return e.create(c, r, wait)
	}
	if r.Once {
		return e.once(ctx, c, r, wait)
	}
	ad, err := e.followUp(ctx, c, r)
	if errors.Is(err, a2a.ErrTaskNotFound) && r.NewIDs {
		ad, err = e.create(c, r, wait)
		if errors.Is(err, task.ErrExists) {
			// Somebody of the same owner made it in between, or it is not for callers.
			return e.followUp(ctx, c, r)
		}
	}
	return ad, err
}

// checkIDs checks the ids that the caller chose.
func checkIDs(m *op.Message) error {
	if err := checkID("message.taskId", string(m.TaskID), maxTaskID); err != nil {
		return err
	}
	return checkID("message.contextId", m.ContextID, maxContextID)
}

func checkID(field, id string, limit int) error {
	if len(id) > limit {
		return apierror.Field(a2a.ErrInvalidParams, field, "longer than %d bytes", limit)
	}
	if strings.ContainsFunc(id, unicode.IsControl) {
		return apierror.Field(a2a.ErrInvalidParams, field, "contains a control character")
	}
	return nil
}

// create makes a task of a first message.
func (e *Engine) create(c *op.Caller, r *op.Send, wait bool) (*admitted, error) {
	a, err := e.resolve(c, r)
	if err != nil {
		return nil, err
	}
	if err := a.extensions.accept(c); err != nil {
		return nil, err
	}
	if err := e.accepts(a, r); err != nil {
		return nil, err
	}
	if err := e.admitErrand(a.Name, r); err != nil {
		return nil, err
	}
	h := task.Head{
		ID: r.Message.TaskID, ContextID: r.Message.ContextID, Owner: c.Principal.Owner(), Agent: a.Name,
		Dialect: r.Dialect,
	}
	if h.ID == "" {
		h.ID = a2a.NewTaskID()
	}
	if h.ContextID == "" {
		h.ContextID = a2a.NewContextID()
	}
	r.Mark = e.markOf(c, r, a.Name)
	if wait && !r.Task && r.Mark == nil && !a.traits().NoMessage && r.Message.TaskID == "" {
		h.Shown = task.Quiet
	}
	added, err := e.busy.take(ref{h.Owner, h.ID})
	if err != nil {
		return nil, err
	}
	ad, err := e.passGate(a, h, c, r)
	if err != nil && added {
		e.busy.note(ref{h.Owner, h.ID}, false)
	}
	return ad, err
}

// passGate is admitNew for what the gate lets pass.
func (e *Engine) passGate(a *Agent, h task.Head, c *op.Caller, r *op.Send) (*admitted, error) {
	if e.cfg.Gate == nil {
		return e.admitNew(a, h, c, r)
	}
	undo, err := e.cfg.Gate.Admit(a.Name, r)
	if err != nil {
		return nil, err
	}
	ad, err := e.admitNew(a, h, c, r)
	if err != nil {
		undo()
	}
	return ad, err
}

// admitNew makes the first change of a task: created, and claimed if there is room.
func (e *Engine) admitNew(a *Agent, h task.Head, c *op.Caller, r *op.Send) (*admitted, error) {
	hook, err := e.inline(r, a.Name)
	if err != nil {
		return nil, err
	}
	rec := recordOf(c, r)
	call, err := rec.encode()
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	ln := laneOf(a, &h)
	entered := !e.IsPaused(a.Name) && e.line.tryEnter(ln)
	if !entered && e.line.length()+e.pauses.length() >= e.cfg.MaxQueued {
		return nil, &apierror.Error{Err: apierror.ErrExhausted, Message: "too many tasks wait for a run", RetryAfter: 5 * time.Second}
	}
	deed := Deed{Action: audit.TaskSend, Task: h.ID, Agent: a.Name, Hook: hook != nil, Child: r.Lineage != nil}
	written, err := e.doing(c, deed)
	if err != nil {
		if entered {
			e.launchAll(e.line.leave(ln))
		}
		return nil, err
	}
	l := e.live.add(e.newLive(ref{h.Owner, h.ID}))
	en := task.Entry{Kind: task.Created, State: task.Submitted, At: now(), Call: call}
	kept := int64(0)
	var ahead *run
	err = e.change(l, func(ch *task.Change) error {
		if ch.Prev.Rev != 0 {
			return task.ErrExists // somebody chose the same id at the same time
		}
		l.contextID, l.wraps = h.ContextID, r.Wrap // not read before the task is loaded
		en.Body = l.withIDs(bodyOf(r))
		var err error
		if ch.Next, en, err = task.Apply(h, en); err != nil {
			return err
		}
		ch.Entries, ch.Request, ch.Alias, ch.Lineage = []task.Entry{en}, r.Request, e.aliasOf(r), r.Lineage
		ch.Mark = r.Mark
		l.keepBearer(&kept, en.Version, c.Bearer)
		if entered {
			e.claim(&ch.Next, 1, 1)
		} else {
			ch.Next.Shown = task.ToCaller
			e.queue(&ch.Next)
		}
		if err := e.attach(ch, hook); err != nil {
			return err
		}
		if entered && ahead == nil && mayBeEarly(a, r) {
			ahead = &run{live: l, agent: a, lane: ln, msg: inbound{en.Version, en.Body, en.Call, rec}}
			e.startEarly(ahead, &ch.Next)
		}
		return nil
	})
	if ahead != nil {
		ahead.known(err)
	}
	if err != nil {
		e.undone(c, deed, err)
		e.live.release(l)
		if entered && ahead == nil {
			e.launchAll(e.line.leave(ln))
		}
		return nil, err
	}
	unwritten := assured(written)
	switch {
	case ahead != nil: // it has begun
	case entered:
		e.live.retain(l)
		e.start(l, a, inbound{en.Version, en.Body, en.Call, rec}, ln)
	default:
		e.live.retain(l)
		e.launchAll(e.line.wait(seat{live: l, lane: ln}))
	}
	if unwritten != nil {
		e.live.release(l)
		return nil, unwritten
	}
	return &admitted{live: l, version: en.Version}, nil
}

// followUp adds a message to a task.
func (e *Engine) followUp(ctx context.Context, c *op.Caller, r *op.Send) (*admitted, error) {
	l, err := e.find(ctx, c, &r.Target, sought{r.Message.TaskID, needOf(r)})
	if err != nil {
		return nil, err
	}
	ad, err := e.say(l, c, r)
	if err != nil {
		e.live.release(l)
	}
	return ad, err
}

// say makes a further message durable, and claims a run for it if none is open.
func (e *Engine) say(l *live, c *op.Caller, r *op.Send) (*admitted, error) {
	if id := r.Message.ContextID; id != "" && id != l.contextID {
		return nil, apierror.Field(a2a.ErrInvalidParams, "message.contextId", "the task belongs to another context")
	}
	a := e.agent(l.performer())
	if a == nil {
		return nil, apierror.New(a2a.ErrUnsupportedOperation, goneAgent)
	}
	if err := e.accepts(a, r); err != nil {
		return nil, err
	}
	hook, err := e.inline(r, a.Name)
	if err != nil {
		return nil, err
	}
	rec := recordOf(c, r)
	call, err := rec.encode()
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	h := l.snapshot()
	if idle(&h) {
		if _, err := e.busy.take(l.ref); err != nil {
			return nil, err
		}
	}
	ln := laneOf(a, &h)
	entered := idle(&h) && !e.IsPaused(a.Name) && e.line.tryEnter(ln)
	en := task.Entry{Kind: task.Message, At: now(), Body: l.withIDs(bodyOf(r)), Call: call}
	r.Mark = e.markOf(c, r, a.Name)
	deed := Deed{Action: audit.TaskSend, Task: l.ref.id, Agent: a.Name, Hook: hook != nil, Child: r.Lineage != nil}
	written, err := e.doing(c, deed)
	if err != nil {
		e.leaveUnsaid(l, entered, ln)
		return nil, err
	}
	claimed, waits, kept := false, false, int64(0)
	err = e.change(l, func(ch *task.Change) error {
		claimed, waits = false, false
		if r.Answers != 0 && !answerable(&ch.Prev, r.Answers) {
			return ErrAnswered
		}
		ch.Request, ch.Alias, ch.Mark = r.Request, e.aliasOf(r), r.Mark
		if err := e.attach(ch, hook); err != nil {
			return err
		}
		if err := e.sayChange(ch, en, entered, &claimed, &waits); err != nil {
			return err
		}
		l.keepBearer(&kept, ch.Entries[0].Version, c.Bearer)
		return nil
	})
	if err != nil {
		l.dropBearer(kept)
		e.undone(c, deed, err)
		e.leaveUnsaid(l, entered, ln)
		return nil, err
	}
	if entered && !claimed {
		e.launchAll(e.line.leave(ln))
	}
	unwritten := assured(written)
	version := l.snapshot().Asked
	switch {
	case claimed:
		e.live.retain(l)
		e.start(l, a, inbound{version, en.Body, call, rec}, ln)
	case waits:
		e.live.retain(l)
		e.launchAll(e.line.wait(seat{live: l, lane: ln}))
	}
	if unwritten != nil {
		return nil, unwritten
	}
	return &admitted{live: l, version: version}, nil
}

// leaveUnsaid gives back what a message has taken that is not stored.
func (e *Engine) leaveUnsaid(l *live, entered bool, ln lane) {
	if entered {
		e.launchAll(e.line.leave(ln))
	}
	h := l.snapshot()
	e.busy.note(l.ref, e.atWork(&h))
}

// idle reports whether a task waits for its caller, or for who answers in its place,
// without a run.
func idle(h *task.Head) bool {
	return h.State.Interrupted() && h.Run.Dispatch == task.Idle || h.Run.Dispatch == task.Asking
}

// sayChange fills in the change that a further message makes.
func (e *Engine) sayChange(ch *task.Change, en task.Entry, entered bool, claimed, waits *bool) error {
	if ch.Prev.State.Terminal() {
		return apierror.New(a2a.ErrUnsupportedOperation, "the task has ended (%s); it takes no further messages", ch.Prev.State.Word())
	}
	if ch.Prev.Asked-ch.Prev.Read >= int64(e.cfg.MaxWaiting) {
		return &apierror.Error{Err: apierror.ErrExhausted, Message: "too many messages of this task wait to be read", RetryAfter: time.Second}
	}
	var err error
	if ch.Next, en, err = task.Apply(ch.Next, en); err != nil {
		return err
	}
	ch.Entries = []task.Entry{en}
	if ch.Prev.Run.Dispatch == task.Asking {
		ch.Next.Run.Attempt = 0
	}
	switch {
	case !idle(&ch.Prev) || ch.Prev.Waiting():
	case entered:
		*claimed = true
		e.claim(&ch.Next, en.Version, 1)
	default:
		*waits = true
		e.queue(&ch.Next)
	}
	return nil
}

// find holds the caller's task, if the call may see it, and do what it needs.
func (e *Engine) find(ctx context.Context, c *op.Caller, t *op.Target, s sought) (*live, error) {
	scope, err := e.scope(c, t, s.need)
	if err != nil {
		return nil, err
	}
	k := ref{c.Principal.Owner(), s.id}
	l, err := e.seen(ctx, k, scope)
	if t.Aliases && errors.Is(err, task.ErrNotFound) {
		l, err = e.byAlias(ctx, k, scope)
	}
	if err != nil {
		return nil, notFound(err)
	}
	if err := e.permitTask(c, s.need, l); err != nil {
		e.live.release(l)
		return nil, notFound(err)
	}
	if err := e.acceptExtensions(l.snapshot().Agent, c); err != nil {
		e.live.release(l)
		return nil, err
	}
	return l, nil
}

// seen holds a task of an agent that its caller may see. An empty agent stands for all.
func (e *Engine) seen(ctx context.Context, k ref, agent task.Agent) (*live, error) {
	l, err := e.open(ctx, k)
	if err != nil {
		return nil, err
	}
	if h := l.snapshot(); h.Shown != task.ToCaller || h.Version == 0 || agent != "" && h.Agent != agent {
		e.live.release(l)
		return nil, task.ErrNotFound
	}
	return l, nil
}

// notFound turns a store's "not found" into the protocol's.
func notFound(err error) error {
	if errors.Is(err, task.ErrNotFound) {
		return apierror.New(a2a.ErrTaskNotFound, "Task not found")
	}
	return err
}

func partField(i int) string { return "message.parts[" + strconv.Itoa(i) + "]" }
