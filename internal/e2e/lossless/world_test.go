package lossless

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/worker"
)

// received is the data that an agent received.
type received struct{ message, others, metadata string }

// reporter is an agent that sends the events in the plan of its message.
type reporter struct{ plans *sync.Map }

func (x reporter) Execute(ctx context.Context, _ *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		call := agent.CallFrom(ctx)
		id, _ := rawjson.String(rawjson.Member(rawjson.Member(call.Message, "metadata"), "plan"))
		found, ok := x.plans.Load(id)
		if !ok {
			yield(nil, fmt.Errorf("there is no plan %q", id))
			return
		}
		p := found.(*plan)
		p.heard <- received{string(call.Message), string(call.Others), string(call.Metadata)}
		if !yield(&agent.Raw{JSON: []byte(`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"},"metadata":{"step":0}}}`)}, nil) {
			return
		}
		select {
		case <-p.start:
		case <-ctx.Done():
			return
		}
		for _, s := range p.steps {
			if !yield(&agent.Raw{JSON: []byte(s.json)}, nil) {
				return
			}
		}
	}
}

func (x reporter) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// hub serves agents over all bindings.
type hub struct {
	url, grpc string
	stop      func()
}

// startHub starts a hub. If run is not nil, it runs concurrently until it returns.
func startHub(t *testing.T, store task.Store, agents map[task.Agent]a2asrv.AgentExecutor, run func(context.Context) error) *hub {
	t.Helper()
	e := engine.New(engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1, MaxRuns: 1000}})
	for name, x := range agents {
		card := &a2a.AgentCard{Name: string(name)}
		card.Capabilities.Streaming = true
		if err := e.Register(engine.Agent{Name: name, Card: card, Executor: x}); err != nil {
			t.Fatal(err)
		}
	}
	beside, last := context.WithCancel(context.Background())
	var outer sync.WaitGroup
	if run != nil {
		outer.Go(func() { _ = run(beside) })
	}
	web, grpcAddr, end := hubtest.Serve(t, hubtest.Parts{
		Engine: e, Front: httpfront.New(httpfront.Config{Engine: e}), GRPC: grpcbind.New(grpcbind.Config{Engine: e}),
	})
	<-e.Recovered()
	return &hub{url: "http://" + web, grpc: grpcAddr, stop: func() {
		end()
		last()
		outer.Wait()
	}}
}

// route leads from the called hub to the teller.
type route struct {
	agent task.Agent
	// binding is the binding to a remote agent; empty for others.
	binding string
}

var routes = []route{
	{"local", ""},
	{"queue", ""},
	{"rpc", rpcV1},
	{"rest", restV1},
	{"grpc", grpcV1},
	{"oldrpc", rpcOld},
	{"oldrest", restOld},
	{"oldgrpc", grpcOld},
}

// world is a hub with agents of every kind, and the hub of the remote ones.
type world struct {
	plans   *sync.Map
	lost    losses
	front   *hub
	grpc    pb.A2AServiceClient
	oldGRPC pb0.A2AServiceClient
}

func startWorld(t *testing.T, open func(name string) task.Store) *world {
	t.Helper()
	w := &world{plans: new(sync.Map), lost: readLosses(t)}
	far := startHub(t, open("far"), map[task.Agent]a2asrv.AgentExecutor{"far": reporter{w.plans}}, nil)
	t.Cleanup(far.stop)
	agents := map[task.Agent]a2asrv.AgentExecutor{"local": agent.With(reporter{w.plans}, agent.Traits{NoMessage: true})}
	for name, i := range map[task.Agent][3]string{
		"rpc": {far.url + "/a2a", "JSONRPC", "1.0"}, "rest": {far.url + "/v1/a2a", "HTTP+JSON", "1.0"},
		"grpc": {far.grpc, "GRPC", "1.0"}, "oldrpc": {far.url + "/a2a", "JSONRPC", "0.3.0"},
		"oldrest": {far.url, "HTTP+JSON", "0.3.0"}, "oldgrpc": {far.grpc, "GRPC", "0.3.0"},
	} {
		agents[name] = elsewhere(t, i)
	}
	queues, store := new(bus.Memory), open("front")
	d := &queue.Dispatcher{Bus: queues.Peer(), ID: "h", Tasks: store}
	agents["queue"] = &queue.Agent{Dispatcher: d, Queue: "far"}
	w.front = startHub(t, store, agents, d.Run)
	t.Cleanup(w.front.stop)
	ctx, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	doer := &worker.Worker{Bus: queues.Peer(), Name: "far", Executor: reporter{w.plans}, DrainTimeout: -1, Concurrency: 100}
	wg.Go(func() { _ = doer.Run(ctx) })
	t.Cleanup(func() { end(); wg.Wait() })
	conn, err := grpc.NewClient("passthrough:///"+w.front.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	w.grpc, w.oldGRPC = pb.NewA2AServiceClient(conn), pb0.NewA2AServiceClient(conn)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return w
}

// elsewhere returns an agent whose card offers one interface.
func elsewhere(t *testing.T, i [3]string) a2asrv.AgentExecutor {
	t.Helper()
	old := ""
	if i[2] == "0.3.0" {
		old = fmt.Sprintf(`"url":%q,"preferredTransport":%q,"protocolVersion":"0.3.0",`, i[0], i[1])
	} else {
		old = fmt.Sprintf(`"supportedInterfaces":[{"url":%q,"protocolBinding":%q,"protocolVersion":%q}],`, i[0], i[1], i[2])
	}
	card := `{"name":"far","description":"d","version":"1",` + old + `"capabilities":{"streaming":true},"skills":[],` +
		`"defaultInputModes":["*/*"],"defaultOutputModes":["*/*"]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, card)
	}))
	t.Cleanup(s.Close)
	a := &remote.Agent{
		URL: s.URL, Unpinned: true, Timeout: -1,
		Transports: map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial},
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}
