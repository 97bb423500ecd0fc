package httpfront_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// sink is a ResponseWriter that discards its input.
type sink struct {
	header http.Header
	code   int
	n      int
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(code int)             { s.code = code }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }
func (s *sink) FlushError() error                { return nil }

func (s *sink) Write(b []byte) (int, error) {
	s.n += len(b)
	return len(b), nil
}

func benchmarkCall(b *testing.B, path, body string) {
	f := httpfront.New(httpfront.Config{Engine: startEngine(b, everyone()...), Auth: auth.Anyone()})
	r := httptest.NewRequest("POST", path, nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.ContentLength = int64(len(body))
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(strings.NewReader(body))
		w := &sink{header: http.Header{}}
		f.ServeHTTP(w, r)
		if w.code > 200 || w.n == 0 {
			b.Fatalf("answer = %d, %d bytes", w.code, w.n)
		}
	}
}

// BenchmarkNotFound measures the cost of the front alone: the engine searches once and finds
// nothing.
func BenchmarkNotFound(b *testing.B) {
	benchmarkCall(b, "/a2a", rpc("GetTask", `{"id":"nothing"}`))
}

func BenchmarkSendRPC(b *testing.B) { benchmarkCall(b, "/a2a", rpc("SendMessage", message("hello"))) }

func BenchmarkSendREST(b *testing.B) { benchmarkCall(b, "/v1/a2a/message:send", message("hello")) }

func BenchmarkStreamREST(b *testing.B) { benchmarkCall(b, "/v1/a2a/message:stream", message("hello")) }
