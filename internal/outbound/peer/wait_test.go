package peer_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// script answers each request with the next function, without a network, so that time can be
// that of a synctest bubble.
type script struct {
	steps []func(*http.Request) (*http.Response, error)
	asked []time.Time
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Now())
	if len(s.steps) == 0 {
		return nil, errors.New("the script is over")
	}
	next := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	return next(req)
}

func status(code int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
}

func dead(*http.Request) (*http.Response, error) { return nil, errors.New("nobody listens") }

const done = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`

func TestRetries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []func(*http.Request) (*http.Response, error)
		get   bool
		asked int
		ok    bool
		min   time.Duration
	}{
		{"nobody listened", []func(*http.Request) (*http.Response, error){dead, status(200, done)}, false, 2, true, 250 * time.Millisecond},
		{"busy", []func(*http.Request) (*http.Response, error){status(429, "", "Retry-After", "7"), status(503, ""), status(200, done)}, false, 3, true, 7 * time.Second},
		{"a gateway lost the answer to a send", []func(*http.Request) (*http.Response, error){status(504, ""), status(200, done)}, false, 1, false, 0},
		{"a gateway lost the answer to a get", []func(*http.Request) (*http.Response, error){status(502, ""), status(200, done)}, true, 2, true, 250 * time.Millisecond},
		{"a gateway is too slow for a get", []func(*http.Request) (*http.Response, error){status(504, ""), status(504, ""), status(200, done)}, true, 3, true, 750 * time.Millisecond},
		{"refused", []func(*http.Request) (*http.Response, error){status(403, ""), status(200, done)}, true, 1, false, 0},
		{"a long wait", []func(*http.Request) (*http.Response, error){status(429, "", "Retry-After", "3600"), status(200, done)}, true, 1, false, 0},
		{"for ever", []func(*http.Request) (*http.Response, error){dead}, false, 4, false, 1750 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: tt.steps}
				p := at(t, "http://agent.test", rest, "1.0", peer.Options{HTTP: &http.Client{Transport: s}})
				begin := time.Now()
				var err error
				if tt.get {
					_, err = p.Get(t.Context(), "t", nil)
				} else {
					_, err = p.Send(t.Context(), messageOf("x"))
				}
				if (err == nil) != tt.ok || len(s.asked) != tt.asked {
					t.Errorf("%v after %d requests, want ok %t after %d", err, len(s.asked), tt.ok, tt.asked)
				}
				if took := time.Since(begin); took < tt.min || took > 2*tt.min+time.Second {
					t.Errorf("it took %v, want about %v", took, tt.min)
				}
			})
		})
	}
}

// TestHostThatStarts checks that a host which begins to listen between two attempts is called at
// its first endpoint: a host that could not be reached is not tried at its others.
func TestHostThatStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		answer := status(200, `{"jsonrpc":"2.0","id":"1","result":`+done+`}`)
		s := &script{steps: []func(*http.Request) (*http.Response, error){dead, func(r *http.Request) (*http.Response, error) {
			paths = append(paths, r.URL.Path)
			return answer(r)
		}}}
		p, err := peer.New(&card.Card{A2A: &a2a.AgentCard{Name: "a", SupportedInterfaces: []*a2a.AgentInterface{
			{URL: "http://agent.test", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"},
			{URL: "http://agent.test/tasks/send", ProtocolBinding: card.TaskSend},
		}}}, &peer.Options{HTTP: &http.Client{Transport: s}, Jobs: true})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if e, err := p.Send(t.Context(), messageOf("x")); err != nil || e.TaskID != "t" {
			t.Errorf("Send() = %+v, %v", e, err)
		}
		if !slices.Equal(paths, []string{""}) {
			t.Errorf("called at %q, want the first endpoint", paths)
		}
	})
}

// TestBreaker checks that three failed calls hold back the others, and that one is allowed
// every ten seconds.
func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []func(*http.Request) (*http.Response, error){dead}}
		p := at(t, "http://agent.test", rest, "1.0", peer.Options{HTTP: &http.Client{Transport: s}, Retries: -1})
		get := func() error {
			_, err := p.Get(t.Context(), "t", nil)
			return err
		}
		for range 3 {
			if err := get(); !errors.Is(err, peer.ErrUnreachable) || errors.Is(err, peer.ErrOpen) {
				t.Fatalf("Get() = %v, want a call that fails", err)
			}
		}
		if err := get(); !errors.Is(err, peer.ErrOpen) || !errors.Is(err, peer.ErrUnreachable) || len(s.asked) != 3 || !p.Open() {
			t.Fatalf("Get() = %v after %d requests, want it held back", err, len(s.asked))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if err := get(); errors.Is(err, peer.ErrOpen) || len(s.asked) != 4 {
			t.Errorf("Get() = %v after %d requests, want a probe", err, len(s.asked))
		}
		if err := get(); !errors.Is(err, peer.ErrOpen) {
			t.Errorf("Get() = %v, want it held back", err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s.steps = append(s.steps[:0], status(404, `{"error":{"code":-32001,"message":"no"}}`))
		if err := get(); !errors.Is(err, a2a.ErrTaskNotFound) || p.Open() {
			t.Errorf("Get() = %v, open %t: an answer closes the breaker", err, p.Open())
		}
	})
}

// TestPollingSlowsDown checks that a peer without streams is polled after 2, 4, 8, 16 and then
// 30 seconds.
func TestPollingSlowsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		working := `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
		s := &script{steps: []func(*http.Request) (*http.Response, error){
			status(501, ""), status(501, ""), status(501, ""), status(501, ""),
			status(200, working), status(200, working), status(200, working),
			status(200, working), status(200, working), status(200, working), status(200, strings.Replace(working, "WORKING", "COMPLETED", 1)),
		}}
		p := at(t, "http://agent.test", rest, "1.0", peer.Options{HTTP: &http.Client{Transport: s}})
		n := 0
		for _, err := range p.Follow(t.Context(), transport.Position{Task: "t"}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		var pauses []time.Duration
		for i := 5; i < len(s.asked); i++ {
			pauses = append(pauses, s.asked[i].Sub(s.asked[i-1])/time.Second)
		}
		want := []time.Duration{2, 4, 8, 16, 30, 30}
		if len(pauses) != len(want) || n != 2 {
			t.Fatalf("pauses %v, %d events, want %v and 2", pauses, n, want)
		}
		for i := range want {
			if pauses[i] != want[i] {
				t.Errorf("pauses %v, want %v seconds", pauses, want)
				break
			}
		}
	})
}
