package mock

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/transcript"
)

// Each transcript begins with a script; $ID replaces a generated id.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Suite{
		Files:   "testdata/transcript/*.txtar",
		Given:   []string{"mock.yaml"},
		Headers: []string{"Allow", "Content-Type", "Retry-After", "WWW-Authenticate"},
		Start: func(t *testing.T, story transcript.Story) transcript.Server {
			s := served(t, story.Given["mock.yaml"])
			return transcript.Server{
				Do:    func(r transcript.Request) transcript.Response { return sendTo(s, r) },
				Masks: []transcript.Mask{{Name: "$ID", Pattern: transcript.IDs}},
			}
		},
	}.Run(t)
}

// served returns a server for the script, without a network listener.
func served(t *testing.T, script string) *Server {
	t.Helper()
	c, err := Parse("mock.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

// exchange sends one request and returns the answer as text, without headers.
func exchange(s *Server, request string) string {
	return sendTo(s, transcript.ParseRequest(request)).Text()
}

// sendTo sends one request. Its body is JSON unless its headers name another type.
func sendTo(s *Server, req transcript.Request) transcript.Response {
	r := httptest.NewRequest(req.Method, "http://mock.test"+req.Path, strings.NewReader(req.Body))
	r.Header.Set("Content-Type", "application/json")
	for _, l := range req.Headers {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return transcript.Response{Code: w.Code, Header: w.Header(), Body: strings.TrimSpace(w.Body.String())}
}
