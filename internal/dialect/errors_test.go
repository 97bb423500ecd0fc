package dialect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/task"
)

// wireErrors has every sentinel that callers may see, by the package and name of its declaration,
// with its row of the specification's table (version 1.0.1).
var wireErrors = map[string]struct {
	err    error
	code   int
	http   int
	grpc   codes.Code
	reason string
}{
	"a2a.ErrTaskNotFound":                 {a2a.ErrTaskNotFound, -32001, 404, codes.NotFound, "TASK_NOT_FOUND"},
	"a2a.ErrTaskNotCancelable":            {a2a.ErrTaskNotCancelable, -32002, 400, codes.FailedPrecondition, "TASK_NOT_CANCELABLE"},
	"a2a.ErrPushNotificationNotSupported": {a2a.ErrPushNotificationNotSupported, -32003, 400, codes.FailedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	"a2a.ErrUnsupportedOperation":         {a2a.ErrUnsupportedOperation, -32004, 400, codes.FailedPrecondition, "UNSUPPORTED_OPERATION"},
	"a2a.ErrUnsupportedContentType":       {a2a.ErrUnsupportedContentType, -32005, 400, codes.InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED"},
	"a2a.ErrInvalidAgentResponse":         {a2a.ErrInvalidAgentResponse, -32006, 500, codes.Internal, "INVALID_AGENT_RESPONSE"},
	"a2a.ErrExtendedCardNotConfigured":    {a2a.ErrExtendedCardNotConfigured, -32007, 400, codes.FailedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	"a2a.ErrExtensionSupportRequired":     {a2a.ErrExtensionSupportRequired, -32008, 400, codes.FailedPrecondition, "EXTENSION_SUPPORT_REQUIRED"},
	"a2a.ErrVersionNotSupported":          {a2a.ErrVersionNotSupported, -32009, 400, codes.FailedPrecondition, "VERSION_NOT_SUPPORTED"},
	"a2a.ErrParseError":                   {a2a.ErrParseError, -32700, 400, codes.InvalidArgument, "PARSE_ERROR"},
	"a2a.ErrInvalidRequest":               {a2a.ErrInvalidRequest, -32600, 400, codes.InvalidArgument, "INVALID_REQUEST"},
	"a2a.ErrMethodNotFound":               {a2a.ErrMethodNotFound, -32601, 404, codes.Unimplemented, "METHOD_NOT_FOUND"},
	"a2a.ErrInvalidParams":                {a2a.ErrInvalidParams, -32602, 400, codes.InvalidArgument, "INVALID_PARAMS"},
	"a2a.ErrInternalError":                {a2a.ErrInternalError, -32603, 500, codes.Internal, "INTERNAL_ERROR"},
	"a2a.ErrServerError":                  {a2a.ErrServerError, -32000, 500, codes.Internal, "SERVER_ERROR"},
	"a2a.ErrUnauthenticated":              {a2a.ErrUnauthenticated, -31401, 401, codes.Unauthenticated, "UNAUTHENTICATED"},
	"a2a.ErrUnauthorized":                 {a2a.ErrUnauthorized, -31403, 403, codes.PermissionDenied, "UNAUTHORIZED"},
	"auth.ErrUnauthenticated":             {auth.ErrUnauthenticated, -32000, 401, codes.Unauthenticated, "UNAUTHENTICATED"},
	"apierror.ErrUnavailable":             {apierror.ErrUnavailable, -32603, 503, codes.Unavailable, "UNAVAILABLE"},
	"apierror.ErrExhausted":               {apierror.ErrExhausted, -32603, 429, codes.ResourceExhausted, "RESOURCE_EXHAUSTED"},
	"apierror.ErrTooLarge":                {apierror.ErrTooLarge, -32600, 413, codes.ResourceExhausted, "REQUEST_TOO_LARGE"},
	"apierror.ErrMediaType":               {apierror.ErrMediaType, -32005, 415, codes.InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED"},
	"apierror.ErrKeyReused":               {apierror.ErrKeyReused, -32602, 409, codes.AlreadyExists, "IDEMPOTENCY_KEY_REUSED"},
	"apierror.ErrDeadline":                {apierror.ErrDeadline, -32603, 504, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
	"task.ErrUnavailable":                 {task.ErrUnavailable, -32603, 503, codes.Unavailable, "UNAVAILABLE"},
	"task.ErrCorrupt":                     {task.ErrCorrupt, -32603, 500, codes.DataLoss, "DATA_LOSS"},
	"task.ErrCorrupt, unavailable":        {fmt.Errorf("%w: %w", task.ErrUnavailable, task.ErrCorrupt), -32603, 500, codes.DataLoss, "DATA_LOSS"},
	"task.ErrPartly":                      {task.ErrPartly, -32603, 503, codes.Unavailable, "UNAVAILABLE"},
	"task.ErrFull":                        {task.ErrFull, -32603, 503, codes.Unavailable, "UNAVAILABLE"},
	"task.ErrReadOnly":                    {task.ErrReadOnly, -32603, 503, codes.Unavailable, "UNAVAILABLE"},
	"task.ErrNotFound":                    {task.ErrNotFound, -32001, 404, codes.NotFound, "TASK_NOT_FOUND"},
	"context.DeadlineExceeded":            {context.DeadlineExceeded, -32603, 504, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
	"context.Canceled":                    {context.Canceled, -32603, 499, codes.Canceled, "CANCELLED"},
}

// Table 2, from the sentinels to the wire.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for name, want := range wireErrors {
		got := dialect.Explain(fmt.Errorf("secret detail: %w", want.err), "ref")
		if got.Code != want.code || got.HTTP != want.http || codes.Code(got.GRPC) != want.grpc || got.Reason != want.reason {
			t.Errorf("%s = %d %d %v %s, want %+v", name, got.Code, got.HTTP, got.GRPC, got.Reason, want)
		}
		if got.Message == "" || strings.Contains(got.Message, "secret") {
			t.Errorf("%s has the message %q", name, got.Message)
		}
	}
}

// The reverse: this test knows a sentinel for every row of the table, and gRPC knows its status
// by the same name.
func TestErrorTableBackwards(t *testing.T) {
	t.Parallel()
	for _, row := range dialect.ErrorTable() {
		known := false
		for _, want := range wireErrors {
			known = known || want.err == row.Sentinel
		}
		if !known {
			t.Errorf("row %+v is for a sentinel that nobody expects", row)
		}
		if back := dialect.Sentinel(row.Reason); back == nil {
			t.Errorf("no sentinel for the reason %s", row.Reason)
		} else if r := dialect.Explain(back, ""); r.Reason != row.Reason {
			t.Errorf("reason %s leads to %v, which has the reason %s", row.Reason, back, r.Reason)
		}
		var c codes.Code
		if err := c.UnmarshalJSON(fmt.Appendf(nil, "%q", row.GRPC)); err != nil || uint32(c) != uint32(row.GRPC) {
			t.Errorf("status %v of %s is %d for gRPC, %v", row.GRPC, row.Reason, c, err)
		}
		if strings.HasPrefix(row.Reason, "TASK_") && a2a.ErrorReason(row.Sentinel) != row.Reason && row.Sentinel != task.ErrNotFound {
			t.Errorf("reason %s, the SDK says %s", row.Reason, a2a.ErrorReason(row.Sentinel))
		}
	}
	if got := dialect.Sentinel("NO_SUCH_REASON"); got != nil {
		t.Errorf("Sentinel of an unknown reason = %v", got)
	}
}

// Each sentinel declared in one of these packages has a row, or is listed as one that callers
// never see.
func TestEverySentinelHasARow(t *testing.T) {
	t.Parallel()
	inner := map[string]bool{
		"task.ErrExists": true, "task.ErrConflict": true, "task.ErrIllegal": true, "task.ErrTerminal": true,
		"task.ErrFenced": true, "auth.ErrNoKey": true, "auth.ErrShortKey": true, "auth.ErrNoAsserter": true, "auth.ErrNoIdentity": true, "auth.ErrConfigured": true, "auth.ErrUncertain": true, "task.ErrRepeated": true, "task.ErrKeyUsed": true, "task.ErrGap": true, "task.ErrHookID": true, "task.ErrNotice": true,
	}
	for _, path := range []string{
		"github.com/a2aproject/a2a-go/v2/a2a",
		"github.com/parley-a2a/parley/auth",
		"github.com/parley-a2a/parley/internal/task",
		"github.com/parley-a2a/parley/internal/apierror",
	} {
		for _, name := range sentinels(t, path) {
			if _, ok := wireErrors[name]; !ok && !inner[name] {
				t.Errorf("%s has no row in the table of errors", name)
			}
		}
	}
}

// sentinels returns the exported error variables of a package.
func sentinels(t *testing.T, path string) []string {
	t.Helper()
	// Unlike go/build, the go command needs no GOROOT in programs that were built without paths.
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,Name,GoFiles", path).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", path, err)
	}
	var pkg struct {
		Dir, Name string
		GoFiles   []string
	}
	if err := json.Unmarshal(listed, &pkg); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range pkg.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), pkg.Dir+"/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				_, inFunc := n.(*ast.FuncDecl)
				return !inFunc
			}
			for _, name := range spec.Names {
				if strings.HasPrefix(name.Name, "Err") && len(name.Name) > 3 {
					all = append(all, pkg.Name+"."+name.Name)
				}
			}
			return false
		})
	}
	if len(all) == 0 {
		t.Fatalf("%s has no sentinels; does the test still find them?", path)
	}
	return all
}

func TestExplainFirstRowWins(t *testing.T) {
	t.Parallel()
	both := errors.Join(a2a.ErrInternalError, context.Canceled, a2a.ErrInvalidParams, a2a.ErrTaskNotFound)
	for range 20 {
		if got := dialect.Explain(both, ""); got.Reason != "TASK_NOT_FOUND" {
			t.Fatalf("Explain of several = %s", got.Reason)
		}
	}
}

// Invariant: callers see only text that was written for callers.
func TestExplainHides(t *testing.T) {
	t.Parallel()
	secret := errors.New("pq: password authentication failed")
	for name, err := range map[string]error{
		"unknown":                         secret,
		"task conflict":                   fmt.Errorf("%w: %w", task.ErrConflict, secret),
		"internal":                        fmt.Errorf("%w: %w", a2a.ErrInternalError, secret),
		"fault without a row":             apierror.New(secret, "%v", secret),
		"SDK error about something else":  &a2a.Error{Err: secret, Message: secret.Error()},
		"SDK error beside the one it has": errors.Join(&a2a.Error{Err: secret, Message: secret.Error()}, a2a.ErrInternalError),
	} {
		r := dialect.Explain(err, "r-1")
		if !r.Hidden || r.Message != "internal error" || r.HTTP != 500 {
			t.Errorf("%s: %+v, want a hidden internal error", name, r)
		}
		if diff := cmp.Diff(map[string]string{"reference": "r-1"}, r.Meta); diff != "" {
			t.Errorf("%s: metadata (-want +got):\n%s", name, diff)
		}
		for _, out := range []string{
			string(rpcError(nil, nil, err, "r-1")), string(restError(nil, err, "r-1")),
		} {
			if strings.Contains(out, "password") || !strings.Contains(out, "r-1") {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
	if r := dialect.Explain(secret, ""); r.Meta != nil {
		t.Errorf("metadata without a reference = %v", r.Meta)
	}
}

func TestExplainWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("wrapped: %w", apierror.New(a2a.ErrTaskNotFound, "task %q not found", "t")), `task "t" not found`},
		{&apierror.Error{Err: a2a.ErrTaskNotFound}, "task not found"},
		{fmt.Errorf("wrapped: %w", a2a.NewError(a2a.ErrUnauthorized, "ask Bob")), "ask Bob"},
		{fmt.Errorf("sql text: %w", a2a.ErrTaskNotFound), "task not found"},
		{apierror.New(a2a.ErrInternalError, "agent is broken"), "agent is broken"},
	} {
		if got := dialect.Explain(tc.err, "ref"); got.Message != tc.want || got.Hidden {
			t.Errorf("Explain(%v) says %q (hidden %v), want %q", tc.err, got.Message, got.Hidden, tc.want)
		}
	}
}

// Rules 48, 51, 52, 73 and 79: the exact shapes.
func TestErrorShapes(t *testing.T) {
	t.Parallel()
	notFound := apierror.New(a2a.ErrTaskNotFound, "task not found").With("taskId", "t-1")
	const info = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t-1"}}`
	full := &apierror.Error{
		Err: apierror.ErrExhausted, Message: `slow "down"`, RetryAfter: 1500 * time.Millisecond,
		Violations: []apierror.Violation{{Field: "a", Problem: "p"}, {Field: "b", Problem: "q"}},
		Meta:       map[string]string{"b": "2", "a": "1"},
	}
	const details = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org","metadata":{"a":"1","b":"2"}},` +
		`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"a","description":"p"},{"field":"b","description":"q"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}]`
	tests := []struct{ name, got, want string }{
		{
			"rpc", string(rpcError(nil, []byte(`1`), notFound, "")),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"task not found","data":[` + info + `]}}`,
		},
		{
			"rpc without id", string(rpcError([]byte("x"), nil, a2a.ErrParseError, "")),
			`x{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PARSE_ERROR","domain":"a2a-protocol.org"}]}}`,
		},
		{
			"rest", string(restError(nil, notFound, "")),
			`{"error":{"code":404,"status":"NOT_FOUND","message":"task not found","details":[` + info + `]}}`,
		},
		{
			"all details", string(restError(nil, full, "")),
			`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow \"down\"","details":` + details + `}}`,
		},
	}
	for _, tc := range tests {
		if tc.got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.name, tc.got, tc.want)
		}
	}
}

func rpcError(dst, id []byte, err error, ref string) []byte {
	r := dialect.Explain(err, ref)
	return r.AppendRPC(dst, id)
}

func restError(dst []byte, err error, ref string) []byte {
	r := dialect.Explain(err, ref)
	return r.AppendREST(dst)
}

// google.rpc's types read the details.
func TestErrorDetailsAreProtoJSON(t *testing.T) {
	t.Parallel()
	err := &apierror.Error{
		Err: a2a.ErrInvalidParams, Message: "m", RetryAfter: 2 * time.Second,
		Violations: []apierror.Violation{{Field: "a", Problem: "p"}}, Meta: map[string]string{"k": "v"},
	}
	var body struct{ Error json.RawMessage }
	if err := json.Unmarshal(restError(nil, err, ""), &body); err != nil {
		t.Fatal(err)
	}
	var status spb.Status
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body.Error, &status); err != nil {
		t.Fatalf("google.rpc.Status of %s: %v", body.Error, err)
	}
	if len(status.Details) != 3 {
		t.Fatalf("%d details, want 3", len(status.Details))
	}
	var info errdetails.ErrorInfo
	var bad errdetails.BadRequest
	var retry errdetails.RetryInfo
	for i, m := range []error{status.Details[0].UnmarshalTo(&info), status.Details[1].UnmarshalTo(&bad), status.Details[2].UnmarshalTo(&retry)} {
		if m != nil {
			t.Errorf("detail %d: %v", i, m)
		}
	}
	if info.Reason != "INVALID_PARAMS" || info.Domain != a2a.ProtocolDomain || bad.FieldViolations[0].Field != "a" || retry.RetryDelay.Seconds != 2 {
		t.Errorf("details: %v, %v, %v", &info, &bad, &retry)
	}
}

func TestReportOverride(t *testing.T) {
	t.Parallel()
	r := dialect.Explain(a2a.ErrTaskNotCancelable, "")
	r.HTTP = 409
	if got := string(r.AppendREST(nil)); !strings.HasPrefix(got, `{"error":{"code":409,"status":"FAILED_PRECONDITION"`) {
		t.Errorf("overridden status: %s", got)
	}
}

// Rule 75: JSON-RPC errors are sent with status 200, except those of HTTP itself.
func TestRPCStatus(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		a2a.ErrTaskNotFound: 200, a2a.ErrParseError: 200, a2a.ErrInternalError: 200, apierror.ErrUnavailable: 200,
		a2a.ErrUnauthenticated: 401, a2a.ErrUnauthorized: 403, apierror.ErrTooLarge: 413, apierror.ErrMediaType: 415,
		apierror.ErrExhausted: 429,
	} {
		r := dialect.Explain(err, "")
		if got := r.RPCStatus(); got != want {
			t.Errorf("RPCStatus of %v = %d, want %d", err, got, want)
		}
	}
}

func TestRetrySeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "", time.Millisecond: "1", time.Second: "1", 1500 * time.Millisecond: "2"} {
		r := dialect.Explain(&apierror.Error{Err: apierror.ErrExhausted, RetryAfter: d}, "")
		if got := r.RetrySeconds(); got != want {
			t.Errorf("RetrySeconds of %v = %q, want %q", d, got, want)
		}
	}
}
