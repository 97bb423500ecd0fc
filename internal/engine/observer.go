package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Observer is notified of messages, of the output of agents, and of the ends of tasks, once
// they are durable. A function that is nil is not called. The others are called concurrently
// and must return at once. The zero Observer is notified of nothing.
type Observer struct {
	// Admitted is called with each caller that is not anonymous when one of its messages has
	// become durable, in a new or an existing task. It is not called for messages that agents
	// send on behalf of callers, nor for repetitions of a message with a key.
	Admitted func(p *auth.Principal)
	// Output is called with the output of runs of agents whose kind is one of Kinds, such
	// as "remote" or "queue", in the order of each run. It must not change it.
	Output func(o *Output)
	Kinds  []string
	// Ended is called when a task has ended in this process, with the task's lock held, and
	// before the callers that follow the task are notified. The Observer owns the Outcome.
	Ended func(o *Outcome)
	// Wants selects the messages and artifacts of agents that are part of the Outcome; it
	// must not keep them otherwise. If nil, none is.
	Wants func(body []byte) bool
}

// Output is a part of the output of one run.
type Output struct {
	Agent task.Agent
	Owner task.Owner
	Task  a2a.TaskID
	// Correlation is the caller's id for the work, or the id of the task.
	Correlation string
	// Entries are statuses and artifacts.
	Entries []task.Entry
}

// Outcome is how a task has ended.
type Outcome struct {
	Agent task.Agent
	// Skill is the last skill that a message of the task has asked for; it may be empty.
	Skill string
	State task.State
	// Took is the time from the creation of the task to its end.
	Took time.Duration
	// Bodies are the messages and artifacts that Observer.Wants has selected.
	Bodies [][]byte
}

// notifyAdmitted notifies the observer of a message that has become durable.
func (e *Engine) notifyAdmitted(c *op.Caller) {
	if f := e.cfg.Observer.Admitted; f != nil && !c.Principal.Anonymous() {
		f(c.Principal)
	}
}

// notifyOutput notifies the observer of output that has become durable.
func (r *run) notifyOutput(entries []task.Entry) {
	o := &r.engine.cfg.Observer
	if o.Output == nil || len(entries) == 0 || !slices.Contains(o.Kinds, r.agent.kind()) {
		return
	}
	correlation := string(r.live.ref.id)
	if rec, err := decodeCall(r.msg.call); err == nil {
		correlation = cmp.Or(r.ids(rec).Correlation, correlation)
	}
	o.Output(&Output{
		Agent: r.agent.Name, Owner: r.live.ref.owner, Task: r.live.ref.id, Correlation: correlation, Entries: entries,
	})
}

// maxWanted limits the output of a task that is kept for an Observer, in bytes.
const maxWanted = 64 << 10

// notifyEnded notifies the observer of a change that ends its task, before it is published.
func (e *Engine) notifyEnded(l *live, c *task.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := l.loaded && l.head.State.Terminal()
	for i := range c.Entries {
		if !ended {
			e.wantLocked(l, &c.Entries[i])
		}
	}
	if ended || !c.Next.State.Terminal() {
		return
	}
	e.cfg.Observer.Ended(&Outcome{
		Agent: c.Next.Agent, Skill: l.skill, State: c.Next.State,
		Took: c.Next.StatusAt.Time().Sub(c.Next.CreatedAt.Time()), Bodies: l.wanted,
	})
	l.wanted = nil
}

// wantLocked keeps an entry that the observer wants.
func (e *Engine) wantLocked(l *live, en *task.Entry) {
	wants, output := e.cfg.Observer.Wants, en.Kind == task.Artifact || en.Kind == task.Status
	if wants != nil && output && l.wantedBytes+len(en.Body) <= maxWanted && wants(en.Body) {
		l.wanted, l.wantedBytes = append(l.wanted, en.Body), l.wantedBytes+len(en.Body)
	}
}

// recall collects the Outcome of the task of r: the skill that its message asks for and, if the
// task was not in memory before, its earlier entries.
func (r *run) recall(skill string) error {
	l, e := r.live, r.engine
	l.mu.Lock()
	fresh := r.msg.version > 1 && !l.recalled
	l.recalled = true
	l.mu.Unlock()
	if fresh {
		h := l.snapshot()
		for after := int64(0); after < h.Version; {
			page, err := e.store.Read(r.ctx, h.Key, after)
			if err != nil || len(page) == 0 {
				return err
			}
			if err := e.recallPage(l, page); err != nil {
				return err
			}
			after = page[len(page)-1].Version
		}
	}
	if skill != "" {
		l.mu.Lock()
		l.skill = skill
		l.mu.Unlock()
	}
	return nil
}

// recallPage collects the stored entries that the observer wants.
func (e *Engine) recallPage(l *live, page []task.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range page {
		en := &page[i]
		e.wantLocked(l, en)
		if len(en.Call) == 0 {
			continue
		}
		rec, err := decodeCall(en.Call)
		if err != nil {
			return err
		}
		if rec.Skill != "" {
			l.skill = rec.Skill
		}
	}
	return nil
}
