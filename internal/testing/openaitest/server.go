package openaitest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Config configures a Server. The zero Config splits streams in unusual places and requires no
// key.
type Config struct {
	// Key is the bearer token that requests must have; empty accepts any request.
	Key string
	// Models are the models in /v1/models; empty means "test".
	Models []string
	// Wire configures the splitting of streams.
	Wire Wire
	// Foreign accepts turns of the assistant in histories that the server never sent.
	Foreign bool
	// Lenient does not fail the test for violations; the test reads Server.Violations itself.
	Lenient bool
}

// Server is a model server.
type Server struct {
	// URL is the base of its endpoints and ends in /v1.
	URL string

	config Config
	script Script
	http   *httptest.Server
	ctx    context.Context // ends when the server closes, together with waiting answers

	mu         sync.Mutex // guards the fields below
	requests   []*Request
	attempts   map[[32]byte]int
	given      map[string]bool
	violations []string
}

// New starts a server on loopback, which closes with the test. At that time violations fail the
// test.
func New(t testing.TB, config Config, script Script) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{config: config, script: script, ctx: ctx, attempts: make(map[[32]byte]int), given: make(map[string]bool)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.models)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL + "/v1"
	t.Cleanup(func() {
		cancel()
		s.http.CloseClientConnections()
		s.http.Close()
		if s.config.Lenient {
			return
		}
		for _, v := range s.Violations() {
			t.Errorf("chattest: a provider would refuse the request: %s", v)
		}
	})
	return s
}

// Requests returns all accepted requests so far in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Violations returns the errors of all refused requests.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(w, r) {
		return
	}
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	names := s.config.Models
	if len(names) == 0 {
		names = []string{"test"}
	}
	list := []model{}
	for _, n := range names {
		list = append(list, model{ID: n, Object: "model", OwnedBy: "test"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) authorized(w http.ResponseWriter, r *http.Request) bool {
	if s.config.Key == "" || r.Header.Get("Authorization") == "Bearer "+s.config.Key {
		return true
	}
	writeError(w, http.StatusUnauthorized, "Incorrect API key provided.", "invalid_api_key")
	return false
}

func (s *Server) complete(w http.ResponseWriter, hr *http.Request) {
	if !s.authorized(w, hr) {
		return
	}
	if media := hr.Header.Get("Content-Type"); !strings.HasPrefix(media, "application/json") {
		s.refuse(w, fmt.Errorf("content type %q, want application/json", media), nil)
		return
	}
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the client has disconnected
	}
	r, err := parse(body)
	if err == nil {
		err = s.admit(r)
	}
	if err != nil {
		s.refuse(w, err, body)
		return
	}
	turn := s.script(r)
	turn.nameCalls(r)
	ctx, cancel := context.WithCancel(hr.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	s.answer(ctx, w, &exchange{server: s, request: r, turn: &turn})
}

func (s *Server) refuse(w http.ResponseWriter, err error, body []byte) {
	s.mu.Lock()
	s.violations = append(s.violations, fmt.Sprintf("%v: %s", err, body))
	s.mu.Unlock()
	writeError(w, http.StatusBadRequest, err.Error(), "invalid_request_error")
}

// admit counts a request, and returns an error for turns in it that the server never sent.
func (s *Server) admit(r *Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.config.Foreign {
		for i := range r.Messages {
			m := &r.Messages[i]
			if m.Role == "assistant" && !s.given[turnKey(m.Text(), m.ToolCalls)] {
				return fmt.Errorf("messages[%d]: the model never said this to the end", i)
			}
		}
	}
	key := sha256.Sum256(r.Body)
	r.Attempt = s.attempts[key]
	s.attempts[key]++
	s.requests = append(s.requests, r)
	return nil
}

// recordSent records that a turn was sent completely.
func (s *Server) recordSent(t *Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given[turnKey(t.Text, t.toolCalls())] = true
}

func turnKey(text string, calls []ToolCall) string {
	type call struct{ ID, Name, Arguments string }
	list := []call{}
	for _, c := range calls {
		list = append(list, call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	b, _ := json.Marshal(struct {
		Text  string
		Calls []call
	}{text, list})
	return string(b)
}

// nameCalls gives calls without an id one that is unique in the conversation.
func (t *Turn) nameCalls(r *Request) {
	calls := append([]Call(nil), t.Calls...)
	turns := 0
	for i := range r.Messages {
		if r.Messages[i].Role == "assistant" {
			turns++
		}
	}
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d_%d", turns, i)
		}
	}
	t.Calls = calls
}

func (t *Turn) toolCalls() []ToolCall {
	var out []ToolCall
	for _, c := range t.Calls {
		out = append(out, ToolCall{ID: c.ID, Type: "function", Function: Function{Name: c.Name, Arguments: c.Arguments}})
	}
	return out
}

func writeError(w http.ResponseWriter, status int, message, code string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": nil, "code": code,
	}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}
