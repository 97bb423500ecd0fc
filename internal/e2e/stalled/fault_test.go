package stalled

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// fault contains all parts of an error that a caller can see.
type fault struct {
	// HTTP is the status of the answer.
	HTTP int
	// Code is the code of the error in JSON-RPC, HTTP or gRPC.
	Code   int
	Reason string
	// Field is the invalid field, or empty.
	Field string
}

// wireFault is an error of either HTTP binding.
type wireFault struct {
	Error *struct {
		Code          int
		Message       string
		Data, Details []struct {
			Reason          string
			FieldViolations []struct{ Field, Description string }
		}
	}
}

// faultOf reads the error of an answer.
func faultOf(t testing.TB, a answer) fault {
	t.Helper()
	var w wireFault
	if err := json.Unmarshal([]byte(a.body), &w); err != nil || w.Error == nil {
		t.Fatalf("%d %.500s: no error", a.code, a.body)
	}
	f := fault{HTTP: a.code, Code: w.Error.Code}
	for _, d := range append(w.Error.Data, w.Error.Details...) {
		if d.Reason != "" {
			f.Reason = d.Reason
		}
		for _, v := range d.FieldViolations {
			f.Field = v.Field
			if v.Description == "" {
				t.Errorf("%s: a violation says nothing", a.body)
			}
		}
	}
	if w.Error.Message == "" {
		t.Errorf("%s: an error says nothing", a.body)
	}
	discreet(t, a.body)
	return f
}

// grpcFault reads the error of a gRPC call.
func grpcFault(t testing.TB, err error) fault {
	t.Helper()
	s, ok := grpcstatus.FromError(err)
	if !ok || s.Code() == codes.OK {
		t.Fatalf("%v: no error of a call", err)
	}
	f := fault{Code: int(s.Code())}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			f.Reason = d.GetReason()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				f.Field = v.GetField()
			}
		}
	}
	discreet(t, s.String())
	return f
}

// inside are names of internals that no error may contain.
var inside = []string{
	"goroutine", ".go:", "runtime error", "github.com", "/internal", "httpfront", "rawjson", "a2ajson",
	"sqlite", "sqlstate", "strconv", "json: cannot", "hunter2", "10.1.2.3", "protojson", "/tmp", "0xc0", "cannot unmarshal", "reflect",
}

// maxFault is the largest size of an error, in bytes.
const maxFault = 4 << 10

// discreet fails the test if an answer contains internals, or long input of the caller.
func discreet(t testing.TB, text string) {
	t.Helper()
	low := strings.ToLower(text)
	for _, word := range inside {
		if strings.Contains(low, word) {
			t.Errorf("the answer says %q: %.1000s", word, text)
		}
	}
	if len(text) > maxFault {
		t.Errorf("an error of %d bytes: %.200s…", len(text), text)
	}
}

// wantFault compares an error with the expected one.
func wantFault(t testing.TB, want, got fault) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error mismatch (-want +got):\n%s", diff)
	}
}

// The errors that many tests expect.
var (
	restNotFound = fault{404, 404, "TASK_NOT_FOUND", ""}
)
