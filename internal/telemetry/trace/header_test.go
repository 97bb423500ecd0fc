package trace

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oteltrace "go.opentelemetry.io/otel/trace"
)

const (
	sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traceID = "0af7651916cd43dd8448eb211c80319c"
)

// TestClean checks that invalid trace contexts and ids are removed (Trace Context §3.2.2.3: an
// unreadable traceparent is ignored, and with it the tracestate).
func TestClean(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<10)
	tests := []struct {
		name, key string
		values    []string
		keep      bool
	}{
		{"traceparent", traceparent, []string{sampled}, true},
		{"a later version with more", traceparent, []string{"cc" + sampled[2:] + "-what"}, true},
		{"short", traceparent, []string{"00-1-2-01"}, false},
		{"upper case", traceparent, []string{strings.ToUpper(sampled)}, false},
		{"no trace id", traceparent, []string{"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"}, false},
		{"no span id", traceparent, []string{"00-" + traceID + "-0000000000000000-01"}, false},
		{"version ff", traceparent, []string{"ff" + sampled[2:]}, false},
		{"more behind version 00", traceparent, []string{sampled + "-what"}, false},
		{"endless", traceparent, []string{"cc" + sampled[2:] + "-" + long}, false},
		{"two", traceparent, []string{sampled, sampled}, false},
		{"none", traceparent, []string{}, false},
		{"state without parent", tracestate, []string{"a=1"}, false},
		{"id", correlation, []string{"run 17/ä"[:7]}, true},
		{"empty id", correlation, []string{""}, false},
		{"two ids", correlation, []string{"a", "b"}, false},
		{"long id", correlation, []string{long}, false},
		{"longest id", parent, []string{long[:maxID]}, true},
		{"beyond", parent, []string{long[:maxID+1]}, false},
		{"unprintable", parent, []string{"a\x00b"}, false},
		{"not ASCII", parent, []string{"ä"}, false},
		{"padded", parent, []string{"a "}, false},
		{"something else", "a2a-other", []string{long}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := map[string][]string{tt.key: tt.values}
			Clean(p)
			if _, kept := p[tt.key]; kept != tt.keep {
				t.Errorf("Clean keeps %s: %v, want %v", tt.key, kept, tt.keep)
			}
		})
	}
	Clean(nil)
}

func TestCleanOfTracestate(t *testing.T) {
	t.Parallel()
	for state, keep := range map[string]bool{
		"a=1,b=2": true, "": true, "a=1,a=2": false, "=": false, "a=" + strings.Repeat("x", 600): false,
	} {
		p := map[string][]string{traceparent: {sampled}, tracestate: {state}}
		Clean(p)
		if _, kept := p[tracestate]; kept != keep || p[traceparent] == nil {
			t.Errorf("Clean of tracestate %.20q leaves %v", state, p)
		}
	}
	p := map[string][]string{traceparent: {sampled}, tracestate: {"a=1", "b=2"}}
	Clean(p)
	if got := oteltrace.SpanContextFromContext(Extract(t.Context(), p)).TraceState().String(); got != "a=1,b=2" {
		t.Errorf("tracestate of two headers = %q, want both", got)
	}
}

// TestPassingOn checks that a hub that records nothing passes a trace on unchanged.
func TestPassingOn(t *testing.T) {
	t.Parallel()
	in := map[string][]string{
		traceparent: {sampled}, tracestate: {"a=1"}, correlation: {"c-1"}, parent: {"p-1"}, "a2a-other": {"o"},
	}
	ctx := WithIDs(Extract(t.Context(), in), HeaderIDs(in))
	if diff := cmp.Diff([]string{"TRACEPARENT=" + sampled, "TRACESTATE=a=1"}, Environ(ctx)); diff != "" {
		t.Errorf("Environ mismatch (-want +got):\n%s", diff)
	}
	h := http.Header{}
	Inject(ctx, h)
	want := http.Header{"Traceparent": {sampled}, "Tracestate": {"a=1"}, "X-Correlation-Id": {"c-1"}, "X-Parent-Id": {"p-1"}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("Inject mismatch (-want +got):\n%s", diff)
	}
	delete(in, "a2a-other")
	if diff := cmp.Diff(in, Store(ctx, nil)); diff != "" {
		t.Errorf("Store mismatch (-want +got):\n%s", diff)
	}
	old := map[string][]string{tracestate: {"old=1"}, traceparent: {"old"}, "a2a-other": {"o"}}
	Store(Extract(t.Context(), map[string][]string{traceparent: {sampled}}), old)
	if diff := cmp.Diff(map[string][]string{traceparent: {sampled}, "a2a-other": {"o"}}, old); diff != "" {
		t.Errorf("Store over another trace mismatch (-want +got):\n%s", diff)
	}
}

func TestNothingToPassOn(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), http.Header{}
	Inject(ctx, h)
	if got := Store(ctx, nil); got != nil || len(h) != 0 || Environ(ctx) != nil {
		t.Errorf("Store = %v, Inject = %v, Environ = %v, want nothing", got, h, Environ(ctx))
	}
	if got := Extract(ctx, nil); got != ctx {
		t.Error("Extract of nothing makes a context")
	}
	h.Set(CorrelationHeader, "mine")
	Echo(h, IDs{Correlation: "theirs"})
	if got := h.Values(CorrelationHeader); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("Echo over an id = %q, want the one that was there", got)
	}
}

func TestMetadataIDs(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]IDs{
		``:                    {},
		`{}`:                  {},
		`{"skill":"s","a":1}`: {},
		`{"correlationId":"c","parentId":"p","sessionId":"s","other":{"correlationId":"x"}}`:     {Correlation: "c", Parent: "p", Session: "s"},
		`{"correlationId":7,"parentId":"\u0000","sessionId":"` + strings.Repeat("x", 300) + `"}`: {},
	} {
		if diff := cmp.Diff(want, MetadataIDs([]byte(src))); diff != "" {
			t.Errorf("MetadataIDs(%.40s) mismatch (-want +got):\n%s", src, diff)
		}
	}
	got := IDs{Correlation: "c"}.Or(IDs{Task: "t", Context: "x", Correlation: "other", Parent: "p", Session: "s"})
	if diff := cmp.Diff(IDs{Task: "t", Context: "x", Correlation: "c", Parent: "p", Session: "s"}, got); diff != "" {
		t.Errorf("Or mismatch (-want +got):\n%s", diff)
	}
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	call := `{"principal":{"id":"x"},"params":{"traceparent":["` + sampled + `"],"tracestate":["="],"x-parent-id":["p"],"a2a-other":["o"]}}`
	want := map[string][]string{traceparent: {sampled}, parent: {"p"}}
	if diff := cmp.Diff(want, Recorded([]byte(call))); diff != "" {
		t.Errorf("Recorded mismatch (-want +got):\n%s", diff)
	}
	for _, call := range []string{``, `{"principal":{}}`, `{"params":7}`, `{"params"`} {
		if got := Recorded([]byte(call)); got != nil {
			t.Errorf("Recorded(%s) = %v, want nothing", call, got)
		}
	}
}

// FuzzClean checks that the remaining values can be passed on and read again.
func FuzzClean(f *testing.F) {
	f.Add(sampled, "a=1", "c")
	f.Add("cc"+sampled[2:]+"-x", ",", " ")
	f.Fuzz(func(t *testing.T, tp, ts, id string) {
		p := map[string][]string{traceparent: {tp}, tracestate: {ts}, correlation: {id}}
		Clean(p)
		ctx := WithIDs(Extract(context.Background(), p), HeaderIDs(p))
		again := Store(ctx, nil)
		twice := Store(WithIDs(Extract(context.Background(), again), HeaderIDs(again)), nil)
		if diff := cmp.Diff(again, twice); diff != "" {
			t.Errorf("passed on twice it is another (-once +twice):\n%s", diff)
		}
		if (p[traceparent] == nil) != (again[traceparent] == nil) || (p[correlation] == nil) != (again[correlation] == nil) {
			t.Errorf("Clean leaves %v, of which %v is passed on", p, again)
		}
	})
}
