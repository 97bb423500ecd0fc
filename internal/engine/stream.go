package engine

import (
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

// Stream is a reader's position in the log of one task. It belongs to one
// goroutine.
type Stream struct {
	// First is the item to show to the reader first: the task at its Head.Version, or a bare
	// message, after which the stream ends. It is nil if the reader resumes from a version that
	// it has seen.
	First *Answer
	// Task identifies the task of the events that follow.
	Task task.Head
	// Done is set if no event follows First: the task has ended, and the reader has seen all of
	// it.
	Done bool
	// Confirmed are the extensions that the agent has confirmed for the message of the stream;
	// nil if it has confirmed none so far, and for a stream without a message.
	Confirmed *Confirmation

	engine *Engine
	live   *live
	owner  task.Owner
	// pos is the version of the last returned event.
	pos int64
	// asked is the version of the message that opened the stream: the stream ends when the task
	// requires input after it. If zero, the stream ends with the task.
	asked int64
	// repeated is set if that message was admitted before.
	repeated bool
	ended    bool
	// hold is the memory of a large First, or of large events until the next ones are asked for.
	hold *membudget.Hold
}

// Stream admits a message and returns a reader of its task. The reader ends with the task, or
// when the task requires input.
func (e *Engine) Stream(ctx context.Context, c *op.Caller, r *op.Send) (*Stream, error) {
	owner := c.Principal.Owner()
	if err := e.quota.acquire(owner); err != nil {
		return nil, err
	}
	a := admission{engine: e, caller: c, send: r, wait: true, streams: true}
	ad, err := a.admit(ctx)
	if err != nil {
		e.quota.release(owner)
		return nil, err
	}
	stored(c, r)
	s := &Stream{engine: e, live: ad.live, owner: owner, pos: ad.version, asked: ad.version, repeated: ad.repeated}
	e.awaitConfirmed(ctx, c, ad)
	if err := s.begin(ctx, r.HistoryLength); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin waits until the agent answers with a message or the task is shown, and sets First.
func (s *Stream) begin(ctx context.Context, history *int) error {
	l := s.live
	_, err := s.engine.await(ctx, l, func() bool {
		return l.trouble != nil || l.answer != nil || l.refusal != nil || l.head.Visibility == task.Visible
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	s.Task = l.head
	msg, refusal, trouble := l.answer, l.refusal, l.trouble
	s.Confirmed = l.confirmedLocked(s.asked)
	l.mu.Unlock()
	switch {
	case trouble != nil && s.Task.Visibility != task.Visible:
		return trouble
	case refusal != nil:
		return refusal
	case msg != nil:
		s.First = &Answer{Answer: op.Answer{Head: s.Task, Message: msg}}
		s.Done, s.ended = true, true
		return nil
	}
	return s.snapshot(ctx, history)
}

// snapshot sets First to the task at the position of the stream, as it was when the message was
// admitted.
func (s *Stream) snapshot(ctx context.Context, history *int) error {
	h := s.Task
	if s.asked == 1 {
		h = createdHead(&h)
	} else {
		s.pos = h.Version
		s.ended = h.State.Terminal() || h.State == task.InputRequired && s.dealtWith(h.Version)
	}
	f, err := s.engine.foldAnswer(ctx, s.live, &h)
	if err != nil {
		return err
	}
	s.First, s.hold = answerOf(&h, f.Fold, history).sized(f), f.hold
	return nil
}

// createdHead returns the head at the creation of the task.
func createdHead(h *task.Head) task.Head {
	c := *h
	c.Version, c.State = 1, task.Submitted
	c.StatusAt, c.UpdatedAt = h.CreatedAt, h.CreatedAt
	c.StatusMessage = nil
	return c
}

// dealtWith reports whether a status at version v comes from a run that has read the message of
// this stream.
func (s *Stream) dealtWith(v int64) bool {
	if s.asked == 0 {
		return false
	}
	if s.repeated {
		// Another process may have read the message, or this process a later one.
		return v > s.asked
	}
	at, ok := s.live.readAt(s.asked)
	return ok && v > at
}

// Answer returns the current task, like Send.
func (s *Stream) Answer(ctx context.Context, history *int) (*Answer, error) {
	return s.engine.answer(ctx, s.live, history)
}

// Subscribe returns a reader of a task that ends with the task. A usable LastEventID resumes
// after that version, even for a task that has ended. Without one, a task that has ended is
// refused.
func (e *Engine) Subscribe(ctx context.Context, c *op.Caller, r *op.Subscribe) (*Stream, error) {
	owner := c.Principal.Owner()
	if err := e.quota.acquire(owner); err != nil {
		return nil, err
	}
	n := need{op: policy.Subscribe}
	if r.Sent {
		n.op = policy.Send
	}
	l, err := e.find(ctx, c, &r.Target, lookup{r.ID, n})
	if err != nil {
		e.quota.release(owner)
		return nil, err
	}
	s := &Stream{engine: e, live: l, owner: owner, Task: l.snapshot()}
	if err := s.resume(ctx, r.LastEventID); err != nil {
		s.Close()
		return nil, err
	}
	e.auditRead(c, AuditEvent{Action: audit.TaskSubscribe, Task: s.Task.ID, Agent: s.Task.Agent})
	return s, nil
}

// resumeAt returns the version that an event id names, if the task has it.
func resumeAt(h *task.Head, lastEventID string) (int64, bool) {
	v, err := strconv.ParseInt(lastEventID, 10, 64)
	return v, err == nil && v >= 1 && v <= h.Version
}

func (s *Stream) resume(ctx context.Context, lastEventID string) error {
	ended := s.Task.State.Terminal()
	if v, ok := resumeAt(&s.Task, lastEventID); ok {
		s.pos = v
		s.Done = ended && v == s.Task.Version
		s.ended = s.Done
		return nil
	}
	if ended {
		return apierror.New(a2a.ErrUnsupportedOperation, "the task has ended (%s)", s.Task.State.Word()).
			With("taskId", string(s.Task.ID))
	}
	f, err := s.engine.foldAnswer(ctx, s.live, &s.Task)
	if err != nil {
		return err
	}
	s.pos = s.Task.Version
	s.First, s.hold = answerOf(&s.Task, f.Fold, nil).sized(f), f.hold
	return nil
}

// Next returns the next events, at least one, in order. It returns io.EOF when the stream has
// ended, and no events with a nil error if none has come within wait. If wait ≤ 0, it waits
// until ctx ends.
func (s *Stream) Next(ctx context.Context, wait time.Duration) ([]Event, error) {
	s.sent()
	var timeout <-chan time.Time
	for {
		if s.ended {
			return nil, io.EOF
		}
		events, wake, err := s.poll(ctx, s.engine.awaitMemory)
		if err != nil || len(events) > 0 {
			return s.pass(events), err
		}
		if wait > 0 && timeout == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-wake:
		case <-timeout:
			return nil, nil
		case <-s.engine.ctx.Done():
			// The hub stops; the reader may reconnect and resume.
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// poll returns the available events, or a channel that is closed when there may be some.
func (s *Stream) poll(ctx context.Context, acquire acquirer) ([]Event, <-chan struct{}, error) {
	l := s.live
	l.mu.Lock()
	h := l.head
	if h.Version <= s.pos {
		wake := l.changedLocked()
		l.mu.Unlock()
		return nil, wake, nil
	}
	events, ok := l.tail.after(&h, s.pos)
	l.mu.Unlock()
	if ok {
		return events, nil, nil
	}
	page, hold, err := s.engine.readPage(ctx, h.Key, s.pos, acquire)
	if err != nil {
		return nil, nil, notFound(err)
	}
	s.hold = hold
	// Stored entries beyond the head are held back until the head has them: a reader that has
	// seen the end of a task here must not find it working elsewhere.
	if i := slices.IndexFunc(page, func(e task.Entry) bool { return e.Version > h.Version }); i >= 0 {
		page = page[:i]
	}
	events = make([]Event, len(page))
	for i := range page {
		events[i].Entry = page[i]
		if page[i].Kind != task.Message {
			events[i].Frame = task.AppendFrame(nil, &h, &page[i])
		}
	}
	return events, nil, nil
}

// pass advances the position over events, and truncates them where the stream ends.
func (s *Stream) pass(events []Event) []Event {
	for i := range events {
		ev := &events[i]
		s.pos = ev.Version
		if ev.Kind != task.Status {
			continue
		}
		if ev.State.Terminal() || ev.State == task.InputRequired && s.dealtWith(ev.Version) {
			s.ended = true
			return events[:i+1]
		}
	}
	return events
}

// Close releases the task. It must be called, and may be called again.
func (s *Stream) Close() {
	s.sent()
	if s.live != nil {
		s.engine.live.release(s.live)
		s.engine.quota.release(s.owner)
		s.live = nil
		s.ended = true
	}
}
