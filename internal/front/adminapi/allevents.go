package adminapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// maxEventStreams is the maximum number of open streams of all events.
const maxEventStreams = 64

// allEvents sends the events of the hub to an administrator, until the caller disconnects or
// the hub stops.
func (h *Handler) allEvents(w http.ResponseWriter, r *http.Request) {
	q, err := eventQuery(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer h.eventStreams.Add(-1)
	if h.eventStreams.Add(1) > maxEventStreams {
		h.fail(w, r, &apierror.Error{
			Err: apierror.ErrUnavailable, Message: "too many streams of events are open; at most " + strconv.Itoa(maxEventStreams), RetryAfter: 5 * time.Second,
		})
		return
	}
	d := h.auditEvent(r)
	d.Detail = eventDetail(r.URL.Query())
	if h.Audit != nil {
		if err := h.Audit.Asked(r, d); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	if r.Method == http.MethodHead {
		openEvents(w, r)
		return
	}
	sent := h.sendEvents(w, r, q)
	if h.Audit == nil {
		return
	}
	d.Outcome, d.Detail = audit.OK, append(d.Detail, audit.Field{Name: "events", Value: strconv.Itoa(sent)})
	if err := h.Audit.Ended(r, d); err != nil {
		h.log().Error("the end of a stream of events is not in the audit log", "error", err)
	}
}

// sendEvents sends the events of q, and returns their number.
func (h *Handler) sendEvents(w http.ResponseWriter, r *http.Request, q *events.Query) (sent int) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stream := openEvents(w, r)
	defer stream.beating(cancel)()
	for batch, err := range h.Events.Watch(ctx, *q) {
		switch {
		case err != nil && ctx.Err() == nil:
			h.log().Error("a stream of events has ended", "error", err)
			stream.fail()
			return sent
		case err != nil:
			return sent
		case stream.sendEvents(batch) != nil:
			return sent
		}
		for i := range batch {
			if batch[i].Type != "" {
				sent++
			}
		}
	}
	return sent
}

// fail sends the final event of a stream that cannot continue.
func (e *eventStream) fail() {
	_ = e.sendEvents([]events.Event{{
		Type: events.StreamEnd, Time: time.Now().UTC(), Data: map[string]any{"reason": "the hub cannot read its events now"},
	}}) // the final event
}

// sendEvents sends events with their ids in one piece. One without a type has no data: clients only
// store its id.
func (e *eventStream) sendEvents(batch []events.Event) error {
	var text []byte
	for i := range batch {
		v := &batch[i]
		if v.ID != "" {
			text = append(append(append(text, "id: "...), v.ID...), '\n')
		}
		if v.Type != "" {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			text = append(append(append(text, "data: "...), b...), '\n')
		}
		text = append(text, '\n')
	}
	return e.Send(text)
}

// eventQuery parses the query of a request. Last-Event-ID, which clients send when they
// reconnect, takes precedence over after.
func eventQuery(r *http.Request) (*events.Query, error) {
	v := r.URL.Query()
	q := &events.Query{
		Filter: events.Filter{
			Owner: task.Owner(v.Get("owner")), Agent: task.Agent(v.Get("agent")), Task: a2a.TaskID(v.Get("task")), Context: v.Get("context"),
		},
		After: v.Get("after"),
	}
	name := "after"
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		q.After, name = id, "Last-Event-ID"
	}
	if q.Check() != nil {
		return nil, apierror.Field(a2a.ErrInvalidParams, name, "is not the id of an event, nor %s for the oldest one", events.First)
	}
	if since := v.Get("since"); since != "" {
		var err error
		if q.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return nil, apierror.Field(a2a.ErrInvalidParams, "since", "is not a time like 2026-11-22T12:00:00Z")
		}
	}
	switch follow := v.Get("follow"); follow {
	case "", "true":
	case "false":
		q.Once = true
	default:
		return nil, apierror.Field(a2a.ErrInvalidParams, "follow", "must be true or false")
	}
	for _, list := range v["kind"] {
		for kind := range strings.SplitSeq(list, ",") {
			if kind = strings.TrimSpace(kind); !events.KnownKind(kind) {
				return nil, apierror.Field(a2a.ErrInvalidParams, "kind", "%q is not an event type or family; the families are %s",
					memory.Clip(kind, maxNamed), strings.Join(events.Families(), ", "))
			}
			q.Types = append(q.Types, kind)
		}
	}
	return q, nil
}

// eventDetail returns the filters of a request for the audit log.
func eventDetail(v url.Values) []audit.Field {
	detail := []audit.Field{{Name: "what", Value: "events"}}
	for _, name := range []string{"owner", "agent", "task", "context", "kind"} {
		if v.Has(name) {
			detail = append(detail, audit.Field{Name: name, Value: strings.Join(v[name], ",")})
		}
	}
	return detail
}
