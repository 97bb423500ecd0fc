package promptkit_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/mock"
	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
	"github.com/parley-a2a/parley/internal/testing/transcript"
)

// TestMock replays what a mock of PromptKit's agents answers. Each transcript begins with a script; $ID
// replaces a generated id.
func TestMock(t *testing.T) {
	t.Parallel()
	transcript.Suite{
		Files:   "testdata/transcript/*.txtar",
		Given:   []string{"mock.yaml"},
		Headers: []string{"Allow", "Content-Type", "Retry-After", "WWW-Authenticate"},
		Start: func(t *testing.T, story transcript.Story) transcript.Server {
			c, err := mock.Parse("mock.yaml", []byte(story.Given["mock.yaml"]))
			if err != nil {
				t.Fatal(err)
			}
			s, err := mock.New(c, mock.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
			})
			return transcript.Server{
				Do:    func(r transcript.Request) transcript.Response { return sendTo(s, r) },
				Masks: []transcript.Mask{{Name: "$ID", Pattern: transcript.IDs}},
			}
		},
	}.Run(t)
}

func sendTo(s *mock.Server, req transcript.Request) transcript.Response {
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
