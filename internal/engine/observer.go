package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/task"
)

// Observer is notified of changes once they are durable. It is called concurrently and must
// return at once. It keeps none of its arguments except where stated.
type Observer interface {
	// Admitted is called with each caller that is not anonymous when one of its messages has
	// become durable, in a new or an existing task. It is not called for messages that agents
	// send on behalf of callers, nor for repetitions of a message with a key.
	Admitted(p *auth.Principal)
	// Changed is called after each change of a task or of its webhooks, in order, with the
	// task's lock held; and with the output of runs that Interest.Output selects, in the order
	// of each run.
	Changed(c Change)
	// Ended is called when a task has ended in this process, with the task's lock held, and
	// before the callers that follow the task are notified, if Interest.Ends is set. The
	// Observer owns the Outcome.
	Ended(o *Outcome)
}

// Interest selects the notifications of an Observer for which the engine collects data. The zero
// Interest selects none.
type Interest struct {
	// Ends is set if Observer.Ended is called.
	Ends bool
	// Bodies selects the messages and artifacts of agents that are part of an Outcome; it must
	// not keep them otherwise. If nil, none is.
	Bodies func(body []byte) bool
	// Output are the kinds of agents whose output is reported, such as "remote" or "queue".
	Output []string
}

// Change is a durable change of a task or of a webhook, or output of a run.
type Change struct {
	// Head is the task after the change. It is nil for a webhook that was deleted, and for
	// output.
	Head *task.Head
	// Moved is set if the task has a new revision.
	Moved bool
	// Requested is set if a record request was stored.
	Requested bool
	// Webhook is the webhook that was stored or deleted; zero if there is none.
	Webhook task.HookRef
	// Hook is the stored webhook; nil if it was deleted.
	Hook *task.Hook
	// Output is output of a run; it must not be changed. If it is set, all other fields are zero.
	Output *Output
}

// Observers notifies several observers, in their order. The nil value notifies none.
type Observers []Observer

var _ Observer = Observers(nil)

// Admitted implements Observer.
func (all Observers) Admitted(p *auth.Principal) {
	for _, o := range all {
		o.Admitted(p)
	}
}

// Changed implements Observer.
func (all Observers) Changed(c Change) {
	for _, o := range all {
		o.Changed(c)
	}
}

// Ended implements Observer.
func (all Observers) Ended(o *Outcome) {
	for _, each := range all {
		each.Ended(o)
	}
}

// ObserverFuncs is an Observer of functions. Those that are nil are not called.
type ObserverFuncs struct {
	OnAdmitted func(p *auth.Principal)
	OnChanged  func(c Change)
	OnEnded    func(o *Outcome)
}

var _ Observer = ObserverFuncs{}

// Admitted implements Observer.
func (f ObserverFuncs) Admitted(p *auth.Principal) {
	if f.OnAdmitted != nil {
		f.OnAdmitted(p)
	}
}

// Changed implements Observer.
func (f ObserverFuncs) Changed(c Change) {
	if f.OnChanged != nil {
		f.OnChanged(c)
	}
}

// Ended implements Observer.
func (f ObserverFuncs) Ended(o *Outcome) {
	if f.OnEnded != nil {
		f.OnEnded(o)
	}
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
	// ByHub is set if not the agent has ended the task but the hub itself, or a person: an operator
	// failed it, its run was interrupted, or its question got no answer.
	ByHub bool
	// Took is the time from the creation of the task to its end, without the time in which the
	// task waited for a person or its caller (INPUT_REQUIRED and AUTH_REQUIRED).
	Took time.Duration
	// Bodies are the messages and artifacts that Interest.Bodies has selected.
	Bodies [][]byte
}

// notifyOutput notifies the observer of output that has become durable.
func (r *run) notifyOutput(entries []task.Entry) {
	c := &r.engine.cfg
	if len(entries) == 0 || !slices.Contains(c.Interest.Output, r.agent.kind()) {
		return
	}
	correlation := string(r.live.ref.id)
	if rec, err := decodeCall(r.msg.call); err == nil {
		correlation = cmp.Or(r.ids(rec).Correlation, correlation)
	}
	c.Observer.Changed(Change{Output: &Output{
		Agent: r.agent.Name, Owner: r.live.ref.owner, Task: r.live.ref.id, Correlation: correlation, Entries: entries,
	}})
}

// maxWanted limits the output of a task that is kept for an Observer, in bytes.
const maxWanted = 64 << 10

// notifyEnded notifies the observer of a change that ends its task, before it is published. The
// caller holds l.write.
func (e *Engine) notifyEnded(l *live, c *task.Change) {
	o, ended, earlier := e.endingOf(l, c)
	if !ended {
		return
	}
	if earlier > 0 { // not with the lock of readers held
		if err := e.recall(l.ref, c.Next.Key, earlier, o); err != nil {
			e.cfg.Logger.Warn("the earlier output of a task is missing in its outcome", "task", l.ref.id, "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.cfg.Observer.Ended(o)
}

// endingOf collects the data of a change for the observer. If the change ends the task it returns
// the Outcome, and the version up to which earlier entries were not seen by this process.
func (e *Engine) endingOf(l *live, c *task.Change) (o *Outcome, ended bool, earlier int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.loaded && l.head.State.Terminal()
	if was {
		return nil, false, 0
	}
	for i := range c.Entries {
		e.wantLocked(l, &c.Entries[i])
		l.waited.see(&c.Entries[i])
	}
	if !c.Next.State.Terminal() {
		return nil, false, 0
	}
	if l.ran {
		earlier = l.loadedAt
	}
	o = &Outcome{
		Agent: c.Next.Agent, Skill: l.skill, State: c.Next.State,
		Took: c.Next.StatusAt.Time().Sub(c.Next.CreatedAt.Time()) - l.waited.total, Bodies: l.wanted,
	}
	if n := len(c.Entries); n > 0 && c.Entries[n-1].Kind == task.Status {
		o.ByHub = c.Entries[n-1].Epoch == 0
	}
	l.wanted = nil
	return o, true, earlier
}

// waited sums the time in which a task waits for a person or its caller, by its entries.
type waited struct {
	total time.Duration
	since task.Millis // zero while the task does not wait
}

func (p *waited) see(en *task.Entry) {
	if en.Kind == task.Artifact {
		return
	}
	if p.since != 0 {
		p.total += en.At.Time().Sub(p.since.Time())
	}
	p.since = 0
	if en.Kind == task.Status && en.State.Interrupted() {
		p.since = en.At
	}
}

// wantLocked keeps an entry that the observer wants.
func (e *Engine) wantLocked(l *live, en *task.Entry) {
	wants, output := e.cfg.Interest.Bodies, en.Kind == task.Artifact || en.Kind == task.Status
	if wants != nil && output && l.wantedBytes+len(en.Body) <= maxWanted && wants(en.Body) {
		l.wanted, l.wantedBytes = append(l.wanted, en.Body), l.wantedBytes+len(en.Body)
	}
}

// ranWith records that a message was run, and the skill that it asks for.
func (l *live) ranWith(skill string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ran = true
	if skill != "" {
		l.skill = skill
	}
}

// recall adds the entries of a task up to a version to its Outcome, before those that it has.
// They are read once, at the end of the task, and not for each of its messages.
func (e *Engine) recall(k ref, key task.Key, last int64, o *Outcome) error {
	past, skill := &live{ref: k}, ""
	for after := int64(0); after < last; {
		page, err := e.store.Read(e.ctx, key, after)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			en := &page[i]
			if en.Version > last {
				break
			}
			e.wantLocked(past, en)
			past.waited.see(en)
			if len(en.Call) == 0 {
				continue
			}
			rec, err := decodeCall(en.Call)
			if err != nil {
				return err
			}
			skill = cmp.Or(rec.Skill, skill)
		}
		after = page[len(page)-1].Version
	}
	o.Skill = cmp.Or(o.Skill, skill)
	o.Took -= past.waited.total
	for _, body := range o.Bodies {
		if past.wantedBytes += len(body); past.wantedBytes <= maxWanted {
			past.wanted = append(past.wanted, body)
		}
	}
	o.Bodies = past.wanted
	return nil
}

// noted holds the data for the Outcome of a task.
type noted struct {
	// skill is the skill that the last message read by a run asked for. wanted holds the
	// entries for the Observer, wantedBytes their total size.
	skill       string
	wanted      [][]byte
	wantedBytes int
	// waited is the time since loadedAt in which the task waited for a person.
	waited waited
	// loadedAt is the version at which the task was loaded; zero for one that was created in
	// this process. ran is set once a message was run since.
	loadedAt int64
	ran      bool
}
