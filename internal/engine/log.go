package engine

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// OpenLog returns a reader of the log of one of the caller's tasks after a version, of which 0 is
// the beginning. The task may have ended. The reader has no First, and ends with the task. It
// counts as a stream of the caller.
func (e *Engine) OpenLog(ctx context.Context, c *op.Caller, id a2a.TaskID, after int64) (*Stream, error) {
	owner := c.Principal.Owner()
	if err := e.quota.acquire(owner); err != nil {
		return nil, err
	}
	l, err := e.find(ctx, c, &op.Target{}, lookup{id, need{op: policy.Get}})
	if err != nil {
		e.quota.release(owner)
		return nil, err
	}
	s, err := e.readLog(l, owner, after)
	if err == nil {
		e.auditRead(c, AuditEvent{Action: audit.TaskGet, Task: s.Task.ID, Agent: s.Task.Agent})
	}
	return s, err
}

// InspectLog is OpenLog for the task of any owner. Its caller checks that the request is an
// administrator's, and records it.
func (e *Engine) InspectLog(ctx context.Context, owner task.Owner, id a2a.TaskID, after int64) (*Stream, error) {
	if err := e.quota.acquire(owner); err != nil {
		return nil, err
	}
	l, err := e.open(ctx, ref{owner, id})
	if err != nil {
		e.quota.release(owner)
		return nil, fmt.Errorf("inspect the log: %w", err)
	}
	return e.readLog(l, owner, after)
}

// readLog returns the reader, to which the reference to l and the place in the quota pass.
func (e *Engine) readLog(l *live, owner task.Owner, after int64) (*Stream, error) {
	s := &Stream{engine: e, live: l, owner: owner, Task: l.snapshot(), pos: after}
	if after < 0 || after > s.Task.Version {
		s.Close()
		return nil, apierror.Field(a2a.ErrInvalidParams, "after", "is not a version of the task, from 0 to %d", s.Task.Version)
	}
	s.ended = s.Task.State.Terminal() && after == s.Task.Version
	s.Done = s.ended
	return s, nil
}

// Available returns the events that can be read without waiting; none at the end of the log. The
// memory of large ones is counted until ctx ends.
func (s *Stream) Available(ctx context.Context) ([]Event, error) {
	if s.ended {
		return nil, nil
	}
	events, _, err := s.poll(ctx, s.engine.memory.AcquireAnswer)
	if hold := s.hold; hold != nil {
		s.hold = nil
		context.AfterFunc(ctx, hold.Release)
	}
	return s.pass(events), err
}

// Ended reports whether the reader has seen the end of the task, or its turn to wait for the
// caller; a reader that has ended without it may be opened again.
func (s *Stream) Ended() bool { return s.ended }
