package httpfront_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type yielder = func(a2a.Event, error) bool

// executor is an agent made of functions.
type executor struct {
	run    func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder)
	cancel func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder)
}

func (x *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { x.run(ctx, ec, yield) }
}

func (x *executor) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.cancel != nil {
			x.cancel(ctx, ec, yield)
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	if text == "" {
		return a2a.NewStatusUpdateEvent(ec, s, nil)
	}
	m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	return a2a.NewStatusUpdateEvent(ec, s, m)
}

func chunk(ec *a2asrv.ExecutorContext, text string, first, last bool) a2a.Event {
	ev := a2a.NewArtifactUpdateEvent(ec, "reply", a2a.NewTextPart(text))
	ev.Append, ev.LastChunk = !first, last
	return ev
}

// echo streams the text back word by word.
func echo() a2asrv.AgentExecutor {
	return described(func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		text := ec.Message.Parts[0].Text()
		words := strings.SplitAfter(text, " ")
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		for i, w := range words {
			if !yield(chunk(ec, w, i == 0, i == len(words)-1), nil) {
				return
			}
		}
		yield(status(ec, a2a.TaskStateCompleted, text), nil)
	})
}

// ask requests the city before it answers.
func ask() a2asrv.AgentExecutor {
	return described(func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which city?"), nil)
			return
		}
		yield(chunk(ec, "sunny in "+ec.Message.Parts[0].Text(), true, true), nil)
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	})
}

// hold works until it is canceled.
func hold() a2asrv.AgentExecutor {
	return described(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		if yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			<-ctx.Done()
		}
	})
}

// stubborn is hold, but refuses to be canceled.
func stubborn() a2asrv.AgentExecutor {
	x := &executor{cancel: func(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
		yield(nil, errors.New("not now"))
	}}
	x.run = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		if yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			<-ctx.Done()
		}
	}
	return agent.With(x, agent.Traits{NoMessage: true})
}

// greet answers with a bare message.
func greet() a2asrv.AgentExecutor {
	return &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("good day")), nil)
	}}
}

func described(run func(context.Context, *a2asrv.ExecutorContext, yielder)) a2asrv.AgentExecutor {
	return agent.With(&executor{run: run}, agent.Traits{NoMessage: true})
}

// gated yields one chunk for each text from words, and completes when the channel is closed.
func gated(words <-chan string) a2asrv.AgentExecutor {
	return described(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		for first := true; ; first = false {
			select {
			case w, more := <-words:
				if !more {
					yield(status(ec, a2a.TaskStateCompleted, ""), nil)
					return
				}
				if !yield(chunk(ec, w, first, false), nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
}

func newAgent(name task.Agent, x a2asrv.AgentExecutor) engine.Agent {
	return engine.Agent{Name: name, Executor: x, Card: &a2a.AgentCard{
		Name: string(name), Description: "the " + string(name) + " agent", Version: "1.0.0",
		Skills: []a2a.AgentSkill{{ID: string(name), Tags: []string{"test"}}},
	}}
}

// everyone returns the agents of most tests; echo is the default.
func everyone() []engine.Agent {
	promising := newAgent("promising", echo())
	promising.Card.Capabilities.ExtendedAgentCard = true
	plain := newAgent("plain", echo())
	plain.Card.DefaultInputModes, plain.Card.DefaultOutputModes = []string{"text/plain"}, []string{"text/plain"}
	return []engine.Agent{
		newAgent("echo", echo()), newAgent("ask", ask()), newAgent("hold", hold()),
		newAgent("stubborn", stubborn()), newAgent("greet", greet()), promising, plain,
	}
}

// startEngine returns an engine that runs until the test ends.
func startEngine(t testing.TB, agents ...engine.Agent) *engine.Engine {
	t.Helper()
	return startEngineWith(t, engine.Config{}, agents...)
}

func startEngineWith(t testing.TB, cfg engine.Config, agents ...engine.Agent) *engine.Engine {
	t.Helper()
	cfg.DrainTimeout = -1
	if cfg.Store == nil {
		cfg.Store = new(memstore.Store)
	}
	e, _ := enginetest.Start(t, cfg, agents...)
	return e
}

// hub is a front with its engine on a port of this machine.
type hub struct {
	t      testing.TB
	url    string
	client *http.Client
	engine *engine.Engine
}

// startHub serves cfg with the given agents until the test ends.
func startHub(t testing.TB, cfg httpfront.Config, agents ...engine.Agent) *hub {
	t.Helper()
	if cfg.Engine == nil {
		cfg.Engine = startEngine(t, agents...)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config = httpfront.NewServer(httpfront.New(cfg))
	s.Start()
	t.Cleanup(s.Close)
	return &hub{t: t, url: s.URL, client: s.Client(), engine: cfg.Engine}
}

// answer is a response that was read to its end.
type answer struct {
	code   int
	header http.Header
	body   string
}

// do sends a request; headers are "Name: value". A body is JSON unless a header
// says otherwise.
func (h *hub) do(method, path, body string, headers ...string) *answer {
	h.t.Helper()
	resp := h.open(h.t.Context(), method, path, body, headers...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%s %s: read answer: %v", method, path, err)
	}
	return &answer{resp.StatusCode, resp.Header, string(b)}
}

// open is do for a stream: the caller reads and closes the body.
func (h *hub) open(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		r.Header.Del(name)
		if value = strings.TrimSpace(value); value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

const v1 = "A2A-Version: 1.0"

func rpc(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

func message(text string) string {
	return `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
}

// byKey authenticates the bearer by the text of its token: "ann" is ann.
func byKey() auth.Authenticator {
	return auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		for _, v := range r.Header("authorization") {
			if who, ok := strings.CutPrefix(v, "Bearer "); ok && who != "" {
				return &auth.Principal{ID: who}, nil
			}
		}
		return nil, auth.ErrUnauthenticated
	})
}

// logbook is a logger whose records can be read concurrently.
type logbook struct{ testenv.Buffer }

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// pipes is a listener whose connections are in memory, so that a synctest bubble detects when
// all goroutines wait.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(t testing.TB) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	p.conns <- theirs
	t.Cleanup(func() { ours.Close() })
	return ours
}

// servePipes serves cfg in memory. The caller must call the returned function inside the
// bubble.
func servePipes(t testing.TB, cfg httpfront.Config) (*pipes, func()) {
	t.Helper()
	p := newPipes()
	s := httpfront.NewServer(httpfront.New(cfg))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(p); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return p, func() {
		s.Close()
		wg.Wait()
	}
}
