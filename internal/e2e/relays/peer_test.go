package relays

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// peer is a remote agent that completes each task at once, and records its requests.
type peer struct {
	// card are further members of the card, with a leading comma.
	card string
	// refuse, if not nil, returns the JSON-RPC error for a request; empty accepts it.
	refuse func(h http.Header) string
	// confirms is the A2A-Extensions of its answers; empty for none.
	confirms string
	// binding is the binding of its interface; empty means JSONRPC.
	binding string

	url string

	mu    sync.Mutex // guards the field below
	asked []asked
}

// asked is a request for a task.
type asked struct {
	method string
	header http.Header
	body   string
}

func (p *peer) start(t *testing.T) *peer {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p.url = srv.URL
	if !strings.Contains(p.card, "capabilities") {
		p.card += `,"capabilities":{"streaming":true}`
	}
	if p.binding == "" {
		p.binding = "JSONRPC"
	}
	mux.HandleFunc("GET /.well-known/agent-card.json", cardOf(p.binding, srv.URL+"/rpc", p.card))
	mux.HandleFunc("POST /rpc", p.serve)
	mux.HandleFunc("POST /rpc/", p.serveHTTP)
	return p
}

// cardOf serves a card with one interface, and further members with a leading comma.
func cardOf(binding, at, more string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"peer","description":"d","version":"1","skills":[{"id":"s","name":"s","description":"d","tags":["t"]}],`+
			`"supportedInterfaces":[{"url":%q,"protocolBinding":%q,"protocolVersion":"1.0"}]%s}`, at, binding, more)
	}
}

// confirm writes the header with the confirmed extensions.
func (p *peer) confirm(w http.ResponseWriter) {
	if p.confirms != "" {
		w.Header().Set("A2A-Extensions", p.confirms)
	}
}

// serveHTTP answers HTTP+JSON calls.
func (p *peer) serveHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	task := doneTask(p.note(r.URL.Path, r.Header, body))
	p.confirm(w)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/rpc/message:send":
		io.WriteString(w, task)
	case "/rpc/message:stream":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", task)
	default:
		http.NotFound(w, r)
	}
}

// note records a request, and returns the number of requests.
func (p *peer) note(method string, h http.Header, body []byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, asked{method, h.Clone(), string(body)})
	return len(p.asked)
}

// doneTask is the answer to a message.
func doneTask(number int) string {
	return fmt.Sprintf(`{"task":{"id":"there-%d","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"done"}]}]}}`, number)
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &call)
	number := p.note(call.Method, r.Header, body)
	p.confirm(w)
	w.Header().Set("Content-Type", "application/json")
	if p.refuse != nil {
		if problem := p.refuse(r.Header); problem != "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, call.ID, problem)
			return
		}
	}
	task := doneTask(number)
	switch call.Method {
	case "SendMessage":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, task)
	case "SendStreamingMessage":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", call.ID, task)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, call.ID)
	}
}

// all returns the recorded requests.
func (p *peer) all() []asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]asked(nil), p.asked...)
}
