package caller

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// sentinels are the errors for statuses without a reason (specification §10.6).
var sentinels = map[codes.Code]error{
	codes.NotFound: a2a.ErrTaskNotFound, codes.InvalidArgument: a2a.ErrInvalidParams,
	codes.FailedPrecondition: a2a.ErrUnsupportedOperation, codes.Unimplemented: a2a.ErrMethodNotFound,
	codes.Unauthenticated: a2a.ErrUnauthenticated, codes.PermissionDenied: a2a.ErrUnauthorized,
	codes.Internal: a2a.ErrInternalError, codes.Unknown: a2a.ErrInternalError,
}

// statuses are the equivalent HTTP statuses, where callers act on them.
var statuses = map[codes.Code]int{
	codes.ResourceExhausted: http.StatusTooManyRequests, codes.DeadlineExceeded: http.StatusGatewayTimeout,
}

// explain returns the error of an agent. Errors of the connection are not converted to one.
func explain(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	info := infoOf(s)
	if s.Code() == codes.Unavailable && info == nil {
		if strings.Contains(s.Message(), "while dialing") {
			return fmt.Errorf("%s: %w", s.Message(), httpcall.ErrUnreachable)
		}
		return fmt.Errorf("gRPC: %s", s.Message())
	}
	e := &transport.Error{Message: s.Message(), Status: statuses[s.Code()], Err: sentinels[s.Code()]}
	if info != nil {
		e.Reason, e.Meta = info.Reason, info.Metadata
		if s.Code() == codes.Unavailable {
			e.Status = http.StatusServiceUnavailable
		}
	} else if e.Err != nil {
		e.Reason = a2a.ErrorReason(e.Err)
	}
	return e.Settle()
}

// infoOf returns the reason that a status has, or nil.
func infoOf(s *status.Status) *errdetails.ErrorInfo {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Reason != "" {
			return info
		}
	}
	return nil
}
