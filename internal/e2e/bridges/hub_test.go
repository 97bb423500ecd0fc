package bridges

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/testing/grpctest"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask asks for the city before it answers.
type ask struct{}

func (ask) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			question := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which city?"))
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, question), nil)
			return
		}
		ev := a2a.NewArtifactUpdateEvent(ec, "reply", a2a.NewTextPart("sunny in "+ec.Message.Parts[0].Text()))
		ev.LastChunk = true
		if yield(ev, nil) {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

func (ask) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// hub serves the agent "ask" over every binding.
type hub struct {
	t    *testing.T
	url  string
	http *http.Client
	grpc map[string]*grpctest.Client

	engine *engine.Engine
}

// register adds another agent.
func (h *hub) register(name task.Agent, x a2asrv.AgentExecutor) {
	h.t.Helper()
	card := &a2a.AgentCard{
		Name: string(name), Description: "asks for tools", Version: "1.0.0", Skills: []a2a.AgentSkill{{ID: string(name), Tags: []string{"test"}}},
	}
	if err := h.engine.Register(engine.Agent{Name: name, Card: card, Executor: agent.With(x, agent.Traits{NoMessage: true})}); err != nil {
		h.t.Fatal(err)
	}
}

// services are the gRPC services, by the first word of a call.
var services = map[string]protoreflect.ServiceDescriptor{
	"CALL":  pb.File_a2av1_proto.Services().ByName("A2AService"),
	"CALL3": pb0.File_a2a_proto.Services().ByName("A2AService"),
}

// start serves a hub until the test ends. Each client has its own key, and all share the same
// tasks. The dialect of the key distinguishes a derived dialect's calls about a task from those of
// v0.3.
func start(t *testing.T) *hub {
	t.Helper()
	e := engine.New(engine.Config{Store: new(memstore.Store), Push: new(enginetest.Pusher), Extended: engine.ExtendedCards{Authenticated: true}, Limits: limits.Limits{DrainTimeout: -1}})
	card := &a2a.AgentCard{
		Name: "ask", Description: "tells the weather", Version: "1.0.0",
		Skills: []a2a.AgentSkill{{ID: "ask", Tags: []string{"test"}}},
	}
	card.Capabilities.ExtendedAgentCard = true
	x := agent.With(ask{}, agent.Traits{NoMessage: true})
	if err := e.Register(engine.Agent{Name: "ask", Card: card, Executor: x}); err != nil {
		t.Fatal(err)
	}
	auths := auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		who := r.Header("X-Client")
		if len(who) == 0 {
			return nil, auth.ErrUnauthenticated
		}
		return &auth.Principal{ID: who[0], Org: "all"}, nil
	})
	l, g := hubtest.Listen(t), hubtest.Listen(t)
	profiles := map[string]string{"v0.3": "v0.3", dialecttest.Derived: dialecttest.Derived, dialecttest.Gateway: dialecttest.Gateway}
	h := &hub{t: t, url: "http://" + l.Addr().String(), http: &http.Client{}, grpc: make(map[string]*grpctest.Client), engine: e}
	front := httpfront.New(httpfront.Config{
		Engine: e, Auth: auths, Profiles: httpfront.Profiles{Callers: profiles}, GRPCAddr: g.Addr().String(),
	})
	h.serve(hubtest.Parts{
		Engine: e, Front: front, GRPC: grpcbind.New(grpcbind.Config{Engine: e, Auth: auths}), Listener: l, GRPCListener: g,
	})
	return h
}

// serve runs the parts of the hub until the test ends.
func (h *hub) serve(p hubtest.Parts) {
	_, grpcAddr, _ := hubtest.Serve(h.t, p)
	conn, err := grpc.NewClient("passthrough:///"+grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	for word, service := range services {
		h.grpc[word] = &grpctest.Client{Conn: conn, Service: service}
	}
	h.t.Cleanup(func() {
		h.http.CloseIdleConnections()
		conn.Close()
	})
}

// say sends a request of a client and returns the status and the answer. For a continuing
// stream it returns the first event.
func (h *hub) say(as *dialecttest.Tongue, request string, first bool) string {
	h.t.Helper()
	line, body, _ := strings.Cut(request, "\n")
	method, path, _ := strings.Cut(line, " ")
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	if c := h.grpc[method]; c != nil {
		return call(ctx, c, as, path, body, first)
	}
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Client", as.Name)
	if as.Version != "" {
		r.Header.Set("A2A-Version", as.Version)
	}
	resp, err := h.http.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Status + "\n" + read(h.t, resp.Body, first)
}

// read reads an answer, or the first event of a continuing stream.
func read(t *testing.T, r io.Reader, first bool) string {
	t.Helper()
	var all strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		all.Write(buf[:n])
		if errors.Is(err, io.EOF) || first && strings.Contains(all.String(), "data:") && strings.HasSuffix(all.String(), "\n\n") {
			return all.String()
		}
		if err != nil {
			t.Fatalf("%s: %v", &all, err)
		}
	}
}

// call makes a gRPC call.
func call(ctx context.Context, c *grpctest.Client, as *dialecttest.Tongue, method, request string, first bool) string {
	ctx = metadata.AppendToOutgoingContext(ctx, "x-client", as.Name, "a2a-version", as.Version)
	var all strings.Builder
	err := c.Call(ctx, method, request, func(message string) bool {
		all.WriteString(message + "\n")
		return !first
	})
	if err != nil {
		return grpctest.Status(err)
	}
	return "OK\n" + all.String()
}
