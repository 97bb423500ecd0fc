package httpfront

import (
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

// asAwaken adapts a report to the errors of Awaken's server below /v1/a2a: the field violation
// precedes the reason, a body of another media type is a field violation, an unknown action of
// a task is not found, and subscribing to a task that has ended is a conflict.
func (x *exchange) asAwaken(err error, report *dialect.Report) {
	report.FieldsFirst = true
	switch {
	case errors.Is(err, apierror.ErrMediaType):
		report.HTTP, report.GRPC = http.StatusBadRequest, dialect.InvalidArgument
		report.Violations = []apierror.Violation{{Field: "contentType", Problem: report.Message}}
	case report.HTTP == http.StatusMethodNotAllowed && x.route.kind == atTask && x.r.Method == http.MethodPost:
		report.HTTP, report.GRPC, report.Message = http.StatusNotFound, dialect.NotFound, notServed
	case report.Sentinel == a2a.ErrUnsupportedOperation && x.route.kind == atSubscribe && report.Meta["taskId"] != "":
		report.HTTP = http.StatusConflict
	}
}

// cardVersion refuses a card in a protocol version that Awaken's server does not have, if the
// hub follows Awaken's behaviour.
func (x *exchange) cardVersion() error {
	if !x.front.cfg.Awaken || x.route.kind != atCard {
		return nil
	}
	return dialect.Version(x.versions(), dialect.REST)
}
