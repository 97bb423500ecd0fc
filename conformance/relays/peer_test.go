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

// peer is an agent elsewhere that does each task at once, and remembers what it was asked.
type peer struct {
	// card are further members of the card, with a comma before.
	card string
	// refuse, if not nil, returns the JSON-RPC error of a request; empty for none.
	refuse func(h http.Header) string

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
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"peer","description":"d","version":"1","skills":[{"id":"s","name":"s","description":"d","tags":["t"]}],`+
			`"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]%s}`, srv.URL+"/rpc", p.card)
	})
	mux.HandleFunc("POST /rpc", p.serve)
	return p
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &call)
	p.mu.Lock()
	p.asked = append(p.asked, asked{call.Method, r.Header.Clone(), string(body)})
	number := len(p.asked)
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if p.refuse != nil {
		if problem := p.refuse(r.Header); problem != "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, call.ID, problem)
			return
		}
	}
	task := fmt.Sprintf(`{"task":{"id":"there-%d","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"done"}]}]}}`, number)
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

// all returns what the agent was asked.
func (p *peer) all() []asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]asked(nil), p.asked...)
}
