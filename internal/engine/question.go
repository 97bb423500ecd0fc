package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

var _ question.Tasks = (*Engine)(nil)

// asker is the run of a question.
type asker struct{ *run }

var _ question.Run = asker{}

// Delegate implements question.Run. If the engine drains, it waits until ctx ends.
func (a asker) Delegate(ctx context.Context, d *agent.Delegation) (*agent.Delegated, error) {
	got, err := a.run.Delegate(ctx, d)
	if err != nil && a.engine.phase.Load() == draining {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return got, err
}

// AddStatus implements question.Run.
func (a asker) AddStatus(ctx context.Context, q *question.Question, why string) error {
	return a.engine.addStatus(ctx, a.live, q, why)
}

// The reserved names in metadata.
const (
	questionKey = "parley.question"
	answerKey   = "parley.answer"
)

// toolCallKey is a metadata key of parts that ask the caller to execute a tool, and of
// the parts with the result.
const toolCallKey = "tool_call_id"

// callsTool reports whether a message asks the caller to execute a tool. Text cannot answer
// such a message.
func callsTool(message []byte) bool {
	if message == nil {
		return false
	}
	for part := range rawjson.Elements(rawjson.Member(message, "parts")) {
		if meta := rawjson.Member(part, "metadata"); meta != nil && rawjson.Member(meta, toolCallKey) != nil {
			return true
		}
	}
	return false
}

// question converts a question for the caller into one for the hub: the task stays WORKING. The
// metadata of en has no reserved names.
func (r *run) question(en task.Entry) task.Entry {
	if en.Body == nil {
		en.Body = r.live.textMessage("")
	}
	b := append(openQuestion(r.round, en.Body), '}')
	for name, value := range rawjson.Fields(en.Meta) {
		b = appendMember(b, name, value)
	}
	en.State, en.Meta = task.Working, append(b, '}')
	return en
}

// openQuestion returns the beginning of the metadata of a question: an open object in an open
// object.
func openQuestion(number int, body []byte) []byte {
	id, _ := rawjson.String(rawjson.Member(body, "messageId"))
	b := append(rawjson.AppendString([]byte("{"), questionKey), `:{"number":`...)
	b = append(strconv.AppendInt(b, int64(number), 10), `,"kind":"input","message":`...)
	return rawjson.AppendString(b, id)
}

// posed returns the version of the question for which a head waits.
func posed(h *task.Head) int64 { return h.Version - int64(h.Run.Attempt) }

// addStatus adds a status with a reason to a question.
func (e *Engine) addStatus(ctx context.Context, l *live, q *question.Question, why string) error {
	h := l.snapshot()
	if !asking(&h, q.Version) {
		return question.ErrAnswered
	}
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return err
	}
	body := messageAt(f, q.Version)
	en := l.statusEntry(task.Working, why)
	id, _ := rawjson.String(rawjson.Member(en.Body, "messageId"))
	b := append(openQuestion(len(q.Turns)+1, body), `,"note":`...)
	b = append(append(rawjson.AppendString(b, id), `,"version":`...), strconv.FormatInt(q.Version, 10)...)
	en.Meta = append(b, `}}`...)
	return e.change(l, func(c *task.Change) error {
		if !asking(&c.Prev, q.Version) {
			return question.ErrAnswered
		}
		if c.Prev.Run.Attempt != 0 {
			return errUnchanged
		}
		h, en, err := task.Apply(c.Next, en)
		if err != nil {
			return err
		}
		c.Next, c.Entries = h, []task.Entry{en}
		c.Next.Run.Attempt = 1
		return nil
	})
}

// messageAt returns the message at a version of a task, or nil.
func messageAt(f *task.Fold, version int64) []byte {
	for m := range f.EachMessage() {
		if m.Version == version {
			return m.Body
		}
	}
	return nil
}

// headAsAsked returns h in the state in which the agent left it when it asked its question.
func headAsAsked(h task.Head, f *task.Fold) task.Head {
	meta := rawjson.Member(f.AppendTask(nil, &h, task.TaskOptions{}), "metadata")
	asked := rawjson.Member(meta, questionKey)
	id := string(rawjson.Member(h.StatusMessage, "messageId"))
	switch {
	case h.State != task.Working || id == "":
	case id == string(rawjson.Member(asked, "message")):
		h.State = task.InputRequired
	case id == string(rawjson.Member(asked, "note")):
		version, _ := rawjson.Int(rawjson.Member(asked, "version"))
		if body := messageAt(f, version); body != nil {
			h.State, h.StatusMessage = task.InputRequired, body
		}
	}
	return h
}

// turnsOf returns the questions of a task that the hub has answered since the last message of
// its caller. The log identifies the sender of each message; the roles do not, because agents
// choose them.
func turnsOf(f *task.Fold) []question.Turn {
	var turns []question.Turn
	for m := range f.EachMessage() {
		if !m.Caller {
			continue
		}
		of := rawjson.Member(rawjson.Member(m.Body, "metadata"), answerKey)
		if of == nil {
			turns = nil
			continue
		}
		version, _ := rawjson.Int(of)
		turns = append(turns, question.Turn{Question: task.TextOf(messageAt(f, version)), Answer: task.TextOf(m.Body)})
	}
	return turns
}

// startReply starts the reply to the question of a task, if it has an open one. While the engine
// drains, it leaves the question to the next process.
func (e *Engine) startReply(l *live) {
	h := l.snapshot()
	if h.Run.Dispatch != task.Asking || h.State.Terminal() || e.fenced.Load() || e.phase.Load() == draining {
		e.endQuestionSpan(l)
		return
	}
	version := posed(&h) // a copy of the head would cost each run an allocation
	e.background(l, func() {
		e.replyTo(l, version)
		if h := l.snapshot(); h.State != task.Working || e.runs.Err() != nil {
			e.endQuestionSpan(l)
		}
	})
}

// replyTo answers a question, and retries until the store works.
func (e *Engine) replyTo(l *live, version int64) {
	for {
		err := e.reply(l, version)
		if err == nil || errors.Is(err, question.ErrAnswered) || errors.Is(err, ErrDraining) || e.runs.Err() != nil {
			return
		}
		if !errors.Is(err, task.ErrUnavailable) {
			reference := uuid.NewString()
			e.cfg.Logger.Error("question was not answered", "task", l.ref.id, "reference", reference, "error", err)
			err = e.settleQuestion(l, version, &question.Reply{Fail: "the question of the agent could not be answered (reference " + reference + ")"})
		}
		if err == nil || errors.Is(err, question.ErrAnswered) {
			return
		}
		l.reportTrouble(err)
		select {
		case <-time.After(retryDelay):
		case <-e.runs.Done():
			return
		}
	}
}

// reply calls Config.Questions and applies the reply.
func (e *Engine) reply(l *live, version int64) error {
	h := l.snapshot()
	if !asking(&h, version) {
		return question.ErrAnswered
	}
	if e.cfg.Questions == nil || !e.cfg.Questions.Takes(h.Performer()) {
		return e.settleQuestion(l, version, new(question.Reply))
	}
	q, err := e.questionOf(l)
	if err != nil {
		return err
	}
	ctx, done := e.whileAsking(l, version)
	defer done()
	answer, err := e.cfg.Questions.Reply(e.withQuestionSpan(ctx, q), q)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if e.phase.Load() == draining && (err != nil || answer.Fail != "") {
		return ErrDraining // no agent accepts messages any more; the next process asks again
	}
	if err != nil {
		return err
	}
	return e.settleQuestion(l, version, &answer)
}

// whileAsking returns a context that ends when the question is settled, and when the engine
// stops.
func (e *Engine) whileAsking(l *live, version int64) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(e.runs)
	e.work.run(func() {
		for {
			l.mu.Lock()
			h, changed := l.head, l.changedLocked()
			l.mu.Unlock()
			open := asking(&h, version) && !e.elsewhere(&h)
			switch {
			case !open && h.LastMessage < version: // no message came
				cancel(question.ErrTaskEnded)
				return
			case !open:
				cancel(question.ErrAnswered)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

// asking reports whether a task waits for the answer to its question at a version.
func asking(h *task.Head, version int64) bool {
	return h.Run.Dispatch == task.Asking && posed(h) == version && h.State.Open()
}

// questionOf returns the open question of a task.
func (e *Engine) questionOf(l *live) (*question.Question, error) {
	h := l.snapshot()
	r, rec, err := e.actingRun(l, &h)
	if err != nil {
		return nil, err
	}
	f, err := e.fold(e.runs, l, &h)
	if err != nil {
		return nil, err
	}
	body := messageAt(f, posed(&h))
	q := &question.Question{
		Owner: h.Owner, Task: h.ID, ContextID: h.ContextID, Version: posed(&h), Agent: h.Performer(), Skill: rec.Skill, Caller: rec.Principal,
		Text: task.TextOf(body), Others: others(body), Turns: turnsOf(f), Request: requestOf(f), Run: asker{r},
	}
	if skills := r.agent.Card.Skills; q.Skill == "" && len(skills) == 1 {
		q.Skill = skills[0].ID
	}
	return q, nil
}

// requestOf returns the text of the first message of a task.
func requestOf(f *task.Fold) string {
	for m := range f.EachMessage() {
		if m.Caller {
			return task.TextOf(m.Body)
		}
	}
	return ""
}

// others returns the number of parts of a message that are not text.
func others(body []byte) (n int) {
	for part := range rawjson.Elements(rawjson.Member(body, "parts")) {
		if rawjson.Member(part, "text") == nil {
			n++
		}
	}
	return n
}

// actingRun returns a run without an executor that acts for the task, with the message that its
// agent has read last.
func (e *Engine) actingRun(l *live, h *task.Head) (*run, *callRecord, error) {
	a := e.agent(h.Performer())
	if a == nil {
		return nil, nil, errors.New(goneAgent)
	}
	page, err := e.store.Read(e.runs, h.Key, h.Consumed-1)
	if err != nil {
		return nil, nil, err
	}
	if len(page) == 0 {
		return nil, nil, fmt.Errorf("read %s: log ends before v%d", h.ID, h.Consumed)
	}
	rec, err := decodeCall(page[0].Call)
	if err != nil {
		return nil, nil, err
	}
	r := e.newRun(l, a, queueKey{})
	r.ctx, r.scope, r.attempt = e.runs, e.runs, 2
	r.msg = inbound{version: h.Consumed, body: page[0].Body, call: page[0].Call, record: rec}
	return r, rec, nil
}

// Answer implements question.Tasks.
func (e *Engine) Answer(ctx context.Context, q *question.Question, a *question.Reply) error {
	l, err := e.open(ctx, ref{q.Owner, q.Task})
	if err != nil {
		return notFound(err)
	}
	defer e.live.release(l)
	if q.Message == "" {
		return e.settleQuestion(l, q.Version, a)
	}
	if a.Fail != "" {
		return e.failQuestion(l, q.Version, a, answerable)
	}
	if h := l.snapshot(); !answerable(&h, q.Version) {
		return question.ErrAnswered
	}
	return e.appendAnswer(l, q.Version, a.Text)
}

// Exchanges returns the messages of a task's caller after its first one, each with the message of
// the agent before it. It uses Owner and Task of q.
func (e *Engine) Exchanges(ctx context.Context, q *question.Question) ([]question.Turn, error) {
	l, err := e.open(ctx, ref{q.Owner, q.Task})
	if err != nil {
		return nil, notFound(err)
	}
	defer e.live.release(l)
	h := l.snapshot()
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return nil, err
	}
	var turns []question.Turn
	var asked []byte // the agent's message that the caller has not answered
	for m := range f.EachMessage() {
		if !m.Caller {
			asked = m.Body
			continue
		}
		if asked != nil {
			turns = append(turns, question.Turn{Question: task.TextOf(asked), Answer: task.TextOf(m.Body)})
		}
		asked = nil
	}
	return turns, nil
}

// Waiting implements question.Tasks.
func (e *Engine) Waiting(ctx context.Context, q *question.Question) (*question.Question, error) {
	asked, err := e.Open(ctx, q)
	if err != nil || asked == nil || asked.Works {
		return nil, err
	}
	return asked, nil
}

// Open is like Waiting for any task that has not ended: the result for a working task has no
// text. It returns nil for a task that has ended.
func (e *Engine) Open(ctx context.Context, q *question.Question) (*question.Question, error) {
	l, err := e.open(ctx, ref{q.Owner, q.Task})
	if err != nil {
		return nil, notFound(err)
	}
	defer e.live.release(l)
	h := l.snapshot()
	if h.State.Terminal() {
		return nil, nil
	}
	r, rec, err := e.actingRun(l, &h)
	if err != nil {
		return nil, err
	}
	asked := &question.Question{
		Owner: h.Owner, Task: h.ID, ContextID: h.ContextID, Version: h.Version, Agent: h.Performer(), Skill: rec.Skill, Caller: rec.Principal,
		Works: !h.State.Interrupted(),
	}
	if !asked.Works {
		asked.Text, asked.Others = task.TextOf(h.StatusMessage), others(h.StatusMessage)
		asked.Message, _ = rawjson.String(rawjson.Member(h.StatusMessage, "messageId"))
	}
	if skills := r.agent.Card.Skills; asked.Skill == "" && len(skills) == 1 {
		asked.Skill = skills[0].ID
	}
	return asked, nil
}

// answerable reports whether the task still accepts an answer to its question at a version.
func answerable(h *task.Head, version int64) bool {
	return asking(h, version) || h.State == task.InputRequired && h.Version == version
}

// Answered implements question.Tasks.
func (e *Engine) Answered(ctx context.Context, q *question.Question) (answer string, settled bool, err error) {
	l, err := e.open(ctx, ref{q.Owner, q.Task})
	if err != nil {
		return "", false, notFound(err)
	}
	defer e.live.release(l)
	h := l.snapshot()
	if asking(&h, q.Version) {
		return "", false, nil
	}
	f, err := e.fold(ctx, l, &h)
	if err != nil {
		return "", false, err
	}
	for m := range f.EachMessage() {
		of := rawjson.Member(rawjson.Member(m.Body, "metadata"), answerKey)
		if m.Caller && string(of) == strconv.FormatInt(q.Version, 10) {
			return task.TextOf(m.Body), true, nil
		}
	}
	return "", true, nil
}

// settleQuestion applies a reply, if the question is still open.
func (e *Engine) settleQuestion(l *live, version int64, a *question.Reply) error {
	h := l.snapshot()
	name := string(h.Performer())
	switch {
	case a.Text != "":
		err := e.appendAnswer(l, version, a.Text)
		if err == nil {
			trace.Count(e.ctx, trace.InputRequiredRounds, trace.Labels{Agent: name}, 1)
		}
		return err
	case a.Fail != "":
		return e.failQuestion(l, version, a, asking)
	}
	return e.leaveToCaller(l, version)
}

// failQuestion fails a task with the reason in a reply, if open reports that its question is
// still open.
func (e *Engine) failQuestion(l *live, version int64, a *question.Reply, open func(*task.Head, int64) bool) error {
	h := l.snapshot()
	err := e.change(l, func(c *task.Change) error {
		if !open(&c.Prev, version) {
			return question.ErrAnswered
		}
		return ending(l.statusEntry(task.Failed, a.Fail))(c)
	})
	if err == nil && a.Break != "" {
		trace.Count(e.ctx, trace.InputRequiredBreaks, trace.Labels{Agent: string(h.Performer()), Reason: a.Break}, 1)
	}
	return err
}

// leaveToCaller makes the task wait for its caller's answer to the question.
func (e *Engine) leaveToCaller(l *live, version int64) error {
	h := l.snapshot()
	f, err := e.fold(e.runs, l, &h)
	if err != nil {
		return err
	}
	body := messageAt(f, version)
	return e.change(l, func(c *task.Change) error {
		if !asking(&c.Prev, version) {
			return question.ErrAnswered
		}
		h, en, err := task.Apply(c.Next, task.Entry{Kind: task.Status, State: task.InputRequired, At: now(), Body: body})
		if err != nil {
			return err
		}
		c.Next, c.Entries = h, []task.Entry{en}
		rest(&c.Next)
		return nil
	})
}

// appendAnswer answers in the caller's place, with a message like a further one of the caller.
func (e *Engine) appendAnswer(l *live, version int64, text string) error {
	h := l.snapshot()
	_, rec, err := e.actingRun(l, &h)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("answer-%s-%d", l.ref.id, version)
	b := append(rawjson.AppendString([]byte(`{"messageId":`), id), `,"role":"ROLE_USER","parts":[{"text":`...)
	b = append(rawjson.AppendString(b, text), `}],"metadata":{`...)
	b = append(rawjson.AppendString(b, answerKey), ':')
	b = append(strconv.AppendInt(b, version, 10), `}}`...)
	a := admission{
		engine: e, live: l, answers: version, body: b,
		caller: &op.Caller{Principal: rec.Principal, Params: rec.Params, Extensions: rec.Extensions},
		send: &op.Send{
			Metadata: rec.Metadata, Message: op.Message{ID: id, TaskID: l.ref.id, Skill: rec.Skill, MediaTypes: []string{""}, Body: b},
		},
	}
	err = a.appendMessage()
	var f *apierror.Error
	if errors.As(err, &f) && errors.Is(err, a2a.ErrUnsupportedOperation) && l.snapshot().State.Terminal() {
		return question.ErrAnswered
	}
	return err
}
