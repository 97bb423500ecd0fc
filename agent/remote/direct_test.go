package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/task"
)

// cardlessPeer is a server with or without a card. It completes the messages sent to one path, and
// records the path of each POST and the context ids in it.
type cardlessPeer struct {
	*httptest.Server
	mu       sync.Mutex // guards the fields below
	posts    []string
	contexts []string
	fetched  int
}

func startCardless(t *testing.T, card func(url string) string, path string) *cardlessPeer {
	l := new(cardlessPeer)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet && card != nil && r.URL.Path == "/.well-known/agent-card.json":
			l.fetched++
			io.WriteString(w, card(l.URL))
			return
		case r.Method == http.MethodGet:
			l.fetched++
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		l.posts = append(l.posts, r.URL.Path)
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		params := body
		if p := rawjson.Member(body, "params"); p != nil {
			params = p
		}
		inner, _ := rawjson.String(rawjson.Member(rawjson.Member(params, "message"), "contextId"))
		outer, _ := rawjson.String(rawjson.Member(params, "contextId"))
		l.contexts = append(l.contexts, inner+"|"+outer)
		if rawjson.Member(body, "jsonrpc") != nil && path == "/message" {
			io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","messageId":"m","role":"agent","contextId":"theirs","parts":[{"kind":"text","text":"hi"}]}}`)
			return
		}
		if rawjson.Member(body, "jsonrpc") != nil {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"t%d","contextId":"theirs","status":{"state":"completed"}}}`, len(l.posts))
			return
		}
		fmt.Fprintf(w, `{"task":{"id":"t%d","contextId":"theirs","status":{"state":"TASK_STATE_COMPLETED"}}}`, len(l.posts))
	}))
	t.Cleanup(l.Close)
	return l
}

// hubOf returns a hub whose only agent is a.
func hubOf(t *testing.T, a *remote.Agent) *hub {
	t.Cleanup(func() { a.Close() })
	return startHub(t, map[string]a2asrv.AgentExecutor{"far": a}, nil)
}

func TestCallsWithoutACard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		direct       remote.Direct
		at, target   string
		path         string
		fetches, ask bool
	}{
		"JSON-RPC":       {remote.Direct{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3"}, "/a2a", "", "/a2a", true, true},
		"HTTP+JSON":      {remote.Direct{Binding: a2a.TransportProtocolHTTPJSON, Version: "1.0"}, "/v1/a2a", "researcher", "/v1/a2a/researcher/message:send", true, true},
		"no fetch":       {remote.Direct{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3", Blind: true}, "/", "", "/", false, true},
		"nothing said":   {remote.Direct{}, "/a2a", "", "/a2a", true, false},
		"URL of a card":  {remote.Direct{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3"}, "/a2a/card.json", "", "/a2a", true, false},
		"fetch, or call": {remote.Direct{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3", Fixed: true}, "/x", "", "/x", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startCardless(t, nil, tt.path)
			h := hubOf(t, &remote.Agent{URL: l.URL + tt.at, Target: tt.target, Direct: tt.direct})
			r := newSend("hi")
			a := h.send(r)
			if ok := a.Head.State == task.Completed; ok != tt.ask {
				t.Errorf("task is %s, want completed: %t", describe(a), tt.ask)
			}
			if !tt.ask && len(l.posts) > 0 || tt.ask && strings.Join(l.posts, " ") != tt.path || (l.fetched > 0) != tt.fetches {
				t.Errorf("POSTs to %v, %d GETs", l.posts, l.fetched)
			}
		})
	}
}

// TestCardIsFetchedAgain checks that an agent whose host breaks the connection to its card, or has
// none yet, is not called as one without a card: the card names another address.
func TestCardIsFetchedAgain(t *testing.T) {
	t.Parallel()
	direct := remote.Direct{Binding: a2a.TransportProtocolHTTPJSON, Version: "1.0"}
	for name, harm := range map[string]func(http.ResponseWriter){
		"reset":    func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut":      func(w http.ResponseWriter) { w.Header().Set("Content-Length", "1000"); io.WriteString(w, `{"name":`) },
		"starting": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var front *httptest.Server
			l := startCardless(t, func(string) string {
				return fmt.Sprintf(`{"name":"n","description":"d","version":"1","capabilities":{},"skills":[],
"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"supportedInterfaces":[
{"url":"%s/a2a","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`, front.URL)
			}, "/a2a/message:send")
			var fetched atomic.Int32
			front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && fetched.Add(1) == 1 {
					harm(w)
					return
				}
				l.Config.Handler.ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			h := hubOf(t, &remote.Agent{URL: front.URL, NoStreaming: true, Direct: direct})
			if a := h.send(newSend("hi")); a.Head.State != task.Completed {
				t.Errorf("the task is %s", describe(a))
			}
		})
	}
}

// TestFixedAddress checks that a message and its credentials go to no other path of the host
// than the configured one.
func TestFixedAddress(t *testing.T) {
	t.Parallel()
	card := func(url string) string {
		return fmt.Sprintf(`{"name":"n","description":"d","version":"1","capabilities":{},"skills":[],
"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"supportedInterfaces":[
{"url":"%[1]s/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
{"url":"http://container:1/v1/a2a","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`, url)
	}
	for name, tt := range map[string]struct {
		binding a2a.TransportProtocol
		at      string
		want    string
	}{
		"listed":     {a2a.TransportProtocolHTTPJSON, "/v1/a2a", "/v1/a2a/researcher/message:send"},
		"not listed": {a2a.TransportProtocolHTTPJSON, "/own/a2a", "/own/a2a/researcher/message:send"},
		"JSON-RPC":   {a2a.TransportProtocolJSONRPC, "/rpc", "/rpc"},
		"no path":    {a2a.TransportProtocolHTTPJSON, "", "/a2a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startCardless(t, card, tt.want)
			a := &remote.Agent{
				URL: l.URL + tt.at, Target: "researcher", NoStreaming: true,
				Direct: remote.Direct{Binding: tt.binding, Version: "0.3", Fixed: true},
			}
			if tt.binding == a2a.TransportProtocolHTTPJSON {
				a.Direct.Version = "1.0"
			}
			hubOf(t, a).send(newSend("hi"))
			if diff := cmp.Diff([]string{tt.want}, l.posts); diff != "" {
				t.Errorf("POSTs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAgentNamesTheContext checks that the agent names its context with its first answer, and
// that later messages of the caller's context are sent there, also after a restart of the hub.
func TestAgentNamesTheContext(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/task", "/message"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			namesTheContext(t, path)
		})
	}
}

func namesTheContext(t *testing.T, path string) {
	l := startCardless(t, nil, path)
	h := hubOf(t, &remote.Agent{
		URL: l.URL + path, NoContext: true, ParamsContext: true,
		Direct: remote.Direct{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3"},
	})
	in := func(context string) {
		t.Helper()
		r := newSend("hi")
		r.Message.ContextID = context
		if a := h.send(r); a.Message == nil && a.Head.State != task.Completed {
			t.Fatalf("task is %s", describe(a))
		}
	}
	in("one")
	in("one")
	in("two")
	h.restart()
	in("one")
	want := []string{"|", "theirs|theirs", "|", "theirs|theirs"}
	if diff := cmp.Diff(want, l.contexts); diff != "" {
		t.Errorf("context ids of the message and beside it (-want +got):\n%s", diff)
	}
}
