package adminapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
)

// Checker checks whether other agents comply with the specification. Methods are called
// concurrently.
type Checker interface {
	// Check checks an agent until ctx ends. Then the report is incomplete. The error is
	// ErrCheckBusy, or ErrCheckInvalid with a reason for the caller.
	Check(ctx context.Context, q *adminjson.CheckRequest) (*adminjson.CheckReport, error)
}

// Errors of a Checker.
var (
	ErrCheckBusy    = errors.New("another caller is checking an agent")
	ErrCheckInvalid = errors.New("the agent cannot be checked")
)

// conformance checks an agent and answers with the report. A caller that disconnects ends the
// check.
func (h *Handler) conformance(r *http.Request, q *adminjson.CheckRequest) (*adminjson.CheckReport, error) {
	if strings.TrimSpace(q.URL) == "" {
		return nil, apierror.Field(a2a.ErrInvalidParams, "url", "is missing")
	}
	report, err := h.Checker.Check(r.Context(), q)
	switch {
	case errors.Is(err, ErrCheckBusy):
		return nil, &apierror.Error{Err: apierror.ErrUnavailable, Message: ErrCheckBusy.Error(), RetryAfter: 10 * time.Second}
	case errors.Is(err, ErrCheckInvalid):
		return nil, apierror.New(a2a.ErrInvalidParams, "%s", strings.TrimPrefix(err.Error(), ErrCheckInvalid.Error()+": "))
	case err != nil:
		return nil, err
	}
	about(r, audit.Subject{Kind: "agent", ID: report.URL})
	return report, nil
}
