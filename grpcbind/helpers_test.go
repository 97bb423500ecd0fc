package grpcbind_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type yielder = func(a2a.Event, error) bool

// executor is an agent made of functions.
type executor struct {
	run    func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder)
	cancel func(ec *a2asrv.ExecutorContext)
}

func (x *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { x.run(ctx, ec, yield) }
}

func (x *executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.cancel != nil {
			x.cancel(ec)
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func state(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	if text == "" {
		return a2a.NewStatusUpdateEvent(ec, s, nil)
	}
	return a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}

// words answers with the words of the message as chunks of one artifact.
var words = &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	if !yield(state(ec, a2a.TaskStateWorking, ""), nil) {
		return
	}
	all := strings.SplitAfter(ec.Message.Parts[0].Text(), " ")
	for i, w := range all {
		ev := &a2a.TaskArtifactUpdateEvent{
			TaskID: ec.TaskID, ContextID: ec.ContextID, Append: i > 0, LastChunk: i == len(all)-1,
			Artifact: &a2a.Artifact{ID: "words", Parts: a2a.ContentParts{a2a.NewTextPart(w)}},
		}
		if !yield(ev, nil) {
			return
		}
	}
	yield(state(ec, a2a.TaskStateCompleted, "done"), nil)
}}

// mirror answers with the parts of the message.
var mirror = &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	ev := &a2a.TaskArtifactUpdateEvent{
		TaskID: ec.TaskID, ContextID: ec.ContextID, LastChunk: true,
		Artifact: &a2a.Artifact{ID: "mirror", Parts: ec.Message.Parts, Metadata: ec.Message.Metadata},
	}
	if yield(ev, nil) {
		yield(state(ec, a2a.TaskStateCompleted, ""), nil)
	}
}}

// ask asks for one answer.
var ask = &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	if ec.StoredTask == nil {
		yield(state(ec, a2a.TaskStateInputRequired, "which?"), nil)
		return
	}
	yield(state(ec, a2a.TaskStateCompleted, "thanks for "+ec.Message.Parts[0].Text()), nil)
}}

// brief answers with a bare message.
var brief = &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
	yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hi")), nil)
}}

// holder works until it is released or canceled.
type holder struct {
	executor
	// began gets the context of each execution, canceled that of each cancellation.
	began, canceled chan *a2asrv.ExecutorContext
	// calls gets the hub's record of each execution.
	calls chan *agent.Call
	letGo chan struct{}
}

func newHolder() *holder {
	h := &holder{
		began: make(chan *a2asrv.ExecutorContext, 100), canceled: make(chan *a2asrv.ExecutorContext, 100),
		calls: make(chan *agent.Call, 100), letGo: make(chan struct{}),
	}
	h.run = func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		if !yield(state(ec, a2a.TaskStateWorking, "busy"), nil) {
			return
		}
		// The test may rely on the events being durable.
		if agent.CallFrom(ctx).Flush(ctx) != nil {
			return
		}
		h.calls <- agent.CallFrom(ctx)
		h.began <- ec
		select {
		case <-h.letGo:
			yield(state(ec, a2a.TaskStateCompleted, "done"), nil)
		case <-ctx.Done():
		}
	}
	h.cancel = func(ec *a2asrv.ExecutorContext) { h.canceled <- ec }
	return h
}

// agents are the agents of a hub; names with the prefix "a-" come first.
type agents map[task.Agent]a2asrv.AgentExecutor

// hub is an engine behind a binding, and a connection to it.
type hub struct {
	t       testing.TB
	engine  *engine.Engine
	binding *grpcbind.Binding
	conn    *grpc.ClientConn
	client  pb.A2AServiceClient
	// listener accepts further connections.
	listener *bufconn.Listener
	// stopEngine and stopBinding end Run and Serve, and wait for them.
	stopEngine, stopBinding func() error
}

// start serves an engine with the agent "main" and more over a connection in
// memory. cfg needs no engine.
func start(t testing.TB, cfg grpcbind.Config, main a2asrv.AgentExecutor, more agents) *hub {
	t.Helper()
	h := &hub{t: t}
	if cfg.Engine == nil {
		cfg.Engine = engine.New(engine.Config{Store: new(memstore.Store)})
	}
	h.engine = cfg.Engine.(*engine.Engine)
	h.register("main", main)
	for name, x := range more {
		h.register(name, x)
	}
	h.binding = grpcbind.New(cfg)
	l := bufconn.Listen(64 << 10)
	h.listener = l
	h.stopEngine = background(h.engine.Run)
	h.stopBinding = background(func(ctx context.Context) error { return h.binding.Serve(ctx, l) })
	h.dial(l)
	t.Cleanup(func() {
		h.conn.Close()
		if err := h.stopEngine(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := h.stopBinding(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return h
}

// background runs a function until the returned stop is called.
func background(run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = run(ctx)
	}()
	return func() error {
		cancel()
		<-done
		return err
	}
}

func (h *hub) register(name task.Agent, x a2asrv.AgentExecutor) {
	h.t.Helper()
	card := &a2a.AgentCard{Name: string(name)}
	card.Capabilities.ExtendedAgentCard = name == "extended"
	if name == "plain" {
		card.DefaultInputModes, card.DefaultOutputModes = []string{"text/plain"}, []string{"text/plain"}
	}
	if err := h.engine.Register(engine.Agent{Name: name, Card: card, Executor: x}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hub) dial(l *bufconn.Listener) {
	h.t.Helper()
	var err error
	h.conn, err = grpc.NewClient("passthrough:///hub",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		h.t.Fatal(err)
	}
	h.client = pb.NewA2AServiceClient(h.conn)
}

// textRequest returns a request with one text part.
func textRequest(text string) *pb.SendMessageRequest {
	return &pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "m-" + text, Role: pb.Role_ROLE_USER,
		Parts: []*pb.Part{{Content: &pb.Part_Text{Text: text}}},
	}}
}

// to returns r for the agent with this name.
func to(tenant string, r *pb.SendMessageRequest) *pb.SendMessageRequest {
	r.Tenant = tenant
	return r
}

// send returns the task for the message r.
func (h *hub) send(r *pb.SendMessageRequest) *pb.Task {
	h.t.Helper()
	a, err := h.client.SendMessage(h.t.Context(), r)
	if err != nil {
		h.t.Fatalf("SendMessage(%v): %v", r, err)
	}
	if a.GetTask() == nil {
		h.t.Fatalf("SendMessage(%v) = %v, want a task", r, a)
	}
	return a.GetTask()
}

// begin returns a task that the holder works on.
func (h *hub) begin(x *holder, r *pb.SendMessageRequest) *pb.Task {
	h.t.Helper()
	r.Configuration = &pb.SendMessageConfiguration{ReturnImmediately: true}
	t := h.send(r)
	<-x.began
	return t
}

func with(ctx context.Context, kv ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, kv...)
}

// drain reads a stream to its end.
func drain(s grpc.ServerStreamingClient[pb.StreamResponse]) ([]*pb.StreamResponse, error) {
	var all []*pb.StreamResponse
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

// failure is the part of an error that a caller can read.
type failure struct {
	Code   codes.Code
	Reason string
	Fields []string
	Meta   map[string]string
}

func failureOf(t testing.TB, err error) failure {
	t.Helper()
	st, ok := status.FromError(err)
	if err == nil || !ok {
		t.Fatalf("got error %v, want a status", err)
	}
	f := failure{Code: st.Code()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			f.Reason, f.Meta = d.GetReason(), d.GetMetadata()
			if d.GetDomain() != a2a.ProtocolDomain {
				t.Errorf("ErrorInfo.domain = %q, want %q", d.GetDomain(), a2a.ProtocolDomain)
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				f.Fields = append(f.Fields, v.GetField())
			}
		}
	}
	return f
}

// records returns a logger and a channel of its records.
func records() (*slog.Logger, <-chan slog.Record) {
	c := make(chan slog.Record, 100)
	return slog.New(recorder{slog.DiscardHandler, c}), c
}

type recorder struct {
	slog.Handler
	c chan slog.Record
}

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r recorder) Handle(_ context.Context, rec slog.Record) error {
	r.c <- rec
	return nil
}
