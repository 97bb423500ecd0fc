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
	hubtask "github.com/parley-a2a/parley/internal/task"
)

func operationNamed(name string) (dialect.Operation, bool) {
	o, err := dialect.Lookup(name)
	return o, err == nil
}

// answer is the result of a message.
type answer struct {
	reply   *reply // set if a rule matched
	message object // a bare message
	task    *task
	first   object // the task before its script ran
	from    int    // the number of events before that
}

// receive finds the rule for a message and creates or continues its task.
func (s *Server) receive(c *call, in *op.Send) (*answer, error) {
	if in.Push != nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	body, err := decodeJSON(in.Message.Body)
	if err != nil {
		return nil, apierror.New(a2a.ErrInvalidParams, "message: %v", err)
	}
	m, _ := body.(object)
	input := newMatchInput(m)
	input.skill = in.Message.Skill
	st := s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	t, err := st.continuedLocked(c.agent, &in.Message)
	if err != nil {
		return nil, err
	}
	input.context = in.Message.ContextID
	if t != nil {
		input.context = t.context
	}
	fresh := input.context == ""
	if fresh {
		input.context = st.nameLocked("mock-context")
	}
	input.turn = st.turnLocked(contextKey{c.agent.name, input.context})
	c.record.Skill, c.record.Text, c.record.Context, c.record.Turn = input.skill, input.text, input.context, input.turn
	c.record.Task = string(in.Message.TaskID)
	if t != nil && len(t.script) > 0 {
		st.receiveLocked(t, m, input)
		return s.continueLocked(t, in, &reply{}), nil
	}
	r := c.agent.ruleLocked(input, fresh)
	if r == nil {
		return nil, &coded{apierror.New(a2a.ErrServerError, "no rule of mock agent %q matches skill %q, text %q, turn %d",
			c.agent.name, clip(input.skill), clip(input.text), input.turn), 0}
	}
	c.record.Rule = r.number
	return s.applyLocked(c, r, applied{t, m, input, in}), nil
}

// applied is a message with its rule.
type applied struct {
	task  *task
	body  object
	input *matchInput
	in    *op.Send
}

func (s *Server) applyLocked(c *call, r *rule, a applied) *answer {
	c.latency += r.latency
	switch {
	case r.message != nil:
		return &answer{reply: &r.reply, message: object{
			"messageId": s.state.nameLocked("mock-message"), "role": "ROLE_AGENT", "contextId": a.input.context,
			"parts": a.input.parts(r.message, ""),
		}}
	case len(r.script) == 0:
		return &answer{reply: &r.reply}
	}
	t := a.task
	if t == nil {
		t = s.state.beginLocked(c.agent, a.input.context)
		t.shape = c.shape
	}
	t.script = r.script
	s.state.receiveLocked(t, a.body, a.input)
	return s.continueLocked(t, a.in, &r.reply)
}

func (s *Server) continueLocked(t *task, in *op.Send, r *reply) *answer {
	a := &answer{reply: r, task: t, first: t.taskLocked(view{in.HistoryLength, true}), from: len(t.events)}
	s.runLocked(t)
	return a
}

// ruleLocked returns the first rule that matches a message, and counts its use.
func (a *agent) ruleLocked(q *matchInput, fresh bool) *rule {
	named := *q
	if fresh {
		named.context = "" // the message names none
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

// settled waits until a task ends or is interrupted. It calls inject if a fault occurs before
// that, and then returns false.
func (s *Server) settled(ctx context.Context, a *answer, inject func(Fault)) bool {
	for e := range s.state.follow(ctx, a.task, a.from) {
		switch {
		case e.fault != "":
			inject(e.fault)
			return false
		case e.state.terminal() || e.state.interrupted():
			return true
		}
	}
	return false
}

// follow yields the numbered events of a task from the given number on, until ctx ends or the
// task has ended. A fault is yielded once, to one follower.
func (st *state) follow(ctx context.Context, t *task, from int) iter.Seq[numbered] {
	return func(yield func(numbered) bool) {
		for {
			st.mu.Lock()
			fresh := t.events[from:]
			changed, over := t.changed.Next(), t.state.terminal()
			st.mu.Unlock()
			for _, e := range fresh {
				from++
				if e.fault != "" && !st.takeFault(t, from-1) {
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

// takeFault claims a fault. It returns false if another follower has claimed it.
func (st *state) takeFault(t *task, i int) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	first := !t.faultsTaken[i]
	t.faultsTaken[i] = true
	return first
}

// numbered is an event with its number, from 1.
type numbered struct {
	event
	number int
}

// cancel cancels a task.
func (s *Server) cancel(c *call, in *op.Cancel) (object, error) {
	st := s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	t, err := st.findLocked(c.agent, in.ID)
	if err != nil {
		return nil, err
	}
	if !st.setStatusLocked(t, canceled, nil) {
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
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	all := s.state.selectLocked(c.agent, in)
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
		next = strconv.Itoa(at + in.PageSize)
	}
	return object{"tasks": tasks, "nextPageToken": next, "pageSize": in.PageSize, "totalSize": len(all)}, nil
}

func (st *state) selectLocked(a *agent, in *op.List) []*task {
	var all []*task
	for _, id := range slices.Backward(st.order) {
		t := st.tasks[id]
		if t.agent != a || in.ContextID != "" && t.context != in.ContextID ||
			in.State != hubtask.Unspecified && string(t.state) != in.State.String() || hubtask.MillisOf(t.at) < in.Since {
			continue
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(x, y *task) int { return y.at.Compare(x.at) })
	return all
}

// subscribed returns a stream of an existing task.
func (s *Server) subscribed(c *call, in *op.Subscribe) (*answer, error) {
	st := s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	t, err := st.findLocked(c.agent, in.ID)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(in.LastEventID); err == nil && n >= 0 && n <= len(t.events) {
		return &answer{reply: &reply{}, task: t, from: n}, nil
	}
	if t.state.terminal() && !dialect.Of(c.shape).Serving.ShowsEnded {
		return nil, apierror.New(a2a.ErrUnsupportedOperation, "the task is %s: there is nothing to follow", t.state)
	}
	return &answer{reply: &reply{}, task: t, first: t.taskLocked(view{artifacts: true}), from: len(t.events)}, nil
}

// marshal encodes a value composed of JSON values.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("mock: " + err.Error()) // all values come from JSON
	}
	return b
}
