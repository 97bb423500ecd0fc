package webhooks

import (
	"context"
	"errors"
	"math"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/task"
)

// shape returns the dialect of the notifications: that of the call which registered the
// webhook. Dialects without notifications of their own use those of v1.0.
func (t *target) shape() dialect.Shape {
	switch s := dialect.Shape(t.dialect); {
	case s == dialect.V03, s == dialect.V03Proto:
		return dialect.V03
	case dialect.Of(s).Pushing.Frame != nil:
		return s
	}
	return dialect.V1
}

// whole reports whether each notification contains the whole task.
func (t *target) whole() bool { return t.shape() == dialect.V03 }

// version returns the protocol version for the header; empty for dialects with notifications of
// their own.
func (t *target) version() string {
	d := dialect.Of(t.shape())
	if d.Pushing.Frame != nil {
		return ""
	}
	return d.Version
}

// mediaType returns the Content-Type of the notifications: v1.0 has one of its own
// (specification §4.3.3).
func (t *target) mediaType() string {
	if t.shape() == dialect.V1 {
		return "application/a2a+json"
	}
	return "application/json"
}

// skips reports whether an entry is not sent to a webhook. Events unknown to the protocol are
// for streams alone: a receiver that refuses one would hold up the events behind it. A webhook
// of v0.3 gets the whole task each time, so chunks inside an artifact are skipped.
func (t *target) skips(e *task.Entry) bool {
	inside := e.Kind == task.Artifact && e.Append && !e.LastChunk
	return e.Kind == task.Message || e.Kind == task.Other || inside && t.whole()
}

// taskFold is a task at some version, for webhooks that get whole tasks. It lives as long as a
// session.
type taskFold struct {
	fold task.Fold
	head task.Head
}

// notice is an entry with the body of its notification.
type notice struct {
	*task.Entry
	body []byte
}

// notice returns the notification of an entry.
func (d *Dispatcher) notice(ctx context.Context, h *hook, t *target, e *task.Entry) (*notice, error) {
	body, err := d.body(ctx, h, t, e)
	if err != nil {
		return nil, err
	}
	return &notice{e, body}, nil
}

func (d *Dispatcher) body(ctx context.Context, h *hook, t *target, e *task.Entry) ([]byte, error) {
	if !t.whole() {
		return t.shape().AppendFrame(nil, task.AppendFrame(nil, &t.head, e)), nil
	}
	if t.snapshot == nil || t.snapshot.fold.Version > e.Version {
		t.snapshot = &taskFold{head: t.head}
		// The log does not record which messages a run has read; none counts as lost.
		t.snapshot.head.Consumed = math.MaxInt64
	}
	if err := t.snapshot.advance(ctx, d.cfg.Store, h.key, e.Version); err != nil {
		return nil, err
	}
	v1 := t.snapshot.fold.AppendTask(nil, &t.snapshot.head, task.TaskOptions{Artifacts: true})
	return t.shape().AppendResult(nil, dialect.GetTask, v1), nil
}

var errShortLog = errors.New("the log ends before the version to send")

// advance folds the log up to a version.
func (s *taskFold) advance(ctx context.Context, log Store, key task.Key, version int64) error {
	for s.fold.Version < version {
		entries, err := log.Read(ctx, key, s.fold.Version)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return errShortLog
		}
		for i := range entries {
			if entries[i].Version > version {
				break
			}
			if err := s.add(&entries[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *taskFold) add(e *task.Entry) error {
	if e.Kind == task.Created || e.Kind == task.Status {
		s.head.State, s.head.StatusAt, s.head.StatusMessage = e.State, e.At, nil
		if e.Kind == task.Status {
			s.head.StatusMessage = e.Body
		}
	}
	return s.fold.Add(e)
}
