package engine

import (
	"time"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Chooser chooses among agents. It is called concurrently and must not wait.
type Chooser interface {
	// Choose returns the one of at least two agents that gets a message for a skill.
	// What is none of them means the first one. The list is the Chooser's own.
	Choose(skill string, among []task.Agent) task.Agent
}

// Gate may refuse messages that would begin a task. It is called concurrently and must
// not wait.
type Gate interface {
	// Admit returns why the message is refused, which is for the caller; or else what
	// takes its passing back, if no task comes of it.
	Admit(agent task.Agent, r *op.Send) (undo func(), err error)
}

// Observer hears how tasks end.
type Observer interface {
	// Wants reports whether a message or an artifact of an agent is to be part of the
	// Outcome. It is called for each of them, and must not keep it otherwise.
	Wants(body []byte) bool
	// Ended is called when a task has ended in this process, with the task's lock held:
	// it must return at once. What the Outcome points to is the Observer's own.
	Ended(o *Outcome)
}

// Outcome is how a task has ended.
type Outcome struct {
	Agent task.Agent
	// Skill is the last one that a message of the task has asked for; it may be empty.
	Skill string
	State task.State
	// Took is the time from the making of the task to its end.
	Took time.Duration
	// Bodies are what the Observer wanted of what the agent has said.
	Bodies [][]byte
}

// maxWanted bounds what is kept of a task for an Observer, in bytes.
const maxWanted = 64 << 10

// observe tells the observer of a change that is durable, before it is published.
func (e *Engine) observe(l *live, c *task.Change) {
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

// wantLocked keeps what the observer wants of an entry.
func (e *Engine) wantLocked(l *live, en *task.Entry) {
	said := en.Kind == task.Artifact || en.Kind == task.Status
	if said && l.wantedBytes+len(en.Body) <= maxWanted && e.cfg.Observer.Wants(en.Body) {
		l.wanted, l.wantedBytes = append(l.wanted, en.Body), l.wantedBytes+len(en.Body)
	}
}

// recall notes what the observer will want to know of the task of r: the skill that its
// message asks for, and, if the task was not in memory before, what came earlier.
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

// recallPage takes over what the observer wants of entries that were stored before.
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
