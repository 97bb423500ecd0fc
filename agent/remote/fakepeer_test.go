package remote_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/remote"
)

// fakePeer is a peer with scripted answers. Each message starts the next of its turns.
type fakePeer struct {
	streams, push bool
	turns         []turn
	answered      chan struct{} // closed with the second message; may be nil
	hung          chan struct{} // closed with the first message, which then gets no answer; may be nil

	mu    sync.Mutex // guards the fields below
	sent  int        // messages so far
	show  int        // snapshots of the turn that were shown
	looks int        // snapshots that were shown in all
	back  time.Time  // end of turn.away
	mine  string     // the id of the last message, which snapshots show for $MINE
	heads []http.Header
	asked []string // the requests, as JSON
}

// turn is the reaction of a fakePeer to one message.
type turn struct {
	// frames are the stream, in which a StreamResponse without an enclosing object is one; open
	// leaves the stream open, and cut breaks the connection after them.
	frames []string
	open   bool
	cut    bool
	// answer is the answer to a send.
	answer string
	// confirms is the header A2A-Extensions of the answer to the message; empty for none.
	confirms string
	// refused makes the peer refuse the message.
	refused bool
	// tasks are the snapshots that later polls of the task return; the last one repeats.
	tasks []string
	// away is how long polls fail after the first one.
	away time.Duration
}

const fakePeerTask = `"id":"there","contextId":"c"`

// snap returns a task; status and more are members after the state.
func snap(state, status, more string) string {
	return fmt.Sprintf(`{%s,"status":{"state":"TASK_STATE_%s"%s}%s}`, fakePeerTask, state, status, more)
}

func artifactUpdated(id, text string) string {
	return fmt.Sprintf(`{"artifactUpdate":{"taskId":"there","contextId":"c","artifact":%s}}`, artifact(id, text))
}

func statusUpdated(state, status, more string) string {
	return fmt.Sprintf(`{"statusUpdate":{"taskId":"there","contextId":"c","status":{"state":"TASK_STATE_%s"%s}%s}}`, state, status, more)
}

func artifact(id, text string) string {
	return fmt.Sprintf(`{"artifactId":%q,"parts":[{"text":%q}]}`, id, text)
}

func artifacts(all ...string) string { return `,"artifacts":[` + strings.Join(all, ",") + `]` }

func task0(t string) string { return `{"task":` + t + `}` }

// start returns the address of a fakePeer.
func (p *fakePeer) start(t testing.TB) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"stranger","description":"d","version":"1","capabilities":{"streaming":%t,"pushNotifications":%t,"extensions":[{"uri":"urn:x:one"},{"uri":"urn:x:two","required":true}]},`+
			`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],`+
			`"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, p.streams, p.push, srv.URL+"/rpc")
	})
	mux.HandleFunc("POST /rpc", p.serve)
	return srv.URL
}

// next receives a request; it returns the turn, and the snapshot to show.
func (p *fakePeer) next(method string, h http.Header, body []byte) (t *turn, shown string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasSuffix(method, "Message") {
		p.sent++
		p.show = 0
		var sent struct {
			Params struct{ Message struct{ MessageID string } }
		}
		_ = json.Unmarshal(body, &sent)
		if p.mine = sent.Params.Message.MessageID; p.sent == 2 && p.answered != nil {
			close(p.answered)
		}
		p.heads, p.asked = append(p.heads, h.Clone()), append(p.asked, string(body))
	}
	t = &p.turns[max(0, min(p.sent, len(p.turns))-1)]
	if method == "GetTask" || method == "SubscribeToTask" {
		if time.Now().Before(p.back) {
			return t, ""
		}
		if p.show == 0 {
			p.back = time.Now().Add(t.away)
		}
		shown = strings.ReplaceAll(t.tasks[min(p.show, len(t.tasks)-1)], "$MINE", p.mine)
		p.show++
		p.looks++
	}
	return t, shown
}

// messages returns the number of messages that have arrived.
func (p *fakePeer) messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func (p *fakePeer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &asked)
	if p.hung != nil && asked.Method == "SendMessage" && p.first(r.Header, body) {
		close(p.hung)
		<-r.Context().Done()
		return
	}
	t, shown := p.next(asked.Method, r.Header, body)
	envelope := func(result string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, result)
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(asked.Method, "Message") && t.confirms != "" {
		w.Header().Set("A2A-Extensions", t.confirms)
	}
	if strings.HasSuffix(asked.Method, "Message") && t.refused {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	switch asked.Method {
	case "GetTask":
		if shown == "" {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, envelope(shown))
	case "SendMessage":
		io.WriteString(w, envelope(t.answer))
	case "SendStreamingMessage":
		p.stream(w, r, t, envelope)
	case "SubscribeToTask":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"no subscriptions"}}`, asked.ID)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, asked.ID)
	}
}

// first receives a request; it reports whether it is the first one.
func (p *fakePeer) first(h http.Header, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.heads) > 0 {
		return false
	}
	p.heads, p.asked = append(p.heads, h.Clone()), append(p.asked, string(body))
	return true
}

func (p *fakePeer) stream(w http.ResponseWriter, r *http.Request, t *turn, envelope func(string) string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, f := range t.frames {
		fmt.Fprintf(w, "data: %s\n\n", envelope(f))
		_ = http.NewResponseController(w).Flush()
	}
	if t.cut {
		panic(http.ErrAbortHandler)
	}
	for i := 0; t.open; i++ {
		if len(t.answer) == 0 {
			<-r.Context().Done()
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", envelope(t.answer)); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
	}
}

// way is a configuration with which a hub calls a fakePeer.
type way struct {
	name                        string
	streams, immediately, block bool
}

// fourWays are the ways that the configuration offers.
var fourWays = []way{
	{name: "stream", streams: true},
	{name: "stream, immediately", streams: true, immediately: true},
	{name: "poll", immediately: true},
	{name: "block", block: true},
}

// startFakePeer starts a hub that calls a fakePeer in the given way.
func startFakePeer(t *testing.T, s *fakePeer, w way, alter func(*remote.Agent)) *hub {
	t.Helper()
	s.streams = w.streams
	a := &remote.Agent{URL: s.start(t), Poll: 10 * time.Millisecond, NoStreaming: !w.streams, ReturnImmediately: w.immediately}
	if alter != nil {
		alter(a)
	}
	t.Cleanup(func() { a.Close() })
	return startHub(t, map[string]a2asrv.AgentExecutor{"far": a}, nil)
}
