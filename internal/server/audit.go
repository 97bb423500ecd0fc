package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
)

// auditParts are the audit log of a hub, and who writes to it. Without a log nobody does.
type auditParts struct {
	log     *audit.Log
	dir     string
	started bool
}

const (
	// auditName is the folder of the log in a data folder.
	auditName = "audit"
	// auditPlaceName is the file there that says where it is instead; "off" means nowhere.
	auditPlaceName = "audit.place"
)

// AuditFolder returns the folder of the audit log of a data folder; empty if there is to be
// none.
func AuditFolder(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, auditPlaceName))
	switch place := strings.TrimSpace(string(text)); {
	case errors.Is(err, os.ErrNotExist):
		return filepath.Join(data, auditName), nil
	case err != nil:
		return "", err
	case place == string(audit.Off):
		return "", nil
	default:
		return place, nil
	}
}

// setAuditPlace notes where the audit log is, for commands that do not know the configuration.
func (h *Hub) setAuditPlace() error {
	path, place := h.dir.Join(auditPlaceName), h.cfg.Audit.Dir
	if h.cfg.Audit.Off() {
		place = string(audit.Off)
	}
	if place == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if text, err := os.ReadFile(path); err == nil && string(text) == place+"\n" {
		return nil
	}
	return atomicfile.Replace(path, []byte(place+"\n"), 0o600)
}

// openAudit opens the audit log, unless there is to be none.
func (h *Hub) openAudit() error {
	if h.cfg.Conformance {
		return nil
	}
	if err := h.setAuditPlace(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if h.cfg.Audit.Off() {
		return nil
	}
	key, err := hubkey.Audit(h.dir.Join(hubkey.FileName))
	if err != nil {
		return err
	}
	o := h.cfg.Audit.Options()
	o.Dir, o.Key, o.Logger = cmp.Or(h.cfg.Audit.Dir, h.dir.Join(auditName)), key, h.logger
	h.audit.dir = o.Dir
	h.audit.log, err = audit.Open(o)
	return err
}

// auditStart writes down that the hub serves from now on, and by which configuration. A hub
// whose disk is full starts nevertheless: it refuses what it cannot write down.
func (h *Hub) auditStart() {
	l := h.audit.log
	if l == nil {
		return
	}
	h.audit.started = true
	if h.cfg.File != "" {
		sum := "unknown"
		if text, err := os.ReadFile(h.cfg.File); err == nil {
			digest := sha256.Sum256(text)
			sum = hex.EncodeToString(digest[:])
		}
		l.Note(&audit.Record{
			Actor: theHub, Action: audit.ConfigLoad, Subject: audit.Subject{Kind: "config", ID: filepath.Base(h.cfg.File)},
			Detail: []audit.Field{{Name: "sha256", Value: sum}},
		})
	}
	if h.policy != nil {
		h.audit.policyLoaded(h.cfg.Policy.File, h.policy.Sum(), nil)
	}
	err := l.Append(&audit.Record{
		Actor: theHub, Action: audit.HubStart, Subject: audit.Subject{Kind: "hub", ID: parley.Version},
		Detail: []audit.Field{{Name: "listen", Value: h.listener.Addr().String()}, {Name: "keys", Value: strconv.FormatBool(h.keys.On())}},
	})
	if err != nil {
		h.logger.Error("the start of the hub is not in the audit log", "error", err)
	}
	h.logger.Info("audit log", "head", l.Head().String(), "key", audit.KeyText(l.Key()), "folder", h.audit.dir)
}

// theHub is who does what nobody has asked for.
var theHub = audit.Actor{ID: "hub"}

// auditStop writes down that the hub has stopped, and closes the log.
func (h *Hub) auditStop() error {
	l := h.audit.log
	if l == nil {
		return nil
	}
	if h.audit.started {
		l.Note(&audit.Record{Actor: theHub, Action: audit.HubStop, Subject: audit.Subject{Kind: "hub", ID: parley.Version}})
	}
	err := l.Close()
	if h.audit.started {
		h.logger.Info("audit log", "head", l.Head().String())
	}
	return err
}

// checks says how the parts of the hub are that the engine does not know.
func (h *Hub) checks() []engine.Check {
	all := h.busParts.checks()
	if c, ok := h.policyCheck(); ok {
		all = append(all, c)
	}
	if h.audit.log == nil {
		return all
	}
	check := engine.Check{Name: "audit", OK: true}
	if err := h.audit.log.Trouble(); err != nil {
		check.OK, check.Detail = false, unwritten(err).Message
	}
	return append(all, check)
}

// unwritten is what a caller is told whose deed cannot be written down.
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

// actorOf is a principal as the log has it.
func actorOf(p *auth.Principal, from string) audit.Actor {
	if p == nil {
		return audit.Actor{From: from}
	}
	return audit.Actor{ID: p.ID, Owner: string(p.Owner()), Auth: p.Via, From: from}
}

// refused writes down who is refused for their credentials.
func (a *auditParts) refused() func(*auth.Attempt) {
	if a.log == nil {
		return nil
	}
	return func(t *auth.Attempt) {
		s := audit.Subject{}
		if t.Key != "" {
			s = audit.Subject{Kind: "key", ID: t.Key}
		}
		a.log.Refused(&audit.Record{Actor: audit.Actor{From: t.From}, Action: audit.AuthRefused, Subject: s, Reason: t.Reason})
	}
}

// tasks writes down what callers do to tasks.
func (a *auditParts) tasks() engine.Auditor {
	if a.log == nil {
		return nil
	}
	return taskAuditor{a.log}
}

type taskAuditor struct{ log *audit.Log }

var _ engine.Auditor = taskAuditor{}

// Doing implements engine.Auditor.
func (a taskAuditor) Doing(c *op.Caller, d engine.Deed) (engine.Written, error) {
	if !a.log.Has(d.Action) {
		return nil, nil
	}
	r := deedRecord(c, &d)
	p, err := a.log.Begin(&r)
	if err != nil {
		return nil, unwritten(err)
	}
	return onItsWay{p}, nil
}

// onItsWay is an entry whose error is for callers.
type onItsWay struct{ audit.Pending }

// Wait implements engine.Written.
func (w onItsWay) Wait() error {
	if err := w.Pending.Wait(); err != nil {
		return unwritten(err)
	}
	return nil
}

// Undone implements engine.Auditor.
func (a taskAuditor) Undone(c *op.Caller, d engine.Deed, err error) {
	r := deedRecord(c, &d)
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

// Looked implements engine.Auditor.
func (a taskAuditor) Looked(c *op.Caller, d engine.Deed) {
	if a.log.Has(d.Action) {
		r := deedRecord(c, &d)
		a.log.Note(&r)
	}
}

// deedRecord is what is written down of a deed.
func deedRecord(c *op.Caller, d *engine.Deed) audit.Record {
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

// traceOf returns the trace that a traceparent names (W3C Trace Context §3.2).
func traceOf(values []string) string {
	const begin, end = 3, 35
	if len(values) != 1 || len(values[0]) < end || values[0][begin-1] != '-' {
		return ""
	}
	return values[0][begin:end]
}

// api writes down what is asked of the hub's own interface.
func (a *auditParts) api() adminapi.Auditor {
	if a.log == nil {
		return nil
	}
	return apiAuditor{a.log}
}

// reader is what administrators read of the log.
func (a *auditParts) reader() *adminapi.AuditLog {
	if a.log == nil {
		return nil
	}
	return &adminapi.AuditLog{Log: a.log, Dir: a.dir}
}

type apiAuditor struct{ log *audit.Log }

var _ adminapi.Auditor = apiAuditor{}

// Asked implements adminapi.Auditor. What belongs to the caller is written down once, when it
// was done.
func (a apiAuditor) Asked(r *http.Request, d *adminapi.Deed) error {
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

// Ended implements adminapi.Auditor.
func (a apiAuditor) Ended(r *http.Request, d *adminapi.Deed) error {
	rec := requestRecord(r, d)
	if d.Asked > 0 {
		rec.Detail = append(rec.Detail, audit.Field{Name: "asked", Value: strconv.FormatUint(d.Asked, 10)})
	}
	if err := a.log.Append(rec); err != nil {
		f := unwritten(err)
		f.Message += "; what was asked for may have been done"
		return f
	}
	return nil
}

// Refused implements adminapi.Auditor.
func (a apiAuditor) Refused(r *http.Request, d *adminapi.Deed) { a.log.Refused(requestRecord(r, d)) }

// requestRecord is what is written down of a request.
func requestRecord(r *http.Request, d *adminapi.Deed) *audit.Record {
	return &audit.Record{
		Actor: actorOf(auth.PrincipalFrom(r.Context()), r.RemoteAddr), Action: d.Action, Subject: d.Subject,
		Outcome: d.Outcome, Reason: d.Reason, Trace: traceOf(r.Header["Traceparent"]), Detail: d.Detail,
	}
}
