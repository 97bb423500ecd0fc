package adminapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// maxLogPage is the maximum number of entries in a page of a log. A page also ends after
	// maxLogBytes bytes of content: the engine reads a single entry of that size, and waits for the memory
	// of the next one, which a page must not do with the first one in its hands.
	maxLogPage  = 1000
	maxLogBytes = 2 << 20
	// maxReason is the maximum length of the reason of a failure, in characters.
	maxReason = 500
)

// openLog opens the log that a request names, of a task of the caller or of any owner.
func (h *Handler) openLog(r *http.Request, after int64) (*engine.Stream, error) {
	id := a2a.TaskID(r.PathValue("id"))
	if !everyOwner(r) {
		return h.Logs.OpenLog(r.Context(), callerOf(r), id, after)
	}
	if h.Control == nil {
		return nil, errNoPath
	}
	o := &Operation{Owner: task.Owner(r.URL.Query().Get("owner"))}
	s, err := h.Control.InspectLog(r.Context(), target(r, o), after)
	return s, h.operationError(r, o, err)
}

func (h *Handler) taskLog(r *http.Request) (*adminjson.TaskLog, error) {
	q := r.URL.Query()
	after, err := version("after", q.Get("after"))
	if err != nil {
		return nil, err
	}
	limit, err := numberOf(q, "limit", maxLogPage, maxLogPage)
	if err != nil {
		return nil, err
	}
	frames, err := framesOf(q.Get("frames"))
	if err != nil {
		return nil, err
	}
	s, err := h.openLog(r, after)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	page := logOf(&s.Task, everyOwner(r))
	if h.Control != nil && h.may(r, policy.Request{Op: policy.AdminTasks}) {
		page.Operations = operationsOn(&s.Task)
	}
	if after == 0 { // further pages are of one reading
		page.Task.Waiting = h.waiting(r, &s.Task)[0]
	}
	if err := h.excerpt(r, &s.Task, &page.Task); err != nil {
		return nil, err
	}
	for size := 0; ; {
		events, err := s.Available(r.Context())
		if err != nil {
			return nil, err
		}
		for i := range events {
			e := &events[i]
			if len(page.Entries) == limit {
				page.Next = page.Entries[len(page.Entries)-1].Version
				return page, nil
			}
			page.Entries = append(page.Entries, logEntry(&e.Entry))
			if frames != nil && e.Frame != nil {
				page.Entries[len(page.Entries)-1].Frames = frames(e.Frame)
			}
			size += e.Size()
		}
		if len(events) == 0 {
			return page, nil
		}
		if size > maxLogBytes {
			if v := page.Entries[len(page.Entries)-1].Version; v < page.Version {
				page.Next = v
			}
			return page, nil
		}
	}
}

// logOf returns a page without entries.
func logOf(h *task.Head, owner bool) *adminjson.TaskLog {
	page := &adminjson.TaskLog{
		Task: taskInfo(h), Version: h.Version, Worker: string(h.Assigned), Attempt: h.Run.Epoch, CancelRequested: h.CancelAt != 0, Revision: engine.Revision(h), Entries: []adminjson.LogEntry{},
	}
	page.Task.Reason = reasonOf(h)
	if owner {
		page.Task.Owner = string(h.Owner)
	}
	return page
}

// reasonOf returns the text with which a task has failed, was rejected or canceled.
func reasonOf(h *task.Head) string {
	if t := h.State; t != task.Failed && t != task.Rejected && t != task.Canceled {
		return ""
	}
	return clip.Fit(strings.Join(strings.Fields(firstText(h.StatusMessage)), " "), maxReason)
}

// logEntry converts an entry to JSON, without the data that callers must not see.
func logEntry(e *task.Entry) adminjson.LogEntry {
	l := adminjson.LogEntry{Version: e.Version, Time: e.At.Time(), Attempt: e.Epoch, Metadata: e.Meta}
	switch e.Kind {
	case task.Created:
		l.Kind, l.State, l.Message = "created", e.State.String(), e.Body
	case task.Message:
		l.Kind, l.Message = "message", e.Body
	case task.Status:
		l.Kind, l.State, l.Message = "status", e.State.String(), e.Body
	case task.Artifact:
		l.Kind, l.Artifact, l.Append, l.LastChunk = "artifact", e.Body, e.Append, e.LastChunk
	default:
		l.Kind, l.Other = "other", e.Body
	}
	return l
}

// version parses the number of an entry; empty means the beginning of the log.
func version(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, apierror.Field(a2a.ErrInvalidParams, name, "is not the version of an entry")
	}
	return n, nil
}

// taskLogEvents sends the entries of a log, old and new; the id of each is its version. The
// event "end" marks a complete stream; a stream that ends without it may be requested again.
func (h *Handler) taskLogEvents(w http.ResponseWriter, r *http.Request) {
	name, text := "after", r.URL.Query().Get("after")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		name, text = "Last-Event-ID", id
	}
	after, err := version(name, text)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	ended, err := h.inspected(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer ended()
	s, err := h.openLog(r, after)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer s.Close()
	h.sendLog(w, r, s)
}

// inspected records the request for the stream of a task of any owner. The returned function
// records its end.
func (h *Handler) inspected(r *http.Request) (ended func(), err error) {
	if h.Audit == nil || !everyOwner(r) {
		return func() {}, nil
	}
	d := h.auditEvent(r)
	if err := h.Audit.Asked(r, d); err != nil {
		return nil, err
	}
	return func() {
		d.Outcome = audit.OK
		if err := h.Audit.Ended(r, d); err != nil {
			h.log().Error("the end of a stream of a log is not in the audit log", "error", err)
		}
	}, nil
}

// sendLog sends the entries of s until it ends.
func (h *Handler) sendLog(w http.ResponseWriter, r *http.Request, s *engine.Stream) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stream := openEvents(w, r)
	if r.Method == http.MethodHead {
		return
	}
	defer stream.beating(cancel)()
	for {
		events, err := s.Next(ctx, 0)
		switch {
		case errors.Is(err, io.EOF) && s.Ended():
			stream.end()
			return
		case err != nil:
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				h.log().Error("a stream of a log has ended", "task", s.Task.ID, "error", err)
			}
			return
		}
		for i := range events {
			entry := logEntry(&events[i].Entry)
			if stream.send("id: "+strconv.FormatInt(entry.Version, 10)+"\n") != nil || stream.sendJSON(&entry) != nil {
				return
			}
		}
	}
}

// framesOf returns a function that converts v1.0 frames to a dialect; nil for an empty name.
func framesOf(name string) (func(v1 []byte) []json.RawMessage, error) {
	if name == "" {
		return nil, nil
	}
	shape, ok := dialect.ParseShape(name)
	if !ok {
		return nil, apierror.Field(a2a.ErrInvalidParams, "frames", "is not a dialect such as v1.0 or v0.3")
	}
	convert := shape.Frames(nil)
	return func(v1 []byte) (all []json.RawMessage) {
		for _, f := range convert(v1) {
			all = append(all, f)
		}
		return all
	}, nil
}
