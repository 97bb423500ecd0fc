package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// admission admits one message to the log. The steps of admit run in order, and each step
// stores the results that later steps need in it. It belongs to one goroutine.
type admission struct {
	engine *Engine
	caller *op.Caller
	send   *op.Send // its target is never changed: see keepSkill
	// wait is set if the caller waits for the outcome, streams if it follows the task as a
	// stream, delegated if an agent sends the message with agent.Call.Delegate.
	wait, streams, delegated bool
	// answers is the version of the question that the hub itself answers with the message; zero
	// if the message is a caller's.
	answers int64
	// lineage and delegation are nil unless the message is work on behalf of another task.
	lineage    *task.Lineage
	delegation *delegation.Context
	// body is the message without the names that are reserved for the hub and its agents.
	body []byte

	// agents are the agents with the skill of the message, any of which may perform a new task;
	// nil if the message names an agent. choice is the selected one: see choose.
	agents []*Agent
	choice *Agent
	// request is nil for a message without a key.
	request *task.Request

	// live is the task of the message, and agent the agent that performs it. The admission
	// holds a reference to the task until it is admitted.
	live  *live
	agent *Agent
	slot  slot
	// hook, record and recordRequest are stored with the message; entry is the message as stored.
	hook          *task.Hook
	record        *callRecord
	recordRequest []byte
	entry         task.Entry
	// bearer is the version under which the caller's token is kept.
	bearer int64
	// claimed is set if the message has claimed a run, waits if it waits for one.
	claimed, waits bool
	// ahead is the run that was started before the task is stored; nil if there is none. answer are
	// its events that are stored with the message.
	ahead  *run
	answer []task.Entry
}

// admitted is a message that is durable in its task.
type admitted struct {
	live *live
	// version is the version of the message.
	version int64
	// joined is set if the message has joined a task that has it already (op.Send.Once).
	joined bool
	// repeated is set if the message was admitted before.
	repeated bool
}

// admit makes a message durable in a new or an existing task, and starts the run if a place is
// free. The caller releases the task.
func (a *admission) admit(ctx context.Context) (*admitted, error) {
	defer a.drop()
	if err := a.check(); err != nil {
		return nil, err
	}
	a.body = bodyOf(a.send.Message.Body, a.delegated)
	parent, err := a.adopt(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.readDelegation(); err != nil {
		return nil, err
	}
	if err := a.checkAddresses(ctx); err != nil {
		return nil, err
	}
	ad, err := a.admitKeyed(ctx)
	if err != nil {
		return nil, err
	}
	if parent != nil {
		parent.adopted(ad, a.caller)
	}
	if a.lineage == nil && !ad.repeated && !a.caller.Principal.Anonymous() {
		a.engine.cfg.Observer.Admitted(a.caller.Principal)
	}
	return ad, nil
}

// check refuses messages that the hub accepts from no caller.
func (a *admission) check() error {
	switch {
	case a.engine.phase.Load() == draining:
		return &apierror.Error{Err: apierror.ErrUnavailable, Message: "the hub is shutting down", RetryAfter: 5 * time.Second}
	case a.engine.reconciler.size.Load() >= maxUncertainBytes:
		return &apierror.Error{Err: apierror.ErrUnavailable, Message: "the hub cannot store this now", RetryAfter: 5 * time.Second}
	case a.send.Push != nil && !a.engine.Pushes():
		return errNoPush()
	}
	if err := checkID("message.taskId", string(a.send.Message.TaskID), maxTaskID); err != nil {
		return err
	}
	return checkID("message.contextId", a.send.Message.ContextID, maxContextID)
}

// admitKeyed admits a message at most once, if it has a key.
func (a *admission) admitKeyed(ctx context.Context) (*admitted, error) {
	key, err := a.engine.keyOf(a.send)
	if err != nil {
		return nil, err
	}
	if key != "" {
		return a.admitOnce(ctx, key)
	}
	return a.admitToTask(ctx)
}

// admitToTask admits the message to the task that it names or continues, otherwise to a new task.
func (a *admission) admitToTask(ctx context.Context) (*admitted, error) {
	m := &a.send.Message
	switch {
	case m.TaskID == "" && a.send.Resume && m.ContextID != "":
		return a.resume(ctx)
	case m.TaskID == "":
		return a.create()
	case a.send.Once:
		return a.once(ctx)
	}
	ad, err := a.followUp(ctx, m.TaskID)
	if errors.Is(err, a2a.ErrTaskNotFound) && a.send.NewIDs {
		ad, err = a.create()
		if errors.Is(err, task.ErrExists) {
			// Another call of the same owner created the task in between, or callers may not
			// see it.
			return a.followUp(ctx, m.TaskID)
		}
	}
	return ad, err
}

// create creates a task with the message.
func (a *admission) create() (*admitted, error) {
	if err := a.accept(); err != nil {
		return nil, err
	}
	h := a.newHead()
	a.slot = slot{engine: a.engine, ref: ref{h.Owner, h.ID}, key: queueKeyOf(a.agent, &h)}
	defer a.slot.release()
	if err := a.slot.count(); err != nil {
		return nil, err
	}
	if err := a.slot.callGate(a.agent.Name, a.send); err != nil {
		return nil, err
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	if a.mayReplyBare() {
		h.Visibility = task.Hidden
	}
	if !a.slot.reserveRun(a.agent.Name) && a.engine.full() {
		return nil, &apierror.Error{Err: apierror.ErrExhausted, Message: "too many tasks wait for a run", RetryAfter: 5 * time.Second}
	}
	a.claimed, a.waits = a.slot.reserved, !a.slot.reserved
	a.live = a.engine.live.add(a.engine.newLive(a.slot.ref))
	a.entry.At = a.engine.scheduler.stamp(a.slot.key, a.entry.At)
	if err := a.store(func(ch *task.Change) error { return a.first(ch, &h) }); err != nil {
		a.drop()
		return nil, err
	}
	a.slot.keep()
	return a.admitted(), nil
}

// followUp adds the message to the task with the given id.
func (a *admission) followUp(ctx context.Context, id a2a.TaskID) (*admitted, error) {
	if err := a.hold(ctx, id, a.send.Aliases); err != nil {
		return nil, err
	}
	if err := a.appendMessage(); err != nil {
		a.drop()
		return nil, err
	}
	return a.admitted(), nil
}

// appendMessage makes a further message of a.live durable. It claims a run for the message if
// the task has no open run.
func (a *admission) appendMessage() error {
	if id := a.send.Message.ContextID; id != "" && id != a.live.contextID {
		return apierror.Field(a2a.ErrInvalidParams, "message.contextId", "the task belongs to another context")
	}
	if a.agent = a.engine.agent(a.live.performer()); a.agent == nil {
		return apierror.New(a2a.ErrUnsupportedOperation, goneAgent)
	}
	if err := a.engine.checkModes(a.agent, a.send); err != nil {
		return err
	}
	h := a.live.snapshot()
	if err := a.keepSkill(&h); err != nil {
		return err
	}
	if err := a.prepare(); err != nil {
		return err
	}
	a.slot = slot{engine: a.engine, live: a.live, ref: a.live.ref, key: queueKeyOf(a.agent, &h)}
	defer a.slot.release()
	if idle(&h) {
		if err := a.slot.count(); err != nil {
			return err
		}
		a.slot.reserveRun(a.agent.Name)
	}
	a.entry.At = a.engine.scheduler.stamp(a.slot.key, a.entry.At)
	if err := a.store(a.next); err != nil {
		return err
	}
	a.slot.keep()
	return nil
}

// keepSkill completes a message that names no skill with that of the caller's message before it:
// the answer to a question is for the skill that asks.
func (a *admission) keepSkill(h *task.Head) error {
	if a.send.Message.Skill != "" || len(a.agent.skills) == 0 && !a.agent.ListedSkills {
		return nil
	}
	page, err := a.engine.store.Read(a.engine.ctx, h.Key, h.LastMessage-1)
	if err != nil || len(page) == 0 {
		return err
	}
	rec, err := decodeCall(page[0].Call)
	if err != nil || rec.Skill == "" {
		return err
	}
	own := *a.send
	own.Message.Skill = rec.Skill
	a.send = &own
	return nil
}

// hold finds the task with the given id, unless the admission holds one already.
func (a *admission) hold(ctx context.Context, id a2a.TaskID, aliases bool) (err error) {
	if a.live == nil {
		t := a.send.Target
		t.Aliases = aliases
		a.live, err = a.engine.find(ctx, a.caller, &t, lookup{id, a.need()})
	}
	return err
}

// drop releases the task that the admission holds.
func (a *admission) drop() {
	if a.live != nil {
		a.engine.live.release(a.live)
		a.live = nil
	}
}

// admitted returns the admitted message and passes the reference to the task to the caller.
func (a *admission) admitted() *admitted {
	ad := &admitted{live: a.live, version: a.entry.Version}
	a.live = nil
	return ad
}

// accept checks the message against the agent of the new task.
func (a *admission) accept() (err error) {
	if a.agent, err = a.choose(); err != nil {
		return err
	}
	if err := a.agent.extensions.accept(a.caller); err != nil {
		return err
	}
	if err := a.engine.checkModes(a.agent, a.send); err != nil {
		return err
	}
	if a.delegation == nil {
		return nil
	}
	return a.delegation.Admit(a.engine.self(a.agent.Name), time.Now())
}

// newHead returns the head of the task that the message creates.
func (a *admission) newHead() task.Head {
	h := task.Head{
		ID: a.send.Message.TaskID, ContextID: a.send.Message.ContextID, Owner: a.caller.Principal.Owner(),
		Agent: a.agent.Name, Dialect: a.send.Dialect,
	}
	if h.ID == "" {
		h.ID = a2a.NewTaskID()
	}
	if h.ContextID == "" {
		h.ContextID = a2a.NewContextID()
	}
	return h
}

// mayReplyBare reports whether the agent may answer with a bare message in place of the task.
func (a *admission) mayReplyBare() bool {
	return a.wait && !a.send.Task && a.recordRequest == nil && !a.agent.traits().NoMessage && a.send.Message.TaskID == ""
}

// prepare creates the records that are stored with the message.
func (a *admission) prepare() (err error) {
	if a.hook, err = a.engine.inline(a.caller, a.send, a.agent.Name); err != nil {
		return err
	}
	a.record = recordOf(a.caller, a.send, a.delegation)
	call, err := a.record.encode()
	if err != nil {
		return fmt.Errorf("encode call: %w", err)
	}
	// An earlier attempt to store the message may have set these.
	a.entry, a.bearer, a.ahead, a.answer = task.Entry{At: now(), Call: call}, 0, nil, nil
	a.recordRequest = a.engine.recordRequest(a.caller, a.send, a.agent.Name)
	return nil
}

// store writes the message to the audit log and to the log of its task at the same time, and
// starts its run. If the audit log fails after the task was stored, the run is started
// nevertheless.
func (a *admission) store(f step) error {
	e := a.engine
	event := AuditEvent{Action: audit.TaskSend, Task: a.slot.ref.id, Agent: a.agent.Name, Hook: a.hook != nil, Child: a.lineage != nil}
	written, err := e.beginAudit(a.caller, event)
	if err != nil {
		return err
	}
	if err = a.change(f); err != nil {
		if a.slot.live != nil {
			a.live.dropBearer(a.bearer)
		}
		e.abortAudit(a.caller, event, err)
		return err
	}
	err = awaitAudit(written)
	a.start()
	return err
}

// first is the change that creates the task with the message.
func (a *admission) first(ch *task.Change, h *task.Head) error {
	if ch.Prev.Rev != 0 {
		return task.ErrExists // another call chose the same id at the same time
	}
	a.live.contextID, a.live.wraps = h.ContextID, a.send.Wrap // not read before the task is loaded
	ch.Next, ch.Sidecars[task.SidecarLineage] = *h, a.lineage.Encode()
	a.entry.Kind, a.entry.State = task.Created, task.Submitted
	if err := a.apply(ch); err != nil {
		return err
	}
	if a.claimed {
		a.engine.claim(&ch.Next, 1, 1)
	} else {
		ch.Next.Visibility = task.Visible
		a.engine.queue(&ch.Next)
	}
	if err := a.engine.attach(ch, a.hook); err != nil {
		return err
	}
	a.answer = nil // an earlier attempt of this change may have set it
	if a.claimed && a.ahead == nil {
		a.startAhead(ch)
	}
	return nil
}

// next is the change that adds the message to a task.
func (a *admission) next(ch *task.Change) error {
	if a.answers != 0 && !answerable(&ch.Prev, a.answers) {
		return question.ErrAnswered
	}
	if err := a.engine.attach(ch, a.hook); err != nil {
		return err
	}
	if ch.Prev.State.Terminal() {
		return apierror.New(a2a.ErrUnsupportedOperation, "the task has ended (%s) and accepts no more messages", ch.Prev.State.Word())
	}
	if a.live.unread() >= a.engine.cfg.MaxWaiting {
		return &apierror.Error{Err: apierror.ErrExhausted, Message: "too many messages of this task wait to be read", RetryAfter: time.Second}
	}
	a.entry.Kind = task.Message
	if err := a.apply(ch); err != nil {
		return err
	}
	if ch.Prev.Run.Dispatch == task.Asking {
		ch.Next.Run.Attempt = 0
	}
	free := idle(&ch.Prev) && !ch.Prev.Waiting()
	a.claimed, a.waits = free && a.slot.reserved, free && !a.slot.reserved
	switch {
	case a.claimed:
		a.engine.claim(&ch.Next, a.entry.Version, 1)
	case a.waits:
		a.engine.queue(&ch.Next)
	}
	return nil
}

// apply adds the message and the rows stored beside it to a change.
func (a *admission) apply(ch *task.Change) (err error) {
	a.entry.Body = a.live.withIDs(a.body)
	if ch.Next, a.entry, err = task.Apply(ch.Next, a.entry); err != nil {
		return err
	}
	ch.Entries, ch.Request, ch.Alias = []task.Entry{a.entry}, a.request, a.alias()
	ch.Sidecars[task.SidecarRecordRequest] = a.recordRequest
	a.live.keepBearer(&a.bearer, a.entry.Version, a.caller.Bearer)
	return nil
}

// start passes the message's place to its run, or queues its task for one.
func (a *admission) start() {
	e, l := a.engine, a.live
	switch {
	case a.ahead != nil: // the run has started
	case a.claimed:
		e.live.retain(l)
		e.start(l, a.agent, a.inbound(), &ticket{key: a.slot.handOver()})
	case a.waits:
		e.enqueueAs(ticket{live: l, key: a.slot.key})
	}
}

// inbound returns the message for its run.
func (a *admission) inbound() inbound {
	return inbound{a.entry.Version, a.entry.At, a.entry.Body, a.entry.Call, a.record}
}

// idle reports whether a task has no run because it waits for its caller, or for an answer in
// place of the caller's.
func idle(h *task.Head) bool {
	return h.State.Interrupted() && h.Run.Dispatch == task.Idle || h.Run.Dispatch == task.Asking
}
