package op

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParamKey(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"A2a-Version": "", "A2a-Extensions": "a2a-extensions", "A2a-Anything": "a2a-anything",
		"Traceparent": "traceparent", "Tracestate": "tracestate", "X-Parent-Id": "x-parent-id",
		"X-Correlation-Id": "x-correlation-id", "Authorization": "", "Cookie": "", "X-Api-Key": "",
		"Content-Type": "", "X-A2a-Extensions": "", "a2a-version": "", "a2a-anything": "a2a-anything", "traceparent": "traceparent",
		"X-Parley-Chain": "x-parley-chain", "TRACEPARENT": "traceparent", "x-parent-id": "x-parent-id", "": "",
	}
	for name, want := range tests {
		if got := paramKey(name); got != want {
			t.Errorf("paramKey(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	got := Params(map[string][]string{"X-Parent-Id": {"p"}, "Traceparent": {"no trace"}, "Authorization": {"Bearer x"}, "A2a-Version": {"1.0"}})
	if diff := cmp.Diff(map[string][]string{"x-parent-id": {"p"}}, got); diff != "" {
		t.Errorf("parameters mismatch (-want +got):\n%s", diff)
	}
	if got := Params(map[string][]string{"Cookie": {"y"}}); got != nil {
		t.Errorf("parameters of a call without any = %v, want nil", got)
	}
}
