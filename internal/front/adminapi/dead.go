package adminapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/deadletter"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// DeadList is the answer of GET /api/v1/dead.
type DeadList struct {
	// Letters are without their envelopes, the newest first.
	Letters []deadletter.Letter `json:"letters"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

const (
	deadPage    = 100
	maxDeadPage = 1000
)

// errNoBus is about a hub without a bus. The others are what this API has beside the errors of
// the protocol.
var (
	errNoBus = apierror.New(a2a.ErrMethodNotFound,
		"the hub has no bus, and so no dead letters: bus.url (serve --bus) is off; leave it out, or set it to the address of a broker")
	errNoLetter = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "LETTER_NOT_FOUND"},
		Message: deadletter.ErrNoLetter.Error(),
	}
	rowNotReplayed = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "NOT_POSSIBLE"}
	rowNoBroker    = dialect.Row{HTTP: http.StatusServiceUnavailable, GRPC: dialect.Unavailable, Reason: "BROKER_UNAVAILABLE"}
)

// deadRoute returns what a path below the root serves about dead letters.
func (h *Handler) deadRoute(below string) endpoint {
	rest, ok := strings.CutPrefix(below, "/dead")
	if !ok {
		return endpoint{}
	}
	if rest == "" {
		return endpoint{get: h.ofBus(h.listDead), secret: true}
	}
	id, verb, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	with := func(f func(http.ResponseWriter, *http.Request, deadletter.ID)) http.HandlerFunc {
		return h.ofBus(func(w http.ResponseWriter, r *http.Request) { f(w, r, deadletter.ID(id)) })
	}
	switch {
	case rest[0] != '/' || id == "" || strings.HasSuffix(rest, "/"):
		return endpoint{}
	case verb == "":
		return endpoint{get: with(h.showDead), delete: with(h.dropDead), secret: true}
	case verb == "replay":
		return endpoint{post: with(h.replayDead)}
	}
	return endpoint{}
}

// ofBus returns what serves a request about dead letters: serve, unless the hub has no bus.
func (h *Handler) ofBus(serve http.HandlerFunc) http.HandlerFunc {
	if h.Dead != nil {
		return serve
	}
	return func(w http.ResponseWriter, r *http.Request) { h.fail(w, r, errNoBus) }
}

// listDead answers with a page of letters.
func (h *Handler) listDead(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	q := &deadletter.Query{Queue: values.Get("queue"), Task: values.Get("task"), After: deadletter.ID(values.Get("pageToken")), Limit: deadPage}
	if s := values.Get("pageSize"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			h.fail(w, r, apierror.Field(a2a.ErrInvalidParams, "pageSize", "is not a number from 1"))
			return
		}
		q.Limit = min(n, maxDeadPage)
	}
	limit := q.Limit
	q.Limit++ // to see whether there are more
	found, err := h.Dead.Book.Letters(r.Context(), q)
	if errors.Is(err, deadletter.ErrNoLetter) {
		h.fail(w, r, apierror.Field(a2a.ErrInvalidParams, "pageToken", "the letter that the page ended with is gone; begin anew"))
		return
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer := DeadList{Letters: append([]deadletter.Letter{}, found[:min(limit, len(found))]...)}
	if len(found) > limit {
		answer.NextPageToken = string(found[limit-1].ID)
	}
	h.answer(w, r, &answer)
}

func (h *Handler) showDead(w http.ResponseWriter, r *http.Request, id deadletter.ID) {
	l, err := h.Dead.Book.Letter(r.Context(), id)
	if err != nil {
		h.failDead(w, r, id, err)
		return
	}
	h.answer(w, r, l)
}

// replayDead publishes a letter again.
func (h *Handler) replayDead(w http.ResponseWriter, r *http.Request, id deadletter.ID) {
	var nothing struct{}
	if err := decode(r, &nothing); err != nil {
		h.fail(w, r, err)
		return
	}
	l, err := h.Dead.Replay(r.Context(), id)
	if err != nil {
		h.failDead(w, r, id, err)
		return
	}
	h.record(r, "dead letter is published again", "letter", id, "queue", l.Queue, "task", l.Task)
	l.Envelope = nil
	h.answer(w, r, l)
}

// dropDead forgets a letter.
func (h *Handler) dropDead(w http.ResponseWriter, r *http.Request, id deadletter.ID) {
	l, err := h.Dead.Book.Letter(r.Context(), id)
	if err == nil {
		err = h.Dead.Drop(r.Context(), id)
	}
	if err != nil {
		h.failDead(w, r, id, err)
		return
	}
	h.record(r, "dead letter is dropped", "letter", id, "queue", l.Queue, "task", l.Task)
	l.Envelope = nil
	h.answer(w, r, l)
}

func (h *Handler) failDead(w http.ResponseWriter, r *http.Request, id deadletter.ID, err error) {
	switch {
	case errors.Is(err, deadletter.ErrNoLetter):
		refuse(w, r, named(errNoLetter, string(id)))
	case errors.Is(err, deadletter.ErrUnreadable), errors.Is(err, deadletter.ErrForged), errors.Is(err, deadletter.ErrNoQueue):
		refuse(w, r, &dialect.Report{Row: rowNotReplayed, Message: err.Error()})
	case errors.Is(err, bus.ErrUnavailable), errors.Is(err, bus.ErrFull), errors.Is(err, bus.ErrUnknown), errors.Is(err, bus.ErrClosed):
		refuse(w, r, &dialect.Report{Row: rowNoBroker, Message: err.Error()})
	default:
		h.fail(w, r, err)
	}
}
