package adminapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
)

// AuditLog is the audit log that administrators read.
type AuditLog struct {
	*audit.Log
	// Dir is its folder.
	Dir string

	verifying sync.Mutex // held while the log is verified
}

// AuditPage is the answer of GET /api/v1/audit.
type AuditPage struct {
	// Entries are the entries in the log, byte for byte.
	Entries []json.RawMessage `json:"entries"`
	// Next is the number after which the next page begins; zero at the end of the log. A
	// page without entries may have one.
	Next uint64 `json:"next,omitempty"`
	// Head is the last entry on the disk, Log the name of the log and Key its public key.
	Head audit.Mark `json:"head"`
	Log  string     `json:"log"`
	Key  string     `json:"key"`
}

const (
	auditPage    = 100
	maxAuditPage = 1000
	// maxAuditScan is how many bytes of the log are read for a page without a match.
	maxAuditScan = 16 << 20
	// maxAuditBytes is the maximum total size of the entries of a page.
	maxAuditBytes = 4 << 20
)

// listAudit answers with a page of entries.
func (h *Handler) listAudit(r *http.Request) (*AuditPage, error) {
	q, limit, err := auditQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	if q.After == 0 && h.Audit != nil { // record a query once, and not for each of its pages
		d := h.auditEvent(r)
		d.Outcome = audit.OK
		if err := h.Audit.Ended(r, d); err != nil {
			return nil, err
		}
	}
	p, err := h.AuditLog.page(r.Context(), q, limit)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// page reads a page of entries up to the head, the last durable entry.
func (l *AuditLog) page(ctx context.Context, q *audit.Query, limit int) (*AuditPage, error) {
	p := &AuditPage{Entries: []json.RawMessage{}, Head: l.Head(), Log: l.ID(), Key: audit.KeyText(l.Key())}
	size := 0
	for line, err := range audit.Read(ctx, l.Dir, *q, maxAuditScan) {
		switch {
		case err != nil:
			return nil, err
		case line.Seq > p.Head.Seq:
			return p, nil
		case line.Action == "":
			p.Next = line.Seq
			return p, nil
		case len(p.Entries) == limit || size > maxAuditBytes:
			p.Next = q.After
			return p, nil
		}
		p.Entries = append(p.Entries, append(json.RawMessage(nil), line.Raw[:len(line.Raw)-1]...))
		size += len(line.Raw)
		q.After = line.Seq
	}
	return p, nil
}

func auditQuery(values url.Values) (q *audit.Query, limit int, err error) {
	q = &audit.Query{Actor: values.Get("actor"), Action: values.Get("action"), Task: values.Get("task"), Agent: values.Get("agent")}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := values.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return nil, 0, apierror.Field(a2a.ErrInvalidParams, name, "is not a time like 2026-11-22T12:00:00Z")
			}
		}
	}
	if text := values.Get("after"); text != "" {
		if q.After, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, 0, apierror.Field(a2a.ErrInvalidParams, "after", "is not an entry number")
		}
	}
	limit, err = numberOf(values, "limit", auditPage, maxAuditPage)
	return q, limit, err
}

// verifyAudit verifies the whole log with the key of the hub. One request at a time may do so.
func (h *Handler) verifyAudit(*http.Request) (*adminjson.AuditReport, error) {
	if !h.AuditLog.verifying.TryLock() {
		return nil, &apierror.Error{Err: apierror.ErrUnavailable, Message: "the audit log is being verified for another caller", RetryAfter: 5 * time.Second}
	}
	defer h.AuditLog.verifying.Unlock()
	head := h.AuditLog.Head()
	check := audit.Check{Key: h.AuditLog.Key()}
	if head.Seq > 0 {
		check.Heads = []audit.Mark{head}
	}
	rep, err := audit.Verify(h.AuditLog.Dir, check)
	if err != nil {
		return nil, err
	}
	return AuditReport(rep), nil
}

// AuditReport returns the answer with a report.
func AuditReport(rep *audit.Report) *adminjson.AuditReport {
	return &adminjson.AuditReport{
		Log: rep.Log, Key: rep.Key, Files: rep.Files, Entries: rep.Entries, First: rep.First, Last: rep.Last.Seq, Signed: rep.Signed,
		Problems: problemTexts(rep.Problems), Notes: problemTexts(rep.Notes),
	}
}

func problemTexts(all []audit.Problem) []string {
	texts := []string{}
	for i := range all {
		texts = append(texts, all[i].String())
	}
	return texts
}
