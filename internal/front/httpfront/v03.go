package httpfront

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// anyPush answers GetPushConfig of v0.3 without a config id: with the first config of the task.
func (x *exchange) anyPush(r *op.PushList, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	r.PageSize = 1
	p, err := x.front.cfg.Engine.ListPush(x.r.Context(), &x.caller, r)
	if err != nil {
		return err
	}
	if len(p.Configs) == 0 {
		return apierror.New(a2a.ErrTaskNotFound, "the task has no push notification config")
	}
	return x.pushConfig(&p.Configs[0], nil)
}

// following returns the source of a stream's events in the dialect of the call.
func (x *exchange) following(st *engine.Stream) source {
	switch x.shape {
	case dialect.V03, dialect.V03Proto:
		return &untilInputRequired{source: st}
	}
	return st
}

// untilInputRequired ends a stream when the task asks for input. A v0.3 event then states that it is
// the last one, and some readers wait for the end before they continue.
type untilInputRequired struct {
	source
	asked bool
}

// Next implements source.
func (u *untilInputRequired) Next(ctx context.Context, wait time.Duration) ([]engine.Event, error) {
	if u.asked {
		return nil, io.EOF
	}
	events, err := u.source.Next(ctx, wait)
	for i := range events {
		if events[i].Kind == task.Status && events[i].State == task.InputRequired {
			u.asked = true
			return events[:i+1], err
		}
	}
	return events, err
}

// wantsEvents reports whether an error with the HTTP status is sent as an event. A call for a
// stream of v0.3 is answered with a stream, and some of its clients detect no error in anything
// else.
func (x *exchange) wantsEvents(code int) bool {
	return x.shape == dialect.V03 && x.operation.Streaming() && code == http.StatusOK
}

// failStream answers with a stream that has a single error.
func (x *exchange) failStream(report *dialect.Report) {
	x.wrote = true
	s := &eventWriter{w: x.w, rc: x.rc, timeout: x.front.cfg.Limits.WriteTime, timed: x.r.ProtoMajor > 1}
	s.begin()
	_ = s.send(s.appendEvent(nil, 0, x.appendError(nil, report))) // an error means that the client has disconnected
}
