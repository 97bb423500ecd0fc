package client_test

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/client"
)

// leftByServer is the goroutine of a queue of the SDK's server, which creates a queue that it never
// destroys if a caller subscribes at the very end of a task.
const leftByServer = "github.com/a2aproject/a2a-go/v2/a2asrv/eventqueue.newInMemoryEventBroker.func1"

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(goleak.IgnoreAnyFunction(leftByServer)); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// agent answers by the first word of the message: "echo" in chunks, "ask" with a
// question, "say" with a bare message, "wait" when it is canceled or the test has ended.
type agent struct{ ended <-chan struct{} }

func (a agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	verb, rest, _ := strings.Cut(ec.Message.Parts[0].Text(), " ")
	return func(yield func(a2a.Event, error) bool) {
		if verb == "say" {
			yield(a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(rest)), nil)
			return
		}
		if ec.StoredTask == nil && !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			return
		}
		if !yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), nil) {
			return
		}
		switch verb {
		case "wait":
			select {
			case <-ctx.Done():
			case <-a.ended:
				// The SDK's server never releases a run without a final state.
				yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateFailed, nil), nil)
			}
		case "ask":
			question := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("which one?"))
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, question), nil)
		default:
			echo(ec, rest, yield)
		}
	}
}

func echo(ec *a2asrv.ExecutorContext, text string, yield func(a2a.Event, error) bool) {
	for i, word := range strings.SplitAfter(text, " ") {
		chunk := a2a.NewArtifactUpdateEvent(ec, "answer", a2a.NewTextPart(word))
		chunk.Append = i > 0
		if !yield(chunk, nil) {
			return
		}
	}
	yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
}

func (agent) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// startSDK serves agent with the SDK over both HTTP bindings, the given ones in the
// card, and returns its base URL. seen is called with each request.
func startSDK(t *testing.T, seen func(*http.Request), bindings ...a2a.TransportProtocol) string {
	t.Helper()
	card := &a2a.AgentCard{
		Name: "sdk", Description: "the SDK's server", Version: "1",
		Capabilities:      a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{},
	}
	ended := make(chan struct{})
	handler := a2asrv.NewHandler(agent{ended}, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			seen(r)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(ended)
		srv.Close()
	})
	for _, b := range bindings {
		path := "/rpc"
		if b == a2a.TransportProtocolHTTPJSON {
			path = "/rest"
		}
		card.SupportedInterfaces = append(card.SupportedInterfaces, a2a.NewAgentInterface(srv.URL+path, b))
	}
	mux.Handle("/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(card))
	return srv.URL
}

// dial returns a client that is closed with the test.
func dial(t *testing.T, url string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatalf("Dial(%s): %v", url, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return c
}

// textRequest is a request with one text part.
func textRequest(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// eachBinding runs f against the SDK's server over both HTTP bindings.
func eachBinding(t *testing.T, f func(t *testing.T, c *client.Client)) {
	for _, b := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			f(t, dial(t, startSDK(t, nil, b), client.Options{}))
		})
	}
}
