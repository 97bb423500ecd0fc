package protoworkstacean

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The shapes of the document's request. Unknown members are ignored, as by JSON.parse; known
// ones must have their types.
type (
	rpcRequest struct {
		JSONRPC string     `json:"jsonrpc"`
		Method  string     `json:"method"`
		Params  sendParams `json:"params"`
	}
	sendParams struct {
		ID        string       `json:"id"`
		Message   sentMessage  `json:"message"`
		ContextID *string      `json:"contextId"`
		Metadata  sentMetadata `json:"metadata"`
	}
	sentMetadata struct {
		SkillHint     string `json:"skillHint"`
		CorrelationID string `json:"correlationId"`
		ParentID      string `json:"parentId"`
	}
	sentMessage struct {
		MessageID string     `json:"messageId"`
		Role      string     `json:"role"`
		Parts     []sentPart `json:"parts"`
		ContextID *string    `json:"contextId"`
		TaskID    *string    `json:"taskId"`
	}
	sentPart struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	}
)

// text returns the texts of the message.
func (m *sentMessage) text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// received is a request to an agent.
type received struct {
	Method, Path string // of HTTP
	Header       http.Header
	Call         rpcRequest
	// Refused is the reason for which the agent refused it; empty if it accepted it.
	Refused string
}

// fake describes the differences of an agent from the document's.
type fake struct {
	// Card is served at CardPath; empty for none.
	Card, CardPath string
	// Key is the required API key.
	Key string
	// AnyContext accepts contexts that the agent has not created.
	AnyContext bool
	// Streams enables message/stream.
	Streams bool
	// Reply answers a message with the result of a task; nil answers like the document.
	Reply func(p *sendParams, id, context string) string
	// Raw writes a whole HTTP response itself, if it is not nil and returns true.
	Raw func(w http.ResponseWriter, r *http.Request, call *rpcRequest) bool
}

// remoteAgent is a remote agent of the document: JSON-RPC at /a2a, bare tasks without kind,
// answers without a JSON-RPC id, and ids that it creates itself.
type remoteAgent struct {
	*httptest.Server
	fake fake

	mu    sync.Mutex // guards the fields below
	card  string
	log   []received
	tasks map[string]*remoteTask
	seq   int
	// news is closed and replaced with each request.
	news chan struct{}
}

type remoteTask struct{ context, state string }

func startAgent(t *testing.T, f fake) *remoteAgent {
	t.Helper()
	a := &remoteAgent{fake: f, card: f.Card, tasks: make(map[string]*remoteTask), news: make(chan struct{})}
	if a.fake.CardPath == "" {
		a.fake.CardPath = "/.well-known/agent-card.json"
	}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

// setCard changes the card.
func (a *remoteAgent) setCard(card string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.card = card
}

func (a *remoteAgent) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		a.note(received{Method: r.Method, Path: r.URL.Path, Header: r.Header})
		a.mu.Lock()
		card := a.card
		a.mu.Unlock()
		if card == "" || r.URL.Path != a.fake.CardPath {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.ReplaceAll(card, "BASE", a.URL))
		return
	}
	call, status, body := a.answer(r)
	a.note(received{Method: r.Method, Path: r.URL.Path, Header: r.Header, Call: *call, Refused: refusal(body)})
	if a.fake.Raw != nil && a.fake.Raw(w, r, call) {
		return
	}
	if status == http.StatusOK && call.Method == "message/stream" && a.fake.Streams && refusal(body) == "" {
		a.stream(w, body)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// refusal returns the message of the error in an answer.
func refusal(body string) string {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(body), &e) != nil {
		return body
	}
	return string(e.Error)
}

// rpcError is an error of JSON-RPC, without an id like the document's response.
func rpcError(code int, format string, args ...any) string {
	text, _ := json.Marshal(fmt.Sprintf(format, args...))
	return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":%s}}`, code, text)
}

// answer answers a request, or refuses it like the real agents.
func (a *remoteAgent) answer(r *http.Request) (*rpcRequest, int, string) {
	call := new(rpcRequest)
	body, _ := io.ReadAll(r.Body)
	err := json.Unmarshal(body, call)
	p := &call.Params
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/a2a":
		return call, http.StatusNotFound, `{"error":"Not found"}`
	case a.fake.Key != "" && r.Header.Get("X-API-Key") != a.fake.Key:
		return call, http.StatusUnauthorized, `{"error":"Unauthorized"}`
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return call, http.StatusUnsupportedMediaType, `{"error":"Unsupported Media Type"}`
	case err != nil:
		return call, http.StatusOK, rpcError(-32602, "%s", err)
	case call.JSONRPC != "2.0":
		return call, http.StatusOK, rpcError(-32600, "Invalid JSON-RPC Request.")
	case call.Method == "tasks/get":
		return call, http.StatusOK, a.get(p.ID)
	case call.Method != "message/send" && (call.Method != "message/stream" || !a.fake.Streams):
		return call, http.StatusOK, rpcError(-32601, "Method not found: %s", call.Method)
	case p.Message.MessageID == "":
		return call, http.StatusOK, rpcError(-32602, "message.messageId is required.")
	case p.Message.Role != "user":
		return call, http.StatusOK, rpcError(-32602, "role %q", p.Message.Role)
	case len(p.Message.Parts) == 0 || slices.ContainsFunc(p.Message.Parts, func(x sentPart) bool { return x.Kind != "text" }):
		return call, http.StatusOK, rpcError(-32602, "parts must have kind text")
	}
	return call, http.StatusOK, a.message(p)
}

// message performs a message. Ids are the agent's own: it refuses ids that it has not created.
func (a *remoteAgent) message(p *sendParams) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	context := ""
	for _, id := range []*string{p.ContextID, p.Message.ContextID} {
		if id == nil {
			continue
		}
		if !a.fake.AnyContext && !slices.ContainsFunc(a.known(), func(t *remoteTask) bool { return t.context == *id }) {
			return rpcError(-32602, "unknown contextId %q", *id)
		}
		context = *id
	}
	id := ""
	if p.Message.TaskID != nil {
		id = *p.Message.TaskID
		switch t := a.tasks[id]; {
		case t == nil:
			return rpcError(-32001, "Task not found: %s", id)
		case p.ContextID == nil || *p.ContextID != t.context:
			return rpcError(-32602, "params.contextId is not that of task %s", id)
		case terminal(t.state):
			return rpcError(-32600, "Task %s is in a terminal state (%s) and cannot be modified.", id, t.state)
		}
	}
	a.seq++
	if context == "" {
		context = fmt.Sprintf("thread-%d", a.seq)
	}
	if id == "" {
		id = fmt.Sprintf("task-%d", a.seq)
	}
	reply := documented
	if a.fake.Reply != nil {
		reply = a.fake.Reply
	}
	result := reply(p, id, context)
	var t struct {
		Status struct{ State string }
	}
	_ = json.Unmarshal([]byte(result), &t)
	a.tasks[id] = &remoteTask{context, t.Status.State}
	return `{"jsonrpc":"2.0","result":` + result + `}`
}

func (a *remoteAgent) known() []*remoteTask {
	var all []*remoteTask
	for _, t := range a.tasks {
		all = append(all, t)
	}
	return all
}

func (a *remoteAgent) get(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tasks[id]
	if t == nil {
		return rpcError(-32001, "Task not found: %s", id)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","result":{"id":%q,"contextId":%q,"status":{"state":%q}}}`, id, t.context, t.state)
}

func terminal(state string) bool {
	return slices.Contains([]string{"completed", "failed", "canceled", "rejected"}, state)
}

// documented returns the document's literal response. The first word of a message may request
// another state.
func documented(p *sendParams, id, context string) string {
	text := p.Message.text()
	state, rest, _ := strings.Cut(text, " ")
	if state != "input-required" && !terminal(state) {
		return fmt.Sprintf(`{"id":%q,"contextId":%q,"status":{"state":"completed"},"artifacts":[{"artifactId":"a-%s","parts":[{"kind":"text","text":%q}]}]}`,
			id, context, id, "re: "+text)
	}
	return fmt.Sprintf(`{"id":%q,"contextId":%q,"status":{"state":%q,"message":{"role":"agent","messageId":"q-%s","parts":[{"kind":"text","text":%q}]}}}`,
		id, context, state, id, rest)
}

// stream sends the task of an answer as TaskStatusUpdateEvents and TaskArtifactUpdateEvents.
func (a *remoteAgent) stream(w http.ResponseWriter, body string) {
	var answer struct {
		Result struct {
			ID, ContextID string
			Artifacts     []json.RawMessage
			Status        json.RawMessage
		}
	}
	_ = json.Unmarshal([]byte(body), &answer)
	t := &answer.Result
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(format string, args ...any) {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"result\":"+format+"}\n\n", args...)
		w.(http.Flusher).Flush()
	}
	event(`{"kind":"status-update","taskId":%q,"contextId":%q,"status":{"state":"working","message":{"kind":"message","messageId":"w-%s","role":"agent","parts":[{"kind":"text","text":"thinking"}]}},"final":false}`, t.ID, t.ContextID, t.ID)
	for _, artifact := range t.Artifacts {
		event(`{"kind":"artifact-update","taskId":%q,"contextId":%q,"artifact":%s,"append":false,"lastChunk":true}`, t.ID, t.ContextID, artifact)
	}
	event(`{"kind":"status-update","taskId":%q,"contextId":%q,"status":%s,"final":true}`, t.ID, t.ContextID, t.Status)
}

func (a *remoteAgent) note(r received) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, r)
	close(a.news)
	a.news = make(chan struct{})
}

// requests returns the requests so far with the HTTP method.
func (a *remoteAgent) requests(method string) []received {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []received
	for _, r := range a.log {
		if r.Method == method {
			all = append(all, r)
		}
	}
	return all
}

// last returns the newest message to the agent.
func (a *remoteAgent) last(t *testing.T) received {
	t.Helper()
	all := a.requests(http.MethodPost)
	if len(all) == 0 {
		t.Fatal("the agent has got no message")
	}
	return all[len(all)-1]
}

// await waits until the requests of the agent satisfy ok.
func (a *remoteAgent) await(t *testing.T, what string, ok func([]received) bool) {
	t.Helper()
	for {
		a.mu.Lock()
		log, news := slices.Clone(a.log), a.news
		a.mu.Unlock()
		if ok(log) {
			return
		}
		select {
		case <-news:
		case <-t.Context().Done():
			t.Fatalf("%s: the test is over", what)
		}
	}
}
