package promptkit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"
)

// server enforces the rules of PromptKit's own A2A server, with PromptKit's own types;
// README.md lists the rules and their sources.
type server struct {
	t       *testing.T
	card    a2a.AgentCard
	perform func(text string) work
	// stopped ends all work at the end of the test.
	stopped <-chan struct{}

	mu sync.Mutex // guards the fields below
	// other, if set, is sent in place of the card.
	other  *string
	tasks  map[string]*stored
	called map[string]chan struct{} // closed at the first call of a method
}

// work is the reaction of a server's agent to a message.
type work struct {
	// chunks are the texts of the answer, state the final state.
	chunks []string
	state  a2a.TaskState
	// until, if set, delays the whole answer until it is closed.
	until <-chan struct{}
}

type stored struct {
	task    a2a.Task
	changed chan struct{}
}

// serve starts a server with one streaming agent.
func serve(t *testing.T, name string, perform func(text string) work) (*server, string) {
	t.Helper()
	stopped, stop := context.WithCancel(context.Background())
	s := &server{t: t, perform: perform, stopped: stopped.Done(), tasks: map[string]*stored{}, called: map[string]chan struct{}{}, card: a2a.AgentCard{
		Name: name, Description: "An agent of PromptKit", Version: "1.0.0", Capabilities: a2a.AgentCapabilities{Streaming: true},
		Skills:            []a2a.AgentSkill{{ID: "answer", Name: "Answer", Description: "Answers"}},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent.json", func(w http.ResponseWriter, _ *http.Request) { s.show(w) })
	mux.HandleFunc("POST /a2a", s.rpc)
	ts := httptest.NewServer(mux)
	t.Cleanup(func() { stop(); ts.Close() })
	return s, ts.URL
}

// show sends the card, or its replacement.
func (s *server) show(w http.ResponseWriter) {
	s.mu.Lock()
	other := s.other
	s.mu.Unlock()
	if other == nil {
		s.write(w, s.card)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(*other))
}

func (s *server) shows(other *string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = other
}

func (s *server) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Logf("write: %v", err) // the caller has disconnected
	}
}

func (s *server) answer(w http.ResponseWriter, id, result any) {
	b, err := json.Marshal(result)
	if err != nil {
		s.t.Error(err)
	}
	s.write(w, a2a.JSONRPCResponse{JSONRPC: "2.0", ID: id, Result: b})
}

func (s *server) refuse(w http.ResponseWriter, id any, code int, text string) {
	s.write(w, a2a.JSONRPCResponse{JSONRPC: "2.0", ID: id, Error: &a2a.JSONRPCError{Code: code, Message: text}})
}

// note closes the channel of the called method.
func (s *server) note(method string) {
	c := s.calledWith(method)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// calledWith returns a channel that is closed once a method was called.
func (s *server) calledWith(method string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.called[method] == nil {
		s.called[method] = make(chan struct{})
	}
	return s.called[method]
}

func (s *server) rpc(w http.ResponseWriter, r *http.Request) {
	var req a2a.JSONRPCRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		s.refuse(w, nil, -32700, "Parse error")
		return
	}
	s.note(req.Method)
	switch req.Method {
	case a2a.MethodSendMessage, a2a.MethodSendStreamingMessage:
		s.take(w, r, &req)
	case a2a.MethodGetTask, a2a.MethodCancelTask, a2a.MethodTaskSubscribe:
		var params a2a.GetTaskRequest
		if json.Unmarshal(req.Params, &params) != nil {
			s.refuse(w, req.ID, -32602, "Invalid params")
			return
		}
		s.at(w, r, &req, params.ID)
	default:
		s.refuse(w, req.ID, -32601, "Method not found")
	}
}

// take accepts a message. Each message begins a new task: the server ignores the task in the
// message, and uses only its context.
func (s *server) take(w http.ResponseWriter, r *http.Request, req *a2a.JSONRPCRequest) {
	var params a2a.SendMessageRequest
	if json.Unmarshal(req.Params, &params) != nil {
		s.refuse(w, req.ID, -32602, "Invalid params")
		return
	}
	// The converter refuses content that PromptKit's models cannot read, including data parts.
	if _, err := a2a.MessageToMessage(&params.Message); err != nil {
		s.refuse(w, req.ID, -32602, fmt.Sprintf("Invalid message: %v", err))
		return
	}
	st := &stored{changed: make(chan struct{}), task: a2a.Task{ID: rand.Text(), ContextID: params.Message.ContextID}}
	if st.task.ContextID == "" {
		st.task.ContextID = rand.Text()
	}
	st.task.Status.State = a2a.TaskStateWorking
	s.mu.Lock()
	s.tasks[st.task.ID] = st
	s.mu.Unlock()
	w0 := s.perform(textOf(params.Message.Parts))
	if req.Method == a2a.MethodSendStreamingMessage {
		s.stream(w, r, req.ID, st, w0)
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); s.finish(st, w0) }()
	if params.Configuration != nil && params.Configuration.Blocking {
		<-done
	} else {
		select {
		case <-done:
		case <-time.After(5 * time.Millisecond): // the time that the server grants quick agents
		}
	}
	s.answer(w, req.ID, s.snapshot(st))
}

// finish performs work without a stream: one artifact for the whole answer.
func (s *server) finish(st *stored, w work) {
	if w.until != nil {
		select {
		case <-w.until:
		case <-st.changed:
			return // canceled
		case <-s.stopped:
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []a2a.Part
	for _, c := range w.chunks {
		parts = append(parts, text(c))
	}
	if len(parts) > 0 && w.state == a2a.TaskStateCompleted {
		st.task.Artifacts = []a2a.Artifact{{ArtifactID: "artifact-1", Parts: parts}}
	}
	s.settleLocked(st, w.state)
}

// settleLocked sets the final state of a task, unless it has one.
func (s *server) settleLocked(st *stored, state a2a.TaskState) {
	select {
	case <-st.changed:
		return
	default:
	}
	st.task.Status.State = state
	if state == a2a.TaskStateFailed {
		st.task.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{text("the provider failed")}}
	}
	close(st.changed)
}

func (s *server) snapshot(st *stored) a2a.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return st.task
}

// stream performs work and sends its events: working, a separate artifact for each chunk, each
// with append, and the last status. The task keeps none of these artifacts.
func (s *server) stream(w http.ResponseWriter, r *http.Request, id any, st *stored, todo work) {
	w.Header().Set("Content-Type", "text/event-stream")
	emit := func(event any) {
		b, err := json.Marshal(event)
		if err != nil {
			s.t.Error(err)
		}
		envelope, err := json.Marshal(a2a.JSONRPCResponse{JSONRPC: "2.0", ID: id, Result: b})
		if err != nil {
			s.t.Error(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", envelope)
		w.(http.Flusher).Flush()
	}
	status := func() {
		task := s.snapshot(st)
		emit(a2a.TaskStatusUpdateEvent{TaskID: task.ID, ContextID: task.ContextID, Status: task.Status})
	}
	status()
	if todo.until != nil {
		select {
		case <-todo.until:
		case <-st.changed:
			return // canceled: the stream ends without a further event
		case <-r.Context().Done():
			return // a caller that disconnects ends the turn
		case <-s.stopped:
			return
		}
	}
	for i, c := range todo.chunks {
		emit(a2a.TaskArtifactUpdateEvent{
			TaskID: st.task.ID, ContextID: st.task.ContextID, Append: true,
			Artifact: a2a.Artifact{ArtifactID: fmt.Sprintf("artifact-%d", i), Parts: []a2a.Part{text(c)}},
		})
	}
	s.mu.Lock()
	s.settleLocked(st, todo.state)
	s.mu.Unlock()
	status()
}

// at answers a call about a task.
func (s *server) at(w http.ResponseWriter, r *http.Request, req *a2a.JSONRPCRequest, id string) {
	s.mu.Lock()
	st := s.tasks[id]
	s.mu.Unlock()
	if st == nil {
		s.refuse(w, req.ID, -32001, "Task not found: a2a: task not found")
		return
	}
	switch req.Method {
	case a2a.MethodCancelTask:
		s.mu.Lock()
		select {
		case <-st.changed:
			s.mu.Unlock()
			s.refuse(w, req.ID, -32001, "Cancel failed: task is in a terminal state")
			return
		default:
			s.settleLocked(st, a2a.TaskStateCanceled)
		}
		s.mu.Unlock()
	case a2a.MethodTaskSubscribe:
		s.stream(w, r, req.ID, st, work{until: st.changed, state: st.task.Status.State})
		return
	}
	s.answer(w, req.ID, s.snapshot(st))
}
