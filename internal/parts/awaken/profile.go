package awaken

import (
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// profile has the choices of Awaken's server. Its clients join the chunks of an artifact by blank
// lines, so they get the whole answer as a message.
var profile = httpfront.Profile{Name: name, Choices: httpfront.Choices{
	Messages: true, ClientIDs: true, PlainCard: true, CardVersion: true, Error: adapt,
}}

// adapt gives a report the form of Awaken's errors: the field violation precedes the reason, a body
// of another media type is a field violation, an unknown action of a task is not found, and
// subscribing to a task that has ended is a conflict.
func adapt(r *dialect.Report, f *httpfront.Failure) {
	r.FieldsFirst = true
	switch {
	case errors.Is(f.Err, apierror.ErrMediaType):
		r.HTTP, r.GRPC = http.StatusBadRequest, dialect.InvalidArgument
		r.Violations = []apierror.Violation{{Field: "contentType", Problem: r.Message}}
	case f.Action:
		r.HTTP, r.GRPC, r.Message = http.StatusNotFound, dialect.NotFound, httpfront.NotServed
	case r.Sentinel == a2a.ErrUnsupportedOperation && f.Subscribe && r.Meta["taskId"] != "":
		r.HTTP = http.StatusConflict
	}
}
