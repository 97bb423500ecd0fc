package awaken

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server behaves like Awaken's server (awaken-server, protocols/a2a). The agent is in the path,
// and GET :subscribe returns 404. A stream begins with the whole task, then has the status, and
// the only artifact after the status COMPLETED; there are no timestamps. Only an interrupted
// task accepts a further message. Its agents follow the message: "ask …" and "auth …" wait for
// an answer, "fail …" fails, "hold …" works until it is canceled, any other text is answered.
type server struct {
	*httptest.Server
	token  string
	agents map[string]bool

	mu    sync.Mutex // guards the fields below
	tasks map[string]*taskState
	calls []call
	// asked is closed and replaced with each call.
	asked chan struct{}
	// pages are served in place of the documents at their paths.
	pages map[string]*document
	next  int
	woken chan struct{}
}

// document is a resource that Awaken's server does not serve by itself.
type document struct {
	status         int // zero means 200
	body, location string
}

func (p *document) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if p.location != "" {
		w.Header().Set("Location", p.location)
	}
	w.WriteHeader(cmp.Or(p.status, http.StatusOK))
	_, _ = io.WriteString(w, p.body)
}

func (s *server) documentAt(path string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pages[path]
}

// serves replaces the pages of the server.
func (s *server) serves(pages map[string]*document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = pages
}

// call is a request to the server.
type call struct {
	Method, Path, Query, Authorization, Body string
	at                                       time.Time
}

type taskState struct {
	agent, id, context, state, said string
	history                         []string
}

func newServer(t *testing.T, token string, agents ...string) *server {
	t.Helper()
	s := &server{token: token, agents: map[string]bool{}, tasks: map[string]*taskState{}, woken: make(chan struct{}), asked: make(chan struct{})}
	for _, a := range agents {
		s.agents[a] = true
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// seen returns the calls whose method and path contain the text.
func (s *server) seen(text string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []call
	for _, c := range s.calls {
		if strings.Contains(c.Method+" "+c.Path, text) {
			some = append(some, c)
		}
	}
	return some
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.calls = append(s.calls, call{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization"), string(body), time.Now()})
	close(s.asked)
	s.asked = make(chan struct{})
	s.mu.Unlock()
	tail, ok := strings.CutPrefix(r.URL.Path, "/v1/a2a/")
	other := s.documentAt(r.URL.Path)
	switch {
	case other != nil:
		other.write(w)
		return
	case r.URL.Path == cardPath:
		reply(w, s.card())
		return
	case !ok:
		http.NotFound(w, r)
		return
	case r.Header.Get("A2A-Version") != "1.0" && r.Header.Get("A2A-Version") != "":
		refuse(w, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
		return
	case s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token:
		refuse(w, 401, "UNAUTHENTICATED", "UNAUTHENTICATED")
		return
	}
	agent := "default"
	if first, rest, more := strings.Cut(tail, "/"); more && first != "tasks" {
		agent, tail = first, rest
	}
	if !s.agents[agent] {
		refuse(w, 404, "NOT_FOUND", "")
		return
	}
	id, isTask := strings.CutPrefix(tail, "tasks/")
	switch {
	case r.Method == "POST" && (tail == "message:send" || tail == "message:stream"):
		s.message(w, r, agent, tail == "message:stream", body)
	case r.Method == "POST" && isTask && strings.HasSuffix(id, ":cancel"):
		s.cancel(w, strings.TrimSuffix(id, ":cancel"))
	case r.Method == "POST" && isTask && strings.HasSuffix(id, ":subscribe"):
		s.follow(w, r, strings.TrimSuffix(id, ":subscribe"), true)
	case r.Method == "GET" && isTask && !strings.Contains(id, ":"):
		s.mu.Lock()
		t := s.tasks[id]
		s.mu.Unlock()
		if t == nil {
			refuse(w, 404, "NOT_FOUND", "TASK_NOT_FOUND")
			return
		}
		reply(w, s.task(t))
	default:
		refuse(w, 404, "NOT_FOUND", "")
	}
}

// cardPath is the path of the card of the default agent, the only one that Awaken serves.
const cardPath = "/.well-known/agent-card.json"

// card returns the card of the default agent.
func (s *server) card() map[string]any {
	return map[string]any{
		"name": "default", "description": "Awaken AI agent 'default'", "version": "0.6.0",
		"supportedInterfaces": []any{map[string]any{"url": s.URL + "/v1/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}},
		"provider":            map[string]any{"organization": "Awaken", "url": s.URL},
		"capabilities":        map[string]any{"streaming": true, "pushNotifications": true, "stateTransitionHistory": false, "extendedAgentCard": false},
		"defaultInputModes":   []string{"text/plain", "application/json"},
		"defaultOutputModes":  []string{"text/plain"},
		"skills": []any{map[string]any{
			"id": "default", "name": "default", "description": "Interact with the 'default' Awaken agent.",
			"tags": []string{"awaken", "agent"}, "inputModes": []string{"text/plain", "application/json"}, "outputModes": []string{"text/plain"},
		}},
	}
}

func (s *server) message(w http.ResponseWriter, r *http.Request, agent string, stream bool, body []byte) {
	var in struct {
		AgentID       string
		Message       *message
		Configuration struct {
			AcceptedOutputModes []string
			ReturnImmediately   bool
		}
	}
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); media != "application/json" && media != "application/a2a+json" {
		refuse(w, 400, "INVALID_ARGUMENT", "contentType")
		return
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Message == nil || in.Message.MessageID == nil || *in.Message.Role != "ROLE_USER" || len(in.Message.Parts) == 0 {
		refuse(w, 400, "INVALID_ARGUMENT", "message")
		return
	}
	if m := in.Configuration.AcceptedOutputModes; len(m) > 0 && !strings.Contains(strings.ToLower(strings.Join(m, " ")), "text/plain") {
		refuse(w, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED")
		return
	}
	s.mu.Lock()
	t := s.tasks[in.Message.TaskID]
	switch {
	case t != nil && t.state != "TASK_STATE_INPUT_REQUIRED" && t.state != "TASK_STATE_AUTH_REQUIRED":
		s.mu.Unlock()
		refuse(w, 400, "INVALID_ARGUMENT", "message.taskId")
		return
	case t == nil:
		s.next++
		t = &taskState{agent: agent, id: in.Message.TaskID, context: in.Message.ContextID}
		if t.id == "" {
			t.id = fmt.Sprintf("aw-task-%d", s.next)
		}
		if t.context == "" {
			t.context = fmt.Sprintf("aw-thread-%d", s.next)
		}
		s.tasks[t.id] = t
	}
	text := textOf(in.Message.Parts)
	resumed := t.state != ""
	t.history = append(t.history, "ROLE_USER "+text)
	t.state, t.said = "TASK_STATE_WORKING", ""
	first := s.taskLocked(t)
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case word == "ask" && !resumed:
		t.state, t.said = "TASK_STATE_INPUT_REQUIRED", rest
	case word == "auth" && !resumed:
		t.state, t.said = "TASK_STATE_AUTH_REQUIRED", rest
	case word == "fail":
		t.state, t.said = "TASK_STATE_FAILED", rest
	case word != "hold":
		t.state, t.said = "TASK_STATE_COMPLETED", "awaken says: "+text
	}
	if t.said != "" {
		t.history = append(t.history, "ROLE_AGENT "+t.said)
	}
	s.wakeLocked()
	s.mu.Unlock()
	switch {
	case stream:
		w.Header().Set("Content-Type", "text/event-stream")
		data(w, map[string]any{"task": first})
		s.follow(w, r, t.id, false)
	case in.Configuration.ReturnImmediately:
		reply(w, map[string]any{"task": first})
	default:
		s.await(r, t)
		reply(w, map[string]any{"task": s.task(t)})
	}
}

// follow sends changes in Awaken's order.
func (s *server) follow(w http.ResponseWriter, r *http.Request, id string, whole bool) {
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	switch {
	case t == nil:
		refuse(w, 404, "NOT_FOUND", "TASK_NOT_FOUND")
		return
	case whole && s.over(t):
		refuse(w, 409, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")
		return
	case whole:
		w.Header().Set("Content-Type", "text/event-stream")
		data(w, map[string]any{"task": s.task(t)})
	}
	s.await(r, t)
	now := s.task(t)
	data(w, map[string]any{"statusUpdate": map[string]any{"taskId": t.id, "contextId": t.context, "status": now["status"]}})
	for _, a := range now["artifacts"].([]any) {
		data(w, map[string]any{"artifactUpdate": map[string]any{"taskId": t.id, "contextId": t.context, "artifact": a, "append": false, "lastChunk": true}})
	}
}

func (s *server) over(t *taskState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.state != "TASK_STATE_WORKING"
}

// await waits until the task is no longer working.
func (s *server) await(r *http.Request, t *taskState) {
	for {
		s.mu.Lock()
		done, woken := t.state != "TASK_STATE_WORKING", s.woken
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-woken:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) wakeLocked() {
	close(s.woken)
	s.woken = make(chan struct{})
}

func (s *server) cancel(w http.ResponseWriter, id string) {
	s.mu.Lock()
	t := s.tasks[id]
	if t == nil || t.state == "TASK_STATE_COMPLETED" || t.state == "TASK_STATE_CANCELED" {
		s.mu.Unlock()
		refuse(w, 409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")
		return
	}
	t.state = "TASK_STATE_CANCELED"
	s.wakeLocked()
	s.mu.Unlock()
	reply(w, s.task(t))
}

func (s *server) task(t *taskState) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taskLocked(t)
}

// taskLocked returns a task in Awaken's form: without timestamps, and with the artifact only at
// COMPLETED.
func (s *server) taskLocked(t *taskState) map[string]any {
	msg := func(i int, role, text string) map[string]any {
		return map[string]any{"taskId": t.id, "contextId": t.context, "messageId": fmt.Sprintf("%s-%d", t.id, i), "role": role, "parts": []any{map[string]any{"text": text}}}
	}
	status := map[string]any{"state": t.state}
	artifacts := []any{}
	if t.said != "" {
		status["message"] = msg(len(t.history)-1, "ROLE_AGENT", t.said)
	}
	if t.state == "TASK_STATE_COMPLETED" {
		artifacts = append(artifacts, map[string]any{"artifactId": "response", "name": "response", "parts": []any{map[string]any{"text": t.said}}})
	}
	var history []any
	for i, line := range t.history {
		role, text, _ := strings.Cut(line, " ")
		history = append(history, msg(i, role, text))
	}
	return map[string]any{"id": t.id, "contextId": t.context, "status": status, "artifacts": artifacts, "history": history}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func data(w http.ResponseWriter, v any) {
	b, _ := json.Marshal(v)
	fmt.Fprintf(w, "data: %s\n\n", b)
	w.(http.Flusher).Flush()
}

func refuse(w http.ResponseWriter, code int, status, reason string) {
	e := map[string]any{"code": code, "status": status, "message": strings.ToLower(reason)}
	if reason != "" {
		e["details"] = []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": e})
}
