package httpfront

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

var reference = regexp.MustCompile(`[0-9a-f]{16}`)

// TestFailEvent checks that an error in a running stream is its last event, in the shape of the
// surface and without an id.
func TestFailEvent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rpc  bool
		err  error
		want string
	}{
		{
			"known, JSON-RPC", true, apierror.New(task.ErrUnavailable, "the store is away"),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the store is away","data":[` +
				`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org"}]}}`,
		},
		{
			"known, HTTP+JSON", false, apierror.New(task.ErrUnavailable, "the store is away"),
			`{"error":{"code":503,"status":"UNAVAILABLE","message":"the store is away","details":[` +
				`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org"}]}}`,
		},
		{
			"hidden, HTTP+JSON", false, errors.New("secret"),
			`{"error":{"code":500,"status":"INTERNAL","message":"internal error","details":[` +
				`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org","metadata":{"reference":"REF"}}]}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter()
			x := &exchange{
				front: New(Config{Engine: engine.New(engine.Config{Store: new(memstore.Store)})}),
				w:     w, rc: http.NewResponseController(w), r: httptest.NewRequest("GET", "/", nil),
				route: route{rpc: tt.rpc}, id: []byte("7"),
			}
			s := &eventWriter{w: w, rc: x.rc, timeout: time.Second}
			s.prefix = x.envelope().Open(nil)
			x.failEvent(s, tt.err)
			got := reference.ReplaceAllString(strings.Join(w.flushed, ""), "REF")
			if diff := cmp.Diff("data: "+tt.want+"\n\n", got); diff != "" {
				t.Errorf("event mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	x := &exchange{r: httptest.NewRequest("GET", "/", nil).WithContext(ctx)}
	if x.gone(context.Canceled) {
		t.Error("gone while the caller is there: another context was canceled")
	}
	leave()
	if !x.gone(context.Canceled) || x.gone(errors.New("other")) {
		t.Error("gone must be told from other errors once the caller has left")
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Add("A2A-Extensions", " https://a.example , https://b.example,,")
	h.Add("A2A-Extensions", "https://a.example")
	h.Add("X-A2A-Extensions", "https://c.example")
	want := []string{"https://a.example", "https://b.example", "https://c.example"}
	if diff := cmp.Diff(want, extensions(h)); diff != "" {
		t.Errorf("extensions mismatch (-want +got):\n%s", diff)
	}
}
