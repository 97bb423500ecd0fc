package mock

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// Request is a request that a server has received.
type Request struct {
	// Number is the number of the request on the server, from 1.
	Number int `json:"number"`
	// At is the time of arrival.
	At time.Time `json:"at"`
	// Agent is the name of the called agent, or empty.
	Agent string `json:"agent,omitempty"`
	// Binding is JSONRPC, HTTP+JSON or GRPC; empty for cards and requests that are not calls.
	Binding string `json:"binding,omitempty"`
	// Dialect is v1.0, v0.3 or one derived from v0.3; empty if there is no binding.
	Dialect string `json:"dialect,omitempty"`
	// Operation is the name of the v1.0 operation, AgentCard, or empty.
	Operation string `json:"operation,omitempty"`
	// HTTP is the method and the path with its query.
	HTTP string `json:"http,omitempty"`
	// Header are the headers.
	Header http.Header `json:"header,omitempty"`
	// Body is the unparsed body.
	Body []byte `json:"-"`
	// Skill, Text, Context, Task and Turn are those of a message. Task is empty if the message
	// names none.
	Skill   string `json:"skill,omitempty"`
	Text    string `json:"text,omitempty"`
	Context string `json:"context,omitempty"`
	Task    string `json:"task,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	// Rule is the number of the rule that matched, from 1; 0 if none did.
	Rule int `json:"rule,omitempty"`
	// Problem is the reason why the request was refused; empty if it was not.
	Problem string `json:"problem,omitempty"`
}

// MarshalJSON encodes a request for a record: the body as JSON, or as a text if it is not JSON,
// and the headers without credentials.
func (r Request) MarshalJSON() ([]byte, error) {
	type plain Request
	out := struct {
		plain
		Body any `json:"body,omitempty"`
	}{plain: plain(r)}
	out.Header = redacted(r.Header)
	switch {
	case len(r.Body) == 0:
	case json.Valid(r.Body):
		out.Body = json.RawMessage(r.Body)
	default:
		out.Body = string(r.Body)
	}
	return json.Marshal(out)
}

// secrets are headers whose values are not written.
var secrets = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-A2a-Notification-Token"}

func redacted(h http.Header) http.Header {
	h = h.Clone()
	for name := range h {
		if slices.Contains(secrets, name) {
			h[name] = []string{"[hidden]"}
		}
	}
	return h
}

const (
	// maxRequests is the largest number of requests to keep; the oldest are dropped first.
	maxRequests = 10_000
	// maxKept is the largest number of bytes of bodies to keep.
	maxKept = 64 << 20
)

// recorder keeps requests.
type recorder struct {
	w io.Writer

	mu       sync.Mutex // guards the fields below and the writer
	requests []Request
	kept     int // bytes of bodies
	number   int
	changed  wake.Broadcast // at each request
	failed   error
}

func newRecorder(w io.Writer) *recorder { return &recorder{w: w} }

func (r *recorder) add(q Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	q.Number = r.number
	r.requests = append(r.requests, q)
	r.kept += len(q.Body)
	drop := 0
	for len(r.requests)-drop > maxRequests || r.kept > maxKept && drop < len(r.requests)-1 {
		r.kept -= len(r.requests[drop].Body)
		drop++
	}
	r.requests = slices.Delete(r.requests, 0, drop)
	r.changed.Send()
	if r.w != nil && r.failed == nil {
		_, r.failed = r.w.Write(append(marshal(q), '\n'))
	}
}

// Requests returns the requests so far, oldest first: the last ten thousand, and of
// those no more than 64 MiB of bodies.
func (s *Server) Requests() []Request {
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	return slices.Clone(s.recorder.requests)
}

// Calls returns the requests that called the given v1.0 operation, such as
// "SendMessage", or fetched a card, "AgentCard".
func (s *Server) Calls(operation string) []Request {
	return slices.DeleteFunc(s.Requests(), func(q Request) bool { return q.Operation != operation })
}

// Wait waits for the n-th request, from 1, and returns it. The error is that of ctx. For a
// request that was dropped it returns an empty Request with the number.
func (s *Server) Wait(ctx context.Context, n int) (Request, error) {
	for {
		s.recorder.mu.Lock()
		if s.recorder.number >= n {
			q := Request{Number: n}
			for _, kept := range s.recorder.requests {
				if kept.Number == n {
					q = kept
				}
			}
			s.recorder.mu.Unlock()
			return q, nil
		}
		changed := s.recorder.changed.Next()
		s.recorder.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, context.Cause(ctx)
		}
	}
}
