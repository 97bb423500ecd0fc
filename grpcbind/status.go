package grpcbind

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/parley-a2a/parley/auth"
	textclip "github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/dialect"
)

// The attributes of log records.
const (
	logMethod    = "method"
	logReference = "reference"
)

// fail returns the status that the caller of o gets for err. Hidden errors are logged. An error
// that is a status already comes from gRPC itself.
func (s *base) fail(ctx context.Context, o dialect.Operation, err error) error {
	if _, own := err.(interface{ GRPCStatus() *status.Status }); own { //nolint:errorlint // the errors that an agent wraps are not classified
		return err
	}
	ref := newReference()
	r := dialect.Explain(s.shape.Blame(o, err), ref)
	s.shape.Adapt(&r)
	if x := observedFrom(ctx); x != nil {
		x.labels.Reason = r.Reason
	}
	if r.Hidden {
		s.cfg.Logger.ErrorContext(ctx, "call failed", logMethod, o.String(), logReference, ref, "error", err)
	}
	if challenges := auth.ChallengesOf(err); challenges != nil {
		// If this fails, the stream has begun or the connection is broken; the status is sufficient.
		_ = grpc.SetHeader(ctx, metadata.MD{keyChallenge: challenges})
	}
	return toStatus(&r)
}

// recovered turns a panic into an internal error.
func (s *base) recovered(o dialect.Operation, err *error) {
	p := recover()
	if p == nil {
		return
	}
	ref := newReference()
	s.cfg.Logger.Error("panic", logMethod, o.String(), logReference, ref,
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	r := dialect.Explain(errPanic, ref)
	*err = toStatus(&r)
}

var errPanic = errors.New("panic")

// newReference returns a name by which an operator finds a log record.
func newReference() string { return rand.Text()[:12] }

// Trailers must be short: peers limit the size of all headers, some to 8 KiB.
const (
	maxText = 1024
	maxMany = 8
)

// toStatus converts a report to a gRPC status with details (specification §10.6).
func toStatus(r *dialect.Report) error {
	st := status.New(codes.Code(r.GRPC), clip(r.Message))
	detailed, err := st.WithDetails(details(r)...)
	if err != nil {
		return st.Err()
	}
	return detailed.Err()
}

func details(r *dialect.Report) []protoadapt.MessageV1 {
	list := []protoadapt.MessageV1{&errdetails.ErrorInfo{
		Reason: r.Reason, Domain: a2a.ProtocolDomain, Metadata: clipMeta(r.Meta),
	}}
	if len(r.Violations) > 0 {
		br := &errdetails.BadRequest{}
		for _, v := range r.Violations[:min(len(r.Violations), maxMany)] {
			br.FieldViolations = append(br.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: clip(v.Field), Description: clip(v.Problem),
			})
		}
		list = append(list, br)
	}
	if r.RetryAfter > 0 {
		list = append(list, &errdetails.RetryInfo{RetryDelay: durationpb.New(r.RetryAfter)})
	}
	return list
}

func clipMeta(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m))[:min(len(m), maxMany)] {
		out[k] = clip(m[k])
	}
	return out
}

// clip shortens s for a trailer, and makes it valid UTF-8.
func clip(s string) string { return strings.ToValidUTF8(textclip.Bytes(s, maxText), "") }
