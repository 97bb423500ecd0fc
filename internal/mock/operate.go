package mock

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

func operationNamed(name string) (dialect.Operation, bool) {
	o, err := dialect.Lookup(name)
	return o, err == nil
}

// answer is what a message came to.
type answer struct {
	reply   *reply // set if a rule applied
	message object // a bare message
	task    *work
	first   object // the task as it was before its script ran
	from    int    // the number of events before that
}

// hear finds the rule for a message and begins, or goes on with, its task.
func (s *Server) hear(c *call, in *op.Send) (*answer, error) {
	if in.Push != nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	body, err := decodeJSON(in.Message.Body)
	if err != nil {
		return nil, apierror.New(a2a.ErrInvalidParams, "message: %v", err)
	}
	m, _ := body.(object)
	asked := newAsked(m)
	asked.skill = in.Message.Skill
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.continuedLocked(c.agent, &in.Message)
	if err != nil {
		return nil, err
	}
	asked.context = in.Message.ContextID
	if t != nil {
		asked.context = t.context
	}
	fresh := asked.context == ""
	if fresh {
		asked.context = w.nameLocked("mock-context")
	}
	asked.turn = w.turnLocked(contextKey{c.agent.name, asked.context})
	c.heard(asked, in)
	if t != nil && len(t.script) > 0 {
		w.hearLocked(t, m, asked)
		return s.goOnLocked(t, in, &reply{}), nil
	}
	r := c.agent.ruleLocked(asked, fresh)
	if r == nil {
		return nil, errNoRule(c.agent, asked)
	}
	c.record.Rule = r.number
	return s.applyLocked(c, r, applied{t, m, asked, in}), nil
}

// applied is a message that a rule is for.
type applied struct {
	task  *work
	body  object
	asked *asked
	in    *op.Send
}

func (s *Server) applyLocked(c *call, r *rule, a applied) *answer {
	c.latency += r.latency
	switch {
	case r.message != nil:
		return &answer{reply: &r.reply, message: object{
			"messageId": s.world.nameLocked("mock-message"), "role": "ROLE_AGENT", "contextId": a.asked.context,
			"parts": a.asked.parts(r.message, ""),
		}}
	case len(r.script) == 0:
		return &answer{reply: &r.reply}
	}
	t := a.task
	if t == nil {
		t = s.world.beginLocked(c.agent, a.asked.context)
		t.shape = c.shape
	}
	t.script = r.script
	s.world.hearLocked(t, a.body, a.asked)
	return s.goOnLocked(t, a.in, &r.reply)
}

func (s *Server) goOnLocked(t *work, in *op.Send, r *reply) *answer {
	a := &answer{reply: r, task: t, first: t.taskLocked(view{in.HistoryLength, true}), from: len(t.events)}
	s.runLocked(t)
	return a
}

// ruleLocked returns the first rule for a message, and counts that it applied.
func (a *agent) ruleLocked(q *asked, fresh bool) *rule {
	named := *q
	if fresh {
		named.context = "" // nobody named it
	}
	for _, r := range a.rules {
		if r.skill != "" && r.skill != q.skill || r.limited && r.left == 0 || !r.match.matches(&named) {
			continue
		}
		r.left--
		return r
	}
	return nil
}

// errNoRule is the answer to a message that no rule is for.
func errNoRule(a *agent, q *asked) error {
	return &coded{apierror.New(a2a.ErrServerError, "no rule of mock agent %q matches skill %q, text %q, turn %d",
		a.name, clip(q.skill), clip(q.text), q.turn), 0}
}

// settled waits until a task rests. It calls strike for a fault on the way, and
// returns false if that has done everything.
func (s *Server) settled(ctx context.Context, a *answer, strike func(Fault)) bool {
	for e := range s.world.follow(ctx, a.task, a.from) {
		switch {
		case e.fault != "":
			strike(e.fault)
			return false
		case e.state.terminal() || e.state.interrupted():
			return true
		}
	}
	return false
}

// follow yields the events of a task from the given number on, until ctx ends or the
// task has ended. A fault is yielded once, to one who follows. Every event has its
// number.
func (w *world) follow(ctx context.Context, t *work, from int) iter.Seq[numbered] {
	return func(yield func(numbered) bool) {
		for {
			w.mu.Lock()
			fresh := t.events[from:]
			changed, over := t.changed, t.state.terminal()
			w.mu.Unlock()
			for _, e := range fresh {
				from++
				if e.fault != "" && !w.fire(t, from-1) {
					continue
				}
				if !yield(numbered{e, from}) {
					return
				}
			}
			if over {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// fire takes a fault; it reports whether nobody else had.
func (w *world) fire(t *work, i int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !t.fired[i]
	t.fired[i] = true
	return first
}

// numbered is an event with its number, from 1.
type numbered struct {
	event
	number int
}

// look returns a task.
func (s *Server) look(c *call, in *op.Get) (object, error) {
	t, err := s.world.find(c.agent, in.ID)
	if err != nil {
		return nil, err
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return t.taskLocked(view{in.HistoryLength, true}), nil
}

// cancel cancels a task.
func (s *Server) cancel(c *call, in *op.Cancel) (object, error) {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.findLocked(c.agent, in.ID)
	if err != nil {
		return nil, err
	}
	if !w.tellStatusLocked(t, canceled, nil) {
		return nil, apierror.New(a2a.ErrTaskNotCancelable, "the task is %s", t.state)
	}
	t.stop()
	return t.taskLocked(view{artifacts: true}), nil
}

// list returns a page of an agent's tasks, newest first. The page token is the number
// of tasks before it.
func (s *Server) list(c *call, in *op.List) (object, error) {
	at := 0
	if in.PageToken != "" {
		n, err := strconv.Atoi(in.PageToken)
		if err != nil || n < 0 {
			return nil, apierror.Field(a2a.ErrInvalidParams, "pageToken", "is not one of this server")
		}
		at = n
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	all := s.world.chosenLocked(c.agent, in)
	none := 0
	history := in.HistoryLength
	if history == nil {
		history = &none
	}
	tasks := []any{}
	for _, t := range all[min(at, len(all)):min(at+in.PageSize, len(all))] {
		o := t.taskLocked(view{history, in.IncludeArtifacts})
		if in.IncludeArtifacts && o["artifacts"] == nil {
			o["artifacts"] = []any{}
		}
		tasks = append(tasks, o)
	}
	next := ""
	if at+in.PageSize < len(all) {
		next = itoa(at + in.PageSize)
	}
	return object{"tasks": tasks, "nextPageToken": next, "pageSize": in.PageSize, "totalSize": len(all)}, nil
}

func (w *world) chosenLocked(a *agent, in *op.List) []*work {
	var all []*work
	for _, id := range slices.Backward(w.order) {
		t := w.tasks[id]
		if t.agent != a || in.ContextID != "" && t.context != in.ContextID ||
			in.State != task.Unspecified && string(t.state) != in.State.String() || task.MillisOf(t.at) < in.Since {
			continue
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(x, y *work) int { return y.at.Compare(x.at) })
	return all
}

// subscribed is a stream of a task that is there.
func (s *Server) subscribed(c *call, in *op.Subscribe) (*answer, error) {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.findLocked(c.agent, in.ID)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(in.LastEventID); err == nil && n >= 0 && n <= len(t.events) {
		return &answer{reply: &reply{}, task: t, from: n}, nil
	}
	if t.state.terminal() && c.shape != dialect.PromptKit {
		return nil, apierror.New(a2a.ErrUnsupportedOperation, "the task is %s: there is nothing to follow", t.state)
	}
	return &answer{reply: &reply{}, task: t, first: t.taskLocked(view{artifacts: true}), from: len(t.events)}, nil
}

// marshal encodes a value that was made of JSON values.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("mock: " + err.Error()) // all values come from JSON
	}
	return b
}
