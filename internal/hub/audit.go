package hub

import (
	"errors"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/op"
)

// unwritten returns the error for a caller whose operation cannot be written to the audit log.
func unwritten(err error) *apierror.Error {
	f := &apierror.Error{Err: apierror.ErrUnavailable, Message: "the hub cannot write its audit log now", RetryAfter: 5 * time.Second}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		f.Message += ": the disk is full"
	case errors.Is(err, syscall.EROFS):
		f.Message += ": the disk is read-only"
	}
	return f
}

func actorOf(p *auth.Principal, from string) audit.Actor {
	if p == nil {
		return audit.Actor{From: from}
	}
	return audit.Actor{ID: p.ID, Owner: string(p.Owner()), Auth: p.Via, From: from}
}

// taskAuditor records the operations of callers on tasks.
type taskAuditor struct{ log *audit.Log }

var _ engine.Auditor = taskAuditor{}

func (a taskAuditor) Begin(c *op.Caller, d engine.AuditEvent) (engine.AuditAck, error) {
	if !a.log.Has(d.Action) {
		return nil, nil
	}
	r := eventRecord(c, &d)
	p, err := a.log.Begin(&r)
	if err != nil {
		return nil, unwritten(err)
	}
	return onItsWay{p}, nil
}

// onItsWay is an entry that is being written. It reports its error in a form for callers.
type onItsWay struct{ audit.Pending }

func (w onItsWay) Wait() error {
	if err := w.Pending.Wait(); err != nil {
		return unwritten(err)
	}
	return nil
}

func (a taskAuditor) Abort(c *op.Caller, d engine.AuditEvent, err error) {
	r := eventRecord(c, &d)
	if d.Action == audit.PolicyRefused {
		r.Reason = d.Op + " is not allowed"
		a.log.Refused(&r)
		return
	}
	report := dialect.Explain(err, "")
	r.Reason, r.Outcome = report.Reason, audit.Refused
	if report.HTTP >= http.StatusInternalServerError {
		r.Outcome = audit.Failed
	}
	a.log.Note(&r)
}

func (a taskAuditor) Read(c *op.Caller, d engine.AuditEvent) {
	if a.log.Has(d.Action) {
		r := eventRecord(c, &d)
		a.log.Note(&r)
	}
}

func eventRecord(c *op.Caller, d *engine.AuditEvent) audit.Record {
	r := audit.Record{
		Actor: actorOf(c.Principal, c.From), Action: d.Action, Trace: traceOf(c.Params["traceparent"]),
		Subject: audit.Subject{Kind: "task", Agent: string(d.Agent), Task: string(d.Task)},
	}
	switch {
	case d.Child:
		r.Actor.Auth = "delegation"
	case d.Part != "":
		r.Subject.Kind, r.Subject.ID = "part", d.Part
	case d.Config != "":
		r.Subject.Kind, r.Subject.ID = "webhook", d.Config
	case d.Hook:
		r.Detail = []audit.Field{{Name: "webhook", Value: "yes"}}
	}
	return r
}

// traceOf returns the trace id of a traceparent (W3C Trace Context §3.2).
func traceOf(values []string) string {
	const begin, end = 3, 35
	if len(values) != 1 || len(values[0]) < end || values[0][begin-1] != '-' {
		return ""
	}
	return values[0][begin:end]
}

type apiAuditor struct{ log *audit.Log }

var _ adminapi.Auditor = apiAuditor{}

// Asked implements adminapi.Auditor. A request for resources of the caller is recorded only
// once, after it has ended.
func (a apiAuditor) Asked(r *http.Request, d *adminapi.AuditEvent) error {
	if !a.log.Has(d.Action) {
		return nil
	}
	if d.Own {
		if err := a.log.Trouble(); err != nil {
			return unwritten(err)
		}
		return nil
	}
	rec := requestRecord(r, d)
	rec.Outcome = audit.Asked
	p, err := a.log.Begin(rec)
	if err = errors.Join(err, p.Wait()); err != nil {
		return unwritten(err)
	}
	d.Asked = p.Seq
	return nil
}

func (a apiAuditor) Ended(r *http.Request, d *adminapi.AuditEvent) error {
	rec := requestRecord(r, d)
	if d.Asked > 0 {
		rec.Detail = append(rec.Detail, audit.Field{Name: "asked", Value: strconv.FormatUint(d.Asked, 10)})
	}
	if err := a.log.Append(rec); err != nil {
		f := unwritten(err)
		f.Message += "; the operation may have been performed"
		return f
	}
	return nil
}

func (a apiAuditor) Refused(r *http.Request, d *adminapi.AuditEvent) {
	a.log.Refused(requestRecord(r, d))
}

func requestRecord(r *http.Request, d *adminapi.AuditEvent) *audit.Record {
	return &audit.Record{
		Actor: actorOf(auth.PrincipalFrom(r.Context()), r.RemoteAddr), Action: d.Action, Subject: d.Subject,
		Outcome: d.Outcome, Reason: d.Reason, Trace: traceOf(r.Header["Traceparent"]), Detail: d.Detail,
	}
}
