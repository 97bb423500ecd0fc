package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// Awaiter waits for tasks that tools have dispatched. Its method may be called concurrently.
type Awaiter interface {
	// Await waits until a task has ended or waits for its caller, and returns its state. ctx
	// carries the principal of the task whose model has dispatched it, like that of tools. If
	// ctx ends first, Await returns its cause. An empty state means that the task does not
	// exist; after any other error Await is called again.
	Await(ctx context.Context, w *Wait) (a2a.TaskState, error)
}

// Wait is a task to wait for.
type Wait struct {
	Task a2a.TaskID
	// Anew also reports the statuses before the wait.
	Anew bool
	// Progress is called with each status of the task. Calls do not overlap.
	Progress func(llm.Progress)
}

const (
	// holdTime is how long a tool waits for a result that it may return directly. A later
	// result is awaited when the model has no other calls.
	holdTime = 5 * time.Second
	// glanceTime is the shortest wait for a task, if its deadline passed while no process
	// waited, for example after a crash.
	glanceTime = 2 * time.Second
	// readNote is the tool that reads the note of a result.
	readNote = "get_from_working_memory"
)

// pending describes the work of an agent that a call has dispatched.
type pending struct {
	Agent string     `json:"agent"`
	Task  a2a.TaskID `json:"task"`
	// Note is the key of working memory that will hold the result.
	Note string `json:"note"`
	// Begun is set if the call has started the task.
	Begun bool `json:"begun,omitempty"`
	// Until is the end of the wait.
	Until time.Time `json:"until"`
}

// arrived is the notice to the model that dispatched work has ended.
type arrived struct {
	// Key is the key of the call.
	Key  string     `json:"key"`
	Text guard.Text `json:"text"`
	// Asks is set if the agent waits for an answer of the model.
	Asks bool `json:"asks,omitempty"`
	// Open is the question of the agent, if a person must decide about it.
	Open *open `json:"open,omitempty"`
}

func (s *session) awaits() bool { return s.agent.Awaiter != nil && s.tools.byName[readNote] != nil }

// dispatch returns the rules for results that tools return directly; nil if tools wait for
// agents.
func (s *session) dispatch() *llm.Dispatch {
	if !s.awaits() {
		return nil
	}
	return &llm.Dispatch{Inline: s.agent.Inline, Hold: holdTime}
}

// dispatched adds the dispatched work, if any, to the outcome of a call.
func (s *session) dispatched(o outcome, p *llm.Pending) outcome {
	if p != nil && s.awaits() {
		o.record.Result.Pending = &pending{Agent: p.Agent, Task: p.TaskID, Note: p.Key, Begun: p.Begun, Until: time.Now().UTC().Add(p.Wait)}
	}
	return o
}

// await waits for all dispatched work, and adds a notice for each end.
func (s *session) await(ctx context.Context, calls []*call) error {
	var jobs []job
	for _, c := range calls {
		anew := s.fresh[c.key]
		delete(s.fresh, c.key)
		jobs = append(jobs, func(w *work) outcome { return s.awaitOne(w, c, anew) })
	}
	var names []string
	for _, c := range calls {
		if name := c.result.Pending.Agent; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s.status(a2a.TaskStateWorking, "waiting for "+strings.Join(names, ", "))
	if err := agent.CallFrom(ctx).Flush(ctx); err != nil {
		return err
	}
	return s.collect(ctx, jobs)
}

func (s *session) awaitOne(w *work, c *call, anew bool) outcome {
	ctx, until, p := w.ctx, w.until, c.result.Pending
	task := &Wait{Task: p.Task, Anew: anew, Progress: w.report}
	last := time.Now().Add(glanceTime)
	if p.Until.After(last) {
		last = p.Until
	}
	wait, cancel := context.WithDeadlineCause(until, last, errSlow)
	defer cancel()
	state, err := s.agent.Awaiter.Await(wait, task)
	for pause := firstWait; err != nil && wait.Err() == nil; pause = min(2*pause, maxWait) {
		s.agent.logger().WarnContext(ctx, "task is followed again", "dispatched", p.Task, "task", s.ec.TaskID, "in", pause, "error", err)
		if backoff.Sleep(wait, pause) == nil {
			state, err = s.agent.Awaiter.Await(wait, task)
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return outcome{err: context.Cause(ctx)}
	case until.Err() != nil:
		return outcome{err: errLeft}
	}
	a := &arrived{Key: c.key, Text: p.notice(state, err != nil)}
	a.Asks = state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
	if a.Asks {
		if a.Open, err = s.gated(ctx, p.Task); err != nil {
			return outcome{err: err}
		}
		if a.Open != nil {
			a.Text = guard.Words("[The work dispatched to the agent %q, task %s, waits: "+leftToPerson+"]", p.Agent, string(p.Task))
		}
	}
	return outcome{record: &record{Arrived: a}}
}

// notice returns the notice to the model about a state, or that the task is late. It contains
// nothing of the result, which the model reads from working memory.
func (p *pending) notice(state a2a.TaskState, late bool) guard.Text {
	who := guard.Words("[The work dispatched to the agent %q, task %s,", p.Agent, string(p.Task))
	if late {
		return guard.Words("%s is not done in time. It continues, but this answer no longer waits for it; get_task returns its state. Answer without it. "+
			"Once it is done, "+readNote+" returns its result for the key %s]", who, p.Note)
	}
	switch state {
	case a2a.TaskStateCompleted:
		return guard.Words("The agent %q has completed its task. The result is in working memory. Read it with "+readNote+", under exactly this key:\n%s", p.Agent, p.Note)
	case a2a.TaskStateInputRequired:
		return guard.Words("%s waits: the agent asks back. get_task shows the question, continue_task answers it.]", who)
	case a2a.TaskStateAuthRequired:
		return guard.Words("%s waits for a permission or a sign-in that a person has to give. get_task says more.]", who)
	case a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled:
		how := strings.ToLower(strings.TrimPrefix(string(state), "TASK_STATE_"))
		return guard.Words("%s came to nothing: the task is %s. get_task says more.]", who, how)
	}
	return guard.Words("%s is not there any more. Answer without it.]", who)
}

// pending returns the calls whose results are still awaited.
func (t *transcript) pending() []*call {
	var calls []*call
	for i := range t.items {
		for _, c := range t.items[i].calls {
			if c.result != nil && c.result.Pending != nil && c.arrived == nil {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// arriving reports whether the last item is a notice about dispatched work.
func (t *transcript) arriving() bool {
	n := len(t.items)
	return n > 0 && t.items[n-1].arrived != nil
}

// answering reports whether the model should answer with the results that have arrived since
// the caller's last message. It should not if an agent waits for the model.
func (t *transcript) answering() bool {
	come := false
	for i := len(t.items) - 1; i >= 0; i-- {
		switch it := &t.items[i]; {
		case it.arrived != nil && it.arrived.Asks:
			return false
		case it.arrived != nil:
			come = true
		case it.turn == nil:
			return come
		}
	}
	return come
}

// callers are patterns of the tools that give work to agents, except those of delegates.
var callers = []string{"invoke_agent", "chat_with_agent", "continue_task", runPrefix + "*", "a2a__*"}
