package mocktest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/mock"
	"github.com/parley-a2a/parley/internal/testing/mocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeTB is a TB that can fail without failing the test.
type fakeTB struct {
	failure  string
	cleanups []func()
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(g func()) { f.cleanups = append(f.cleanups, g) }
func (f *fakeTB) Fatalf(format string, args ...any) {
	if f.failure == "" {
		f.failure = fmt.Sprintf(format, args...)
	}
}

// client keeps no connections, so that the server can end.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// send sends a message with a part to a path and returns the answer.
func send(t *testing.T, url, part string) string {
	t.Helper()
	body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStart(t *testing.T) {
	t.Parallel()
	var tb fakeTB
	if s := mocktest.Start(&tb, "a2a_agents:\n  - nam: a\n"); s != nil || !strings.HasPrefix(tb.failure, "mock.yaml:2: a2a_agents[0].nam: ") {
		t.Errorf("Start() = %v, %q, want where the script is wrong", s, tb.failure)
	}
	if s := mocktest.StartConfig(&tb, &mock.Config{}); s != nil {
		t.Errorf("StartConfig() = %v for an empty Config", s)
	}
	tb = fakeTB{}
	s := mocktest.StartConfig(&tb, &mock.Config{Agents: []mock.Agent{{Name: "go", Card: map[string]any{"n": 1}, Responses: []mock.Rule{
		{Match: &mock.Match{Data: map[string]any{"n": 1}}, Response: mock.Text("one")}, {Response: mock.Text("other")},
	}}}})
	if tb.failure != "" || s.AgentURL("go") != s.URL()+"/a2a/go" {
		t.Fatalf("StartConfig() fails with %q", tb.failure)
	}
	if got := send(t, s.URL()+"/v1/a2a/message:send", `{"data":{"n":1}}`); !strings.Contains(got, `"one"`) {
		t.Errorf("the answer to data is %s", got)
	}
	if got := send(t, s.URL()+"/v1/a2a/go/message:send", `{"text":"x"}`); !strings.Contains(got, `"other"`) {
		t.Errorf("the answer to a text is %s", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if resp, err := client.Get(s.URL()); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			resp.Body.Close()
		}
		t.Errorf("a call after Close = %v, want a closed port", err)
	}
	for _, f := range slices.Backward(tb.cleanups) {
		f()
	}
}
