package hub

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/internal/webhooks"
	"github.com/parley-a2a/parley/task"
)

// openEvents creates the recorder of events, and connects the parts that have some.
func (h *Hub) openEvents() {
	p := &h.parts
	h.events = &events.Recorder{Store: p.Store, Version: h.settings.Version, Logger: p.Logger, Stored: wake.New()}
	p.Audit.Observe(h.audited)
	if p.Bus != nil && p.Bus.Claimed == nil {
		p.Bus.Claimed = h.claimed
	}
}

// Events returns the recorder of events.
func (h *Hub) Events() *events.Recorder { return h.events }

// watchLost reports lost workers. It is called when other parts have set their Lost.
func (h *Hub) watchLost() {
	b := h.parts.Bus
	if b == nil {
		return
	}
	lost := b.Lost
	b.Lost = func(name task.Agent, worker string) {
		h.events.Note(events.Event{Type: events.WorkerLost, Agent: name, Data: map[string]any{"worker": worker}})
		if lost != nil {
			lost(name, worker)
		}
	}
}

func (h *Hub) claimed(c queue.Claim) {
	h.events.Note(events.Event{
		Type: events.WorkerClaimed, Owner: c.Owner, Task: c.Task, Context: c.Context, Agent: c.Agent, Data: map[string]any{"worker": c.Worker, "epoch": c.Epoch},
	})
}

// attempted reports a try to notify a webhook.
func (h *Hub) attempted(a webhooks.Attempt) {
	e := events.Event{
		Type: events.WebhookRetry, Owner: a.Owner, Task: a.Task, Context: a.Context,
		Data: map[string]any{"webhook": a.Webhook, "version": a.Version},
	}
	switch {
	case a.Delivered:
		e.Type = events.WebhookDelivered
	case a.Final:
		e.Type = events.WebhookFailed
	}
	if a.Reason != "" {
		e.Data["reason"] = a.Reason
	}
	h.events.Note(e)
}

// agentChanged reports a change of an agent of the directory.
func (h *Hub) agentChanged(c directory.Change) {
	e := events.Event{Type: events.AgentHealth, Agent: c.Name, Data: map[string]any{"state": c.Health.State.String()}}
	switch {
	case c.Gone:
		e.Type, e.Data = events.AgentGone, nil
	case c.Card:
		e.Type = events.AgentCard
	}
	if c.Health.Error != "" {
		e.Data["error"] = c.Health.Error
	}
	h.events.Note(e)
}

// DeadLetter reports a new dead letter.
func (h *Hub) DeadLetter(l *queue.Letter) {
	h.events.Note(events.Event{
		Type: events.DeadLetter, Owner: l.Owner, Task: a2a.TaskID(l.Task),
		Data: map[string]any{"letter": string(l.ID), "queue": l.Queue, "reason": l.Reason, "type": l.Type},
	})
}

// watchInbox reports the items of the inbox until ctx ends.
func (h *Hub) watchInbox(ctx context.Context) error {
	for {
		for it, err := range h.parts.Inbox.Watch(ctx) {
			switch {
			case errors.Is(err, inbox.ErrBehind):
				h.events.Note(events.Event{Type: events.Gap, Data: map[string]any{"reason": err.Error()}})
			case err != nil:
				return nil
			default:
				h.events.Note(itemEvent(&it))
			}
		}
	}
}

func itemEvent(it *inbox.Item) events.Event {
	e := events.Event{
		Type: events.InboxOpen, Owner: it.Owner, Task: it.Task, Agent: it.Agent,
		Data: map[string]any{"item": string(it.ID), "kind": string(it.Kind), "state": string(it.State), "text": it.Text},
	}
	if it.State != inbox.Open {
		e.Type = events.InboxSettled
		delete(e.Data, "text")
		e.Data["by"] = it.By
	}
	return e
}

// audited reports an entry of the audit log. The events of tasks are in the stream already, and
// reads of callers are no events.
func (h *Hub) audited(seq uint64, r *audit.Record) {
	switch r.Action {
	case audit.TaskSend, audit.TaskGet, audit.TaskList, audit.TaskSubscribe, audit.PartGet:
		return
	}
	if r.Outcome == audit.Asked || r.Action.Bookkeeping() {
		return
	}
	data := map[string]any{"seq": seq, "outcome": string(r.Outcome)}
	if r.Outcome == "" {
		data["outcome"] = string(audit.OK)
	}
	set := func(name, value string) {
		if value != "" {
			data[name] = value
		}
	}
	set("actor", r.Actor.ID)
	set("from", r.Actor.From)
	set("reason", r.Reason)
	for _, f := range r.Detail {
		set(f.Name, f.Value)
	}
	set("subject", strings.TrimSpace(r.Subject.Kind+" "+r.Subject.ID))
	h.events.Note(events.Event{
		Type: events.Audit + string(r.Action), Time: time.Now(), Owner: task.Owner(r.Actor.Owner),
		Agent: task.Agent(r.Subject.Agent), Task: a2a.TaskID(r.Subject.Task), Data: data,
	})
}
