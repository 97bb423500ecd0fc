package adminapi

import (
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/dialect"
)

// DeadList is the answer of GET /api/v1/dead.
type DeadList struct {
	// Letters are the letters without their envelopes, the newest first.
	Letters []queue.Letter `json:"letters"`
	// NextPageToken continues the list; empty at its end.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

const (
	deadPage    = 100
	maxDeadPage = 1000
)

// errNoBus is returned by a hub without a bus. The others are errors of this API beside those
// of the protocol.
var (
	errNoBus = apierror.New(a2a.ErrMethodNotFound,
		"the hub has no bus, and so no dead letters: bus.url (serve --bus) is off; leave it out, or set it to the address of a broker")
	errNoLetter = dialect.Report{
		Row:     dialect.Row{HTTP: http.StatusNotFound, GRPC: dialect.NotFound, Reason: "LETTER_NOT_FOUND"},
		Message: queue.ErrNoLetter.Error(),
	}
	rowNotReplayed = dialect.Row{HTTP: http.StatusConflict, GRPC: dialect.FailedPrecondition, Reason: "NOT_POSSIBLE"}
	rowNoBroker    = dialect.Row{HTTP: http.StatusServiceUnavailable, GRPC: dialect.Unavailable, Reason: "BROKER_UNAVAILABLE"}
)

// ofBus returns the call of a request about dead letters, which fails if the hub has no bus.
func (h *Handler) ofBus(c call) call {
	answer := c.answer
	c.answer = func(r *http.Request) (any, error) {
		if h.Dead == nil {
			return nil, errNoBus
		}
		return answer(r)
	}
	return c
}

func (h *Handler) listDead(r *http.Request) (*DeadList, error) {
	values := r.URL.Query()
	q := &queue.LetterQuery{Queue: values.Get("queue"), Task: values.Get("task"), After: queue.LetterID(values.Get("pageToken"))}
	limit, err := pageSize(values, deadPage, maxDeadPage)
	if err != nil {
		return nil, err
	}
	q.Limit = limit + 1 // one more, to detect a further page
	found, err := h.Dead.Store.Letters(r.Context(), q)
	if errors.Is(err, queue.ErrNoLetter) {
		return nil, apierror.Field(a2a.ErrInvalidParams, "pageToken", "the letter that the page ended with is gone; start from the first page")
	}
	if err != nil {
		return nil, err
	}
	answer := DeadList{Letters: append([]queue.Letter{}, found[:min(limit, len(found))]...)}
	if len(found) > limit {
		answer.NextPageToken = string(found[limit-1].ID)
	}
	return &answer, nil
}

func (h *Handler) showDead(r *http.Request) (*queue.Letter, error) {
	l, err := h.Dead.Store.Letter(r.Context(), letterOf(r))
	if err != nil {
		return nil, deadError(r, err)
	}
	return l, nil
}

func (h *Handler) replayDead(r *http.Request, _ *struct{}) (*queue.Letter, error) {
	l, err := h.Dead.Replay(r.Context(), letterOf(r))
	if err != nil {
		return nil, deadError(r, err)
	}
	h.record(r, "dead letter is published again", "letter", letterOf(r), "queue", l.Queue, "task", l.Task)
	l.Envelope = nil
	return l, nil
}

// dropDead deletes a letter.
func (h *Handler) dropDead(r *http.Request) (*queue.Letter, error) {
	l, err := h.Dead.Store.Letter(r.Context(), letterOf(r))
	if err == nil {
		err = h.Dead.Drop(r.Context(), letterOf(r))
	}
	if err != nil {
		return nil, deadError(r, err)
	}
	h.record(r, "dead letter is dropped", "letter", letterOf(r), "queue", l.Queue, "task", l.Task)
	l.Envelope = nil
	return l, nil
}

func deadError(r *http.Request, err error) error {
	switch {
	case errors.Is(err, queue.ErrNoLetter):
		return named(errNoLetter, r.PathValue("id"))
	case errors.Is(err, queue.ErrUnreadable), errors.Is(err, queue.ErrForged), errors.Is(err, queue.ErrNoQueue):
		return refuseRow(rowNotReplayed, err)
	case errors.Is(err, bus.ErrUnavailable), errors.Is(err, bus.ErrFull), errors.Is(err, bus.ErrUnknown), errors.Is(err, bus.ErrClosed):
		return refuseRow(rowNoBroker, err)
	}
	return err
}

func letterOf(r *http.Request) queue.LetterID { return queue.LetterID(r.PathValue("id")) }
