package grpcbind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/task"
)

func testService() *service {
	cfg := Config{}.withDefaults(new(limits.Limits))
	return &service{base: base{cfg: &cfg, version: servesV1}}
}

// TestErrorTable checks the errors that are shown to callers (specification §5.4).
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		code   codes.Code
		reason string
	}{
		{a2a.ErrTaskNotFound, codes.NotFound, "TASK_NOT_FOUND"},
		{task.ErrNotFound, codes.NotFound, "TASK_NOT_FOUND"},
		{a2a.ErrTaskNotCancelable, codes.FailedPrecondition, "TASK_NOT_CANCELABLE"},
		{a2a.ErrPushNotificationNotSupported, codes.FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{a2a.ErrUnsupportedOperation, codes.FailedPrecondition, "UNSUPPORTED_OPERATION"},
		{a2a.ErrUnsupportedContentType, codes.InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED"},
		{a2a.ErrInvalidAgentResponse, codes.Internal, "INVALID_AGENT_RESPONSE"},
		{a2a.ErrExtendedCardNotConfigured, codes.FailedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
		{a2a.ErrExtensionSupportRequired, codes.FailedPrecondition, "EXTENSION_SUPPORT_REQUIRED"},
		{a2a.ErrVersionNotSupported, codes.FailedPrecondition, "VERSION_NOT_SUPPORTED"},
		{a2a.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED"},
		{auth.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED"},
		{a2a.ErrUnauthorized, codes.PermissionDenied, "UNAUTHORIZED"},
		{a2a.ErrMethodNotFound, codes.Unimplemented, "METHOD_NOT_FOUND"},
		{a2a.ErrInvalidParams, codes.InvalidArgument, "INVALID_PARAMS"},
		{a2a.ErrInvalidRequest, codes.InvalidArgument, "INVALID_REQUEST"},
		{a2a.ErrParseError, codes.InvalidArgument, "PARSE_ERROR"},
		{apierror.ErrTooLarge, codes.ResourceExhausted, "REQUEST_TOO_LARGE"},
		{apierror.ErrExhausted, codes.ResourceExhausted, "RESOURCE_EXHAUSTED"},
		{apierror.ErrUnavailable, codes.Unavailable, "UNAVAILABLE"},
		{task.ErrCorrupt, codes.DataLoss, "DATA_LOSS"},
		{task.ErrFull, codes.Unavailable, "UNAVAILABLE"},
		{apierror.ErrDeadline, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
		{context.Canceled, codes.Canceled, "CANCELLED"},
		{a2a.ErrInternalError, codes.Internal, "INTERNAL_ERROR"},
		{errors.New("of unknown origin"), codes.Internal, "INTERNAL_ERROR"},
		// The status that an agent got from a peer of its own is not the answer to the caller.
		{fmt.Errorf("peer: %w", status.Error(codes.DataLoss, "secret")), codes.Internal, "INTERNAL_ERROR"},
	} {
		for _, err := range []error{tt.err, fmt.Errorf("get t-1: %w", tt.err)} {
			st := status.Convert(testService().fail(t.Context(), dialect.GetTask, err))
			info, ok := st.Details()[0].(*errdetails.ErrorInfo)
			if !ok || st.Code() != tt.code || info.GetReason() != tt.reason || info.GetDomain() != a2a.ProtocolDomain {
				t.Errorf("fail(%v) = %v %v, want %v %s", err, st.Code(), st.Details(), tt.code, tt.reason)
			}
			if strings.Contains(st.Message(), "t-1") || strings.Contains(st.Message(), "secret") {
				t.Errorf("fail(%v) contains %q, which is not meant for callers", err, st.Message())
			}
		}
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	err := &apierror.Error{
		Err: a2a.ErrInvalidParams, Message: "two things are wrong", RetryAfter: 1500 * time.Millisecond,
		Violations: []apierror.Violation{{Field: "a", Problem: "is odd"}, {Field: "b", Problem: "is even"}},
		Meta:       map[string]string{"taskId": "t"},
	}
	st := status.Convert(testService().fail(t.Context(), dialect.GetTask, err))
	if st.Message() != err.Message || len(st.Details()) != 3 {
		t.Fatalf("fail = %q with %v, want the message and 3 details", st.Message(), st.Details())
	}
	info := st.Details()[0].(*errdetails.ErrorInfo)
	br := st.Details()[1].(*errdetails.BadRequest)
	retry := st.Details()[2].(*errdetails.RetryInfo)
	if info.GetMetadata()["taskId"] != "t" || retry.GetRetryDelay().AsDuration() != err.RetryAfter {
		t.Errorf("details = %v, %v; want the metadata and the delay", info, retry)
	}
	var got []apierror.Violation
	for _, v := range br.GetFieldViolations() {
		got = append(got, apierror.Violation{Field: v.GetField(), Problem: v.GetDescription()})
	}
	if diff := cmp.Diff(err.Violations, got); diff != "" {
		t.Errorf("violations mismatch (-want +got):\n%s", diff)
	}
}

// TestDetailsAreShort checks that no error exceeds the header size that peers accept.
func TestDetailsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100_000)
	err := apierror.New(a2a.ErrInvalidParams, "%s", long)
	for i := range 100 {
		err.Violations = append(err.Violations, apierror.Violation{Field: long, Problem: "bad \xff" + long})
		err.With(fmt.Sprint(i), long)
	}
	st := status.Convert(testService().fail(t.Context(), dialect.GetTask, err))
	if n := proto.Size(st.Proto()); n > 32<<10 {
		t.Errorf("status has %d bytes, want at most 32 KiB", n)
	}
	if len(st.Details()) != 2 {
		t.Errorf("status has %d details, want 2", len(st.Details()))
	}
}

// TestStatusPasses checks that an error of gRPC itself is passed on.
func TestStatusPasses(t *testing.T) {
	t.Parallel()
	want := status.Error(codes.Unavailable, "transport is closing")
	if got := testService().fail(t.Context(), dialect.GetTask, want); !errors.Is(got, want) {
		t.Errorf("fail(%v) = %v, want it unchanged", want, got)
	}
}
