//go:build !race

package httpfront_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// allocs is the number of objects that an operation allocates, including those of its agent. The test
// fails above 1.5 times that number. The race detector also allocates, so it is not built with it.
var allocs = map[string]float64{
	"GetTask not found":    15,
	"SendMessage":          78,
	"SendMessage REST":     77,
	"SendStreamingMessage": 84,
}

// TestAllocations does not run in parallel with other tests, because it counts allocations of
// the whole process.
func TestAllocations(t *testing.T) {
	once := described(func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		_ = yield(status(ec, a2a.TaskStateWorking, ""), nil) &&
			yield(chunk(ec, "hello", true, true), nil) &&
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	})
	f := httpfront.New(httpfront.Config{Engine: startEngine(t, engine.Agent{Name: "once", Card: &a2a.AgentCard{Name: "once"}, Executor: once}), Auth: auth.Anyone()})
	for name, call := range map[string][2]string{
		"GetTask not found":    {"/a2a", rpc("GetTask", `{"id":"nothing"}`)},
		"SendMessage":          {"/a2a", rpc("SendMessage", message("hello"))},
		"SendMessage REST":     {"/v1/a2a/message:send", message("hello")},
		"SendStreamingMessage": {"/a2a", rpc("SendStreamingMessage", message("hello"))},
	} {
		want, ok := allocs[name]
		got := fewest(serving(t, f, call[0], call[1]))
		if !ok || got > 1.5*want { // an alarm for mistakes, not a bar
			t.Errorf("%s allocates %v objects; it was %v", name, got, want)
		}
	}
}

// fewest returns how many objects f allocates. It is the minimum of several averages, because
// maps grow, pools are emptied, and timers fire at any time.
func fewest(f func()) float64 {
	least := testing.AllocsPerRun(100, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(100, f))
	}
	return least
}

// serving returns a function that makes f answer the same request again, without allocations
// around it.
func serving(t *testing.T, f http.Handler, path, body string) func() {
	header := http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}}
	reader := strings.NewReader("")
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: path}, Header: header, Host: "localhost",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: "127.0.0.1:1",
		ContentLength: int64(len(body)), Body: io.NopCloser(reader),
	}
	w := &sink{header: http.Header{}}
	return func() {
		reader.Reset(body)
		clear(w.header)
		w.code, w.n = 0, 0
		f.ServeHTTP(w, r)
		if w.code > 200 || w.n == 0 {
			t.Fatalf("%s = %d with %d bytes", path, w.code, w.n)
		}
	}
}
