package grpcbind

import (
	"context"
	"iter"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// bomb is a stream whose writing end panics.
type bomb struct {
	grpc.ServerStreamingServer[pb.StreamResponse]
	ctx context.Context
}

func (b bomb) Context() context.Context { return b.ctx }

func (bomb) Send(*pb.StreamResponse) error { panic("out of luck") }

// panicking is an agent that does nothing.
type panicking struct{}

func (panicking) Execute(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

func (panicking) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// TestPanicInAStream checks that a panic in the goroutine of a stream does not crash the hub.
func TestPanicInAStream(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Store: new(memstore.Store)})
	if err := e.Register(engine.Agent{Name: "main", Card: &a2a.AgentCard{}, Executor: panicking{}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	b := New(Config{Engine: e, Auth: auth.Anyone()})
	err := b.service.SendStreamingMessage(&pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}},
	}}, bomb{ctx: ctx})
	if status.Code(err) != codes.Internal {
		t.Errorf("SendStreamingMessage = %v, want an internal error", err)
	}
	b.service.feeds.Wait()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
