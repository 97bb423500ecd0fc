package dialect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/task"
)

// Row maps one kind of error to each wire format (specification §5.4).
type Row struct {
	// Sentinel is the error that an error of this kind wraps.
	Sentinel error
	// Code is the JSON-RPC error code.
	Code int
	// HTTP is the status of an HTTP+JSON answer.
	HTTP int
	// GRPC is the gRPC status.
	GRPC Status
	// Reason is ErrorInfo.reason.
	Reason string
}

// statusClientGone is the status that proxies log for a request whose client disconnected.
const statusClientGone = 499

// errorTable holds every error that callers may see. For an error that wraps several sentinels
// the first row counts, so the most specific rows are first. Codes outside of JSON-RPC's
// reserved range are those of the official SDKs. The SDKs' clients recognize an unauthenticated
// call by HTTP status 401, so auth.ErrUnauthenticated has the code that other clients expect.
var errorTable = []Row{
	{a2a.ErrTaskNotFound, -32001, http.StatusNotFound, NotFound, "TASK_NOT_FOUND"},
	{task.ErrNotFound, -32001, http.StatusNotFound, NotFound, "TASK_NOT_FOUND"},
	{a2a.ErrTaskNotCancelable, -32002, http.StatusBadRequest, FailedPrecondition, "TASK_NOT_CANCELABLE"},
	{a2a.ErrPushNotificationNotSupported, -32003, http.StatusBadRequest, FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	{a2a.ErrUnsupportedOperation, -32004, http.StatusBadRequest, FailedPrecondition, "UNSUPPORTED_OPERATION"},
	{a2a.ErrUnsupportedContentType, -32005, http.StatusBadRequest, InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED"},
	{a2a.ErrInvalidAgentResponse, -32006, http.StatusInternalServerError, Internal, "INVALID_AGENT_RESPONSE"},
	{a2a.ErrExtendedCardNotConfigured, -32007, http.StatusBadRequest, FailedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	{a2a.ErrExtensionSupportRequired, -32008, http.StatusBadRequest, FailedPrecondition, "EXTENSION_SUPPORT_REQUIRED"},
	{a2a.ErrVersionNotSupported, -32009, http.StatusBadRequest, FailedPrecondition, "VERSION_NOT_SUPPORTED"},
	{a2a.ErrUnauthenticated, -31401, http.StatusUnauthorized, Unauthenticated, "UNAUTHENTICATED"},
	{auth.ErrUnauthenticated, -32000, http.StatusUnauthorized, Unauthenticated, "UNAUTHENTICATED"},
	{a2a.ErrUnauthorized, -31403, http.StatusForbidden, PermissionDenied, "UNAUTHORIZED"},
	{apierror.ErrMediaType, -32005, http.StatusUnsupportedMediaType, InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED"},
	{apierror.ErrTooLarge, -32600, http.StatusRequestEntityTooLarge, ResourceExhausted, "REQUEST_TOO_LARGE"},
	{apierror.ErrExhausted, -32603, http.StatusTooManyRequests, ResourceExhausted, "RESOURCE_EXHAUSTED"},
	{apierror.ErrKeyReused, -32602, http.StatusConflict, AlreadyExists, "IDEMPOTENCY_KEY_REUSED"},
	{a2a.ErrMethodNotFound, -32601, http.StatusNotFound, Unimplemented, "METHOD_NOT_FOUND"},
	{a2a.ErrInvalidParams, -32602, http.StatusBadRequest, InvalidArgument, "INVALID_PARAMS"},
	{a2a.ErrInvalidRequest, -32600, http.StatusBadRequest, InvalidArgument, "INVALID_REQUEST"},
	{a2a.ErrParseError, -32700, http.StatusBadRequest, InvalidArgument, "PARSE_ERROR"},
	{apierror.ErrUnavailable, -32603, http.StatusServiceUnavailable, Unavailable, "UNAVAILABLE"},
	{task.ErrCorrupt, -32603, http.StatusInternalServerError, DataLoss, "DATA_LOSS"},
	{task.ErrUnavailable, -32603, http.StatusServiceUnavailable, Unavailable, "UNAVAILABLE"},
	{apierror.ErrDeadline, -32603, http.StatusGatewayTimeout, DeadlineExceeded, "DEADLINE_EXCEEDED"},
	{context.DeadlineExceeded, -32603, http.StatusGatewayTimeout, DeadlineExceeded, "DEADLINE_EXCEEDED"},
	{context.Canceled, -32603, statusClientGone, Canceled, "CANCELLED"},
	{a2a.ErrServerError, -32000, http.StatusInternalServerError, Internal, "SERVER_ERROR"},
	internalRow,
}

var internalRow = Row{
	a2a.ErrInternalError, -32603, http.StatusInternalServerError, Internal, "INTERNAL_ERROR",
}

// find returns the first row whose sentinel err wraps.
func find(err error) (Row, bool) {
	for _, row := range errorTable {
		if errors.Is(err, row.Sentinel) {
			return row, true
		}
	}
	return internalRow, false
}

// Sentinel returns the error of the table with the given reason, or nil. Clients identify an
// error by its reason, because statuses differ between versions of the protocol.
func Sentinel(reason string) error {
	for _, row := range errorTable {
		if row.Reason == reason {
			return row.Sentinel
		}
	}
	return nil
}

// Report is the description of an error that a caller receives. A surface with statuses of its
// own may change HTTP and GRPC before it writes the report.
type Report struct {
	Row
	Message    string
	Violations []apierror.Violation
	// Meta is ErrorInfo.metadata.
	Meta       map[string]string
	RetryAfter time.Duration
	// FieldsFirst puts the invalid fields before the reason.
	FieldsFirst bool
	// Hidden is set if the error's text was withheld from the caller. The operator finds it in
	// the log by the reference.
	Hidden bool
}

// Explain returns the report of err for a caller: the text of an apierror.Error or an
// a2a.Error, which were written for callers, or else the text of the sentinel. An error that is
// not in the table is reported as "internal error" with ref, and without its own text.
func Explain(err error, ref string) Report {
	var received *apierror.Error
	if errors.As(err, &received) {
		if row, ok := find(received.Err); ok {
			return Report{
				Row: row, Message: received.Error(),
				Violations: received.Violations, Meta: received.Meta, RetryAfter: received.RetryAfter,
			}
		}
		return hidden(internalRow, ref)
	}
	row, ok := find(err)
	if !ok {
		return hidden(row, ref)
	}
	var sdk *a2a.Error
	if errors.As(err, &sdk) && sdk.Message != "" && sdk.Err != nil && errors.Is(sdk.Err, row.Sentinel) {
		return Report{Row: row, Message: sdk.Message}
	}
	if row.Sentinel == a2a.ErrInternalError || row.Sentinel == a2a.ErrServerError {
		return hidden(row, ref)
	}
	r := Report{Row: row, Message: row.Sentinel.Error()}
	if row.Sentinel == task.ErrUnavailable {
		r.RetryAfter = storeRetry
	}
	return r
}

// storeRetry is the time after which a caller may ask a store again that does not answer.
const storeRetry = 5 * time.Second

func hidden(row Row, ref string) Report {
	r := Report{Row: row, Message: row.Sentinel.Error(), Hidden: true}
	if ref != "" {
		r.Meta = map[string]string{"reference": ref}
	}
	return r
}

// RPCStatus returns the HTTP status of a JSON-RPC answer with this report: 200, except for
// errors of HTTP itself about credentials, sizes, types and rates.
func (r *Report) RPCStatus() int {
	switch r.HTTP {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		return r.HTTP
	}
	return http.StatusOK
}
