package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

const (
	// idWait is the time that an interrupted command waits for the id of the task to cancel.
	idWait = 5 * time.Second
	// cancelWait is the time that an interrupted command waits for the cancellation.
	cancelWait = 15 * time.Second
)

// session follows one task to its end.
type session struct {
	client *client.Client
	show   *show
	known  chan struct{} // closed by the first event
	// stop reports whether to stop after an event; nil means at the end of the stream.
	stop func(e a2a.Event, first bool) bool
	// explain says why there are no events; it may be nil.
	explain *explainer
}

func newSession(c *client.Client, s *show) *session {
	s.agent = c.Card().Name
	return &session{client: c, show: s, known: make(chan struct{})}
}

// opener returns a function that opens large parts of an agent.
func opener(ctx context.Context, c *client.Client) func(*a2a.Part) (io.ReadCloser, error) {
	return func(p *a2a.Part) (io.ReadCloser, error) { return c.Open(ctx, p) }
}

// send sends a message and follows its task. An interruption cancels the task, after its id is
// known.
func (s *session) send(in interrupts, m *a2a.Message) error {
	s.stop = func(e a2a.Event, first bool) bool { return asks(e, m, first) }
	ctx, cancel := context.WithCancelCause(in.hard)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-in.soft.Done():
		case <-ctx.Done():
			return
		}
		select {
		case <-s.known:
		case <-time.After(idWait):
		case <-ctx.Done():
		}
		cancel(context.Cause(in.soft))
	})
	err := s.follow(ctx, s.client.Stream(ctx, &a2a.SendMessageRequest{Message: m}))
	cancel(nil)
	wg.Wait()
	if err == nil || in.soft.Err() == nil {
		return err
	}
	id := s.id()
	if id == "" {
		id = m.TaskID
	}
	return s.abandon(in.hard, id)
}

// follow shows events until the stream ends. It resumes a broken stream.
func (s *session) follow(ctx context.Context, events iter.Seq2[a2a.Event, error]) error {
	err := s.take(events)
	var cut *client.Cut
	if errors.As(err, &cut) && cut.Task != "" {
		return s.watch(ctx, cut.Position)
	}
	return s.goesOn(ctx, err)
}

// watch follows a task, which may have ended already. If its agent does not stream, watch waits
// for the task.
func (s *session) watch(ctx context.Context, from client.Position) error {
	err := s.take(s.client.Follow(ctx, from))
	if err == nil && !s.settled() {
		var task *a2a.Task
		if task, err = s.client.Wait(ctx, from.Task); err == nil {
			err = s.show.event(task)
		}
	}
	return s.goesOn(ctx, err)
}

// settled reports whether the task has ended or waits for its caller.
func (s *session) settled() bool {
	task := s.show.fold.Task
	return task == nil || task.Status.State.Terminal() || client.Interrupted(task.Status.State)
}

// goesOn adds to err that the task is not affected.
func (s *session) goesOn(ctx context.Context, err error) error {
	if err != nil && s.id() != "" && ctx.Err() == nil {
		return fmt.Errorf("%w; the task continues as %s", err, s.id())
	}
	return err
}

// take shows the events of a stream.
func (s *session) take(events iter.Seq2[a2a.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		first := s.show.fold.Result() == nil
		if err := s.show.event(e); err != nil {
			return err
		}
		if first {
			close(s.known)
		}
		s.explain.happened(s.id())
		if s.stop != nil && s.stop(e, first) {
			break
		}
	}
	return nil
}

// recall marks the output of the task before the new message as shown. If the task cannot be
// read, the error of the message is reported instead.
func (s *session) recall(ctx context.Context, id a2a.TaskID) {
	none := 0
	if task, err := s.client.Get(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: &none}); err == nil {
		s.show.skip(task)
	}
}

// asks reports whether the task waits for the caller after e, in answer to m. The agent may
// keep the stream open in this state (specification §7.6.1). A task, or the first status in
// some dialects, may still show the question that m answers.
func asks(e a2a.Event, m *a2a.Message, first bool) bool {
	switch e := e.(type) {
	case *a2a.Task:
		return m.TaskID == "" && client.Interrupted(e.Status.State)
	case *a2a.TaskStatusUpdateEvent:
		return client.Interrupted(e.Status.State) && (!first || m.TaskID != e.TaskID)
	}
	return false
}

// id returns the task's id, or an empty id before it is known.
func (s *session) id() a2a.TaskID {
	if s.show.fold.Task == nil {
		return ""
	}
	return s.show.fold.Task.ID
}

// abandon cancels the task after an interruption and returns the result.
func (s *session) abandon(ctx context.Context, id a2a.TaskID) error {
	if id == "" {
		return &exit{exitFailed, errors.New("interrupted before the task had an id; the agent may be working on it")}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cancelWait, fmt.Errorf("no answer within %v", cancelWait))
	defer cancel()
	task, err := s.client.Cancel(ctx, &a2a.CancelTaskRequest{ID: id})
	if err != nil {
		return &exit{exitFailed, fmt.Errorf("interrupted: %w", err)}
	}
	s.show.endLine()
	return &exit{exitFailed, fmt.Errorf("interrupted; task %s %s", id, outcome(task.Status.State))}
}
