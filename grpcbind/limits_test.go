package grpcbind_test

import (
	"context"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// byName authenticates every caller by the name that it sends.
func byName() auth.Authenticator {
	return auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		if names := r.Header("x-name"); len(names) == 1 {
			return &auth.Principal{ID: names[0]}, nil
		}
		return nil, auth.ErrUnauthenticated
	})
}

func limitedHub(t *testing.T, cfg engine.Config) *hub {
	t.Helper()
	cfg.DrainTimeout = -1
	if cfg.Store == nil {
		cfg.Store = new(memstore.Store)
	}
	return start(t, grpcbind.Config{Auth: byName(), Engine: engine.New(cfg)}, words, agents{"holder": newHolder()})
}

// refusedFor returns the retry delay of a refusal.
func refusedFor(t *testing.T, what string, err error) time.Duration {
	t.Helper()
	st, _ := status.FromError(err)
	if st.Code() != codes.ResourceExhausted {
		t.Errorf("%s = %v, want RESOURCE_EXHAUSTED", what, err)
		return 0
	}
	for _, d := range st.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return r.GetRetryDelay().AsDuration()
		}
	}
	t.Errorf("%s: no RetryInfo in %v", what, st.Details())
	return 0
}

// everyCall returns a call of each method.
func everyCall(h *hub) map[string]func(context.Context) error {
	c := h.client
	return map[string]func(context.Context) error{
		"SendMessage": func(ctx context.Context) error { _, err := c.SendMessage(ctx, textRequest("x")); return err },
		"SendStreamingMessage": func(ctx context.Context) error {
			return streamed(c.SendStreamingMessage(ctx, textRequest("x")))
		},
		"GetTask":   func(ctx context.Context) error { _, err := c.GetTask(ctx, &pb.GetTaskRequest{Id: "t"}); return err },
		"ListTasks": func(ctx context.Context) error { _, err := c.ListTasks(ctx, &pb.ListTasksRequest{}); return err },
		"CancelTask": func(ctx context.Context) error {
			_, err := c.CancelTask(ctx, &pb.CancelTaskRequest{Id: "t"})
			return err
		},
		"SubscribeToTask": func(ctx context.Context) error {
			return streamed(c.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: "t"}))
		},
		"CreateTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.CreateTaskPushNotificationConfig(ctx, &pb.TaskPushNotificationConfig{TaskId: "t"})
			return err
		},
		"GetTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.GetTaskPushNotificationConfig(ctx, &pb.GetTaskPushNotificationConfigRequest{TaskId: "t"})
			return err
		},
		"ListTaskPushNotificationConfigs": func(ctx context.Context) error {
			_, err := c.ListTaskPushNotificationConfigs(ctx, &pb.ListTaskPushNotificationConfigsRequest{TaskId: "t"})
			return err
		},
		"DeleteTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.DeleteTaskPushNotificationConfig(ctx, &pb.DeleteTaskPushNotificationConfigRequest{TaskId: "t"})
			return err
		},
		"GetExtendedAgentCard": func(ctx context.Context) error { _, err := h.extended(ctx, ""); return err },
	}
}

func streamed(s grpc.ServerStreamingClient[pb.StreamResponse], err error) error {
	if err == nil {
		_, err = drain(s)
	}
	return err
}

// TestEveryMethodIsLimited checks that every method counts against the limits of its own caller
// only. The tests of the rate limiter cover the delays.
func TestEveryMethodIsLimited(t *testing.T) {
	t.Parallel()
	h := limitedHub(t, engine.Config{Limits: limits.Limits{RequestsPerSecond: 0.001, Burst: 1}})
	calls := everyCall(h)
	maps.Copy(calls, everyLegacyCall(h))
	for name, call := range calls {
		for _, caller := range []string{"ann", "bob"} {
			ctx := with(t.Context(), "x-name", caller+name)
			if err := call(ctx); status.Code(err) == codes.ResourceExhausted {
				t.Errorf("%s for the first time = %v", name, err)
			}
			if wait := refusedFor(t, name, call(ctx)); wait < 900*time.Second || wait > 1000*time.Second {
				t.Errorf("%s: come back after %v, want 1,000 s", name, wait)
			}
		}
	}
}

func TestBytesAreLimited(t *testing.T) {
	t.Parallel()
	h := limitedHub(t, engine.Config{Limits: limits.Limits{BytesPerSecond: 100}})
	ann, bob := with(t.Context(), "x-name", "ann"), with(t.Context(), "x-name", "bob")
	large := textRequest("x")
	large.Message.Parts[0].Content = &pb.Part_Text{Text: strings.Repeat("x", 100_000)}
	if _, err := h.client.SendMessage(ann, large); err != nil {
		t.Fatalf("the first message: %v", err)
	}
	_, err := h.client.ListTasks(ann, &pb.ListTasksRequest{})
	if wait := refusedFor(t, "the next call", err); wait < 900*time.Second || wait > 1100*time.Second {
		t.Errorf("come back after %v, want 100,000 bytes at 100 bytes per second", wait)
	}
	if _, err := h.client.ListTasks(bob, &pb.ListTasksRequest{}); err != nil {
		t.Errorf("another caller: %v", err)
	}
	old := textRequest0(strings.Repeat("x", 100_000))
	old.Request.MessageId = "m"
	if _, err := h.legacy().SendMessage(bob, old); err != nil {
		t.Fatalf("the first message of v0.3: %v", err)
	}
	_, err = h.legacy().GetTask(bob, &pb0.GetTaskRequest{Name: "tasks/t"})
	refusedFor(t, "the next call of v0.3", err)
}

func TestTasksAreLimited(t *testing.T) {
	t.Parallel()
	h := limitedHub(t, engine.Config{Limits: limits.Limits{TasksPerCaller: 1}})
	ann, bob := with(t.Context(), "x-name", "ann"), with(t.Context(), "x-name", "bob")
	hold := to("holder", textRequest("hold"))
	hold.Configuration = &pb.SendMessageConfiguration{ReturnImmediately: true}
	if _, err := h.client.SendMessage(ann, hold); err != nil {
		t.Fatal(err)
	}
	_, err := h.client.SendMessage(ann, textRequest("x"))
	refusedFor(t, "SendMessage", err)
	refusedFor(t, "SendStreamingMessage", streamed(h.client.SendStreamingMessage(ann, textRequest("x"))))
	if _, err := h.client.SendMessage(bob, textRequest("x")); err != nil {
		t.Errorf("another caller: %v", err)
	}
}

// A large message without memory for it is refused with the time after which to retry, by every
// service; a small one passes. The memory is released when the call ends.
func TestMemoryIsLimited(t *testing.T) {
	t.Parallel()
	b := &membudget.Budget{Max: 1 << 20, Wait: time.Millisecond}
	h := limitedHub(t, engine.Config{Memory: b})
	ann := with(t.Context(), "x-name", "ann")
	large, old := textRequest("x"), textRequest0(strings.Repeat("x", 100_000))
	large.Message.Parts[0].Content = &pb.Part_Text{Text: strings.Repeat("x", 100_000)}
	old.Request.MessageId = "m"
	all, err := b.Acquire(ann, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.client.SendMessage(ann, large)
	refusedFor(t, "SendMessage", err)
	refusedFor(t, "SendStreamingMessage", streamed(h.client.SendStreamingMessage(ann, large)))
	_, err = h.legacy().SendMessage(ann, old)
	refusedFor(t, "SendMessage of v0.3", err)
	if _, err := h.client.SendMessage(ann, textRequest("x")); err != nil {
		t.Errorf("a small message: %v", err)
	}
	all.Release()
	if _, err := h.client.SendMessage(ann, large); err != nil {
		t.Errorf("a large message with memory: %v", err)
	}
	if err := streamed(h.client.SendStreamingMessage(ann, large)); err != nil {
		t.Errorf("a stream with memory: %v", err)
	}
	if all, err = b.AcquireLong(ann, membudget.Request, 1<<20); err != nil {
		t.Fatal(err)
	}
	if s := b.Stats(); s.Used != 1<<20 {
		t.Errorf("%d bytes are used, want all by the test", s.Used)
	}
	all.Release()
}

// A large answer that its caller does not read is counted until it is written.
func TestUnreadAnswersAreCounted(t *testing.T) {
	t.Parallel()
	const most, size = 64 << 20, 3 << 20
	b := &membudget.Budget{Max: most}
	h := start(t, grpcbind.Config{
		Auth: auth.Anyone(), Engine: engine.New(engine.Config{Store: new(memstore.Store), Memory: b}),
	}, brief, agents{"ask": ask})
	sent, err := h.client.SendMessage(t.Context(), to("ask", sizedText(size)))
	if err != nil {
		t.Fatal(err)
	}
	slow, err := grpc.NewClient("passthrough:///hub", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStaticStreamWindowSize(1<<16-1),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return h.listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	s, err := slow.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, "/lf.a2a.v1.A2AService/GetTask", grpc.MaxCallRecvMsgSize(2*size))
	if err == nil {
		err = s.SendMsg(&pb.GetTaskRequest{Id: sent.GetTask().GetId()})
	}
	if err == nil {
		err = s.CloseSend()
	}
	if err == nil {
		_, err = s.Header() // the answer has begun
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Stats().Used; got < size {
		t.Errorf("%d bytes are used for an answer of %d bytes that is not read", got, size)
	}
	if err := s.RecvMsg(new(pb.Task)); err != nil {
		t.Fatal(err)
	}
	all, err := b.AcquireLong(t.Context(), membudget.Request, most)
	if err != nil {
		t.Fatal(err)
	}
	all.Release()
}

// gRPC keeps the request until the end of the call. Its content is dropped once it is decoded, if it
// is large.
func TestLargeMessagesAreNotKept(t *testing.T) {
	t.Parallel()
	left := make(chan int, 1)
	h := start(t, grpcbind.Config{
		Auth: auth.Anyone(), Engine: engine.New(engine.Config{Store: new(memstore.Store)}),
		Options: []grpc.ServerOption{grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			a, err := next(ctx, r)
			left <- proto.Size(r.(proto.Message))
			return a, err
		})},
	}, brief, nil)
	send := func(r *pb.SendMessageRequest) {
		t.Helper()
		if _, err := h.client.SendMessage(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	send(sizedText(100_000))
	if n := <-left; n != 0 {
		t.Errorf("%d bytes of a large message are kept", n)
	}
	send(textRequest("small"))
	if n := <-left; n == 0 {
		t.Error("a small message is dropped")
	}
}

// halfOpen opens a call of a method without its message, and returns the status of its end.
func halfOpen(ctx context.Context, c *grpc.ClientConn, method string) error {
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/lf.a2a.v1.A2AService/"+method)
	if err != nil {
		return err
	}
	return s.RecvMsg(new(pb.Task))
}

// A call whose message does not arrive is ended, with and without a stream. A call whose message
// has arrived is not, however long its agent works.
func TestMessagesMustArrive(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{
		Auth: byName(), Limits: grpcbind.Limits{BodyTime: 100 * time.Millisecond},
		Engine: engine.New(engine.Config{Store: new(memstore.Store), Limits: limits.Limits{DrainTimeout: -1}}),
	}, words, agents{"holder": newHolder()})
	ann := with(t.Context(), "x-name", "ann")
	var working grpc.ServerStreamingClient[pb.StreamResponse]
	var first *pb.StreamResponse
	arrives := func(call func() error) {
		t.Helper()
		err := call()
		// On a busy machine a message may arrive too late.
		for late := time.Now().Add(time.Minute); status.Code(err) == codes.DeadlineExceeded && time.Now().Before(late); {
			err = call()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	arrives(func() (err error) {
		if working, err = h.client.SendStreamingMessage(ann, to("holder", textRequest("hold"))); err == nil {
			first, err = working.Recv()
		}
		return err
	})
	for _, method := range []string{"SendMessage", "SendStreamingMessage", "GetTask"} {
		if err := halfOpen(ann, h.conn, method); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s without a message = %v, want DEADLINE_EXCEEDED", method, err)
		}
	}
	// The stream is older than the calls that were ended.
	arrives(func() error {
		_, err := h.client.CancelTask(ann, &pb.CancelTaskRequest{Id: first.GetTask().GetId()})
		return err
	})
	if _, err := drain(working); err != nil {
		t.Errorf("the stream with its message: %v", err)
	}
}
