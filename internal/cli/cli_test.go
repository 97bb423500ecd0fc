package cli

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/agents/builtin"
)

// leakChecked is a test run that fails if goroutines are still running at its end.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"parley": func() { os.Exit(Main(context.Background(), os.Args[1:], Process())) },
	})
}

// testAgent runs an executor of this module on the SDK's server.
type testAgent struct {
	name    string
	run     a2asrv.AgentExecutor
	started chan a2a.TaskID // receives the id of each run that begins
	ended   <-chan struct{} // closed when the test is over
}

// Execute adds the first event that the SDK's server requires.
func (a *testAgent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() {
			select {
			case <-a.ended:
				cancel()
			case <-ctx.Done():
			}
		})
		if ec.StoredTask == nil && a.name != "say" && !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			return
		}
		first := true
		for event, err := range a.run.Execute(ctx, ec) {
			if !yield(event, err) {
				return
			}
			if first {
				a.started <- ec.TaskID
			}
			first = false
		}
		if a.name == "auth" {
			// The SDK's server keeps the stream and the run open until the final event.
			<-ctx.Done()
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateFailed, nil), nil)
		}
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (a *testAgent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return a.run.Cancel(ctx, ec)
}

// oneEvent is an agent that always answers with the same event.
type oneEvent func(ec *a2asrv.ExecutorContext) a2a.Event

func (f oneEvent) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(f(ec), nil) }
}

func (f oneEvent) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// inState returns an agent that answers with a state and a word.
func inState(state a2a.TaskState, word string) oneEvent {
	return func(ec *a2asrv.ExecutorContext) a2a.Event {
		return a2a.NewStatusUpdateEvent(ec, state, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(word)))
	}
}

// statusEvent answers with a bare message with the parts and the skill of the request.
func statusEvent(ec *a2asrv.ExecutorContext) a2a.Event {
	m := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, ec.Message.Parts...)
	if skill, ok := ec.Message.Metadata["skill"].(string); ok {
		m.Parts = append(m.Parts, a2a.NewTextPart("skill "+skill))
	}
	return m
}

// sdkServer is the official SDK's server with the built-in agents of Parley and a few that
// misbehave.
type sdkServer struct {
	url    string
	agents map[string]*testAgent
	// subscribed receives a value for each subscription over HTTP+JSON.
	subscribed chan struct{}
}

// startSDK starts a server, which cleanup stops.
func startSDK(cleanup func(func())) *sdkServer {
	ended := make(chan struct{})
	mux := http.NewServeMux()
	s := &sdkServer{agents: make(map[string]*testAgent), subscribed: make(chan struct{}, 100)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ":subscribe") {
			s.subscribed <- struct{}{}
		}
		mux.ServeHTTP(w, r)
	}))
	s.url = srv.URL
	cleanup(func() {
		close(ended)
		srv.Close()
	})
	add := func(name string, card *a2a.AgentCard, run a2asrv.AgentExecutor) {
		a := &testAgent{name: name, run: run, started: make(chan a2a.TaskID, 100), ended: ended}
		s.agents[name] = a
		mount(mux, srv.URL, "/a2a/"+name, card, a)
		if name == "echo" {
			mount(mux, srv.URL, "", card, a)
		}
	}
	for _, a := range builtin.Agents() {
		add(string(a.Name), a.Card, a.Executor)
	}
	plain := &a2a.AgentCard{Name: "test", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: true}}
	add("say", plain, oneEvent(statusEvent))
	add("fail", plain, inState(a2a.TaskStateFailed, "it broke\x1b[31m"))
	add("auth", plain, inState(a2a.TaskStateAuthRequired, "log in first"))
	return s
}

// mount serves one agent below a path.
func mount(mux *http.ServeMux, host, path string, card *a2a.AgentCard, run a2asrv.AgentExecutor) {
	c := *card
	c.Capabilities.Streaming = true
	c.SupportedInterfaces = []*a2a.AgentInterface{
		a2a.NewAgentInterface(host+path+"/rpc", a2a.TransportProtocolJSONRPC),
		a2a.NewAgentInterface(host+path+"/rest", a2a.TransportProtocolHTTPJSON),
	}
	h := a2asrv.NewHandler(run, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	mux.Handle(path+"/rpc", a2asrv.NewJSONRPCHandler(h))
	mux.Handle(path+"/rest/", http.StripPrefix(path+"/rest", a2asrv.NewRESTHandler(h)))
	mux.Handle(path+"/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(&c))
}

// invoke runs the command in this process and returns its exit code and output.
func invoke(t *testing.T, o OS, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	o.Stdout, o.Stderr = &out, &errs
	if o.Stdin == nil {
		o.Stdin = strings.NewReader("")
	}
	code = Main(t.Context(), args, o)
	return code, out.String(), errs.String()
}
