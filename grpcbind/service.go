package grpcbind

import (
	"context"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// service implements lf.a2a.v1.A2AService (specification §10.2).
type service struct {
	pb.UnimplementedA2AServiceServer
	base
}

var _ pb.A2AServiceServer = (*service)(nil)

// decodeSend decodes a message with its ids and its idempotency key.
func (s *service) decodeSend(ctx context.Context, c *op.Caller, r *pb.SendMessageRequest) (*op.Send, error) {
	in, err := decode(ctx, &s.base, input{c, r}, s.decoder.Send)
	if err != nil {
		return nil, err
	}
	adoptIDs(ctx, c, in)
	return in, s.keyed(ctx, in)
}

// SendMessage implements pb.A2AServiceServer.
func (s *service) SendMessage(ctx context.Context, r *pb.SendMessageRequest) (*pb.SendMessageResponse, error) {
	return call(ctx, &s.base, dialect.SendMessage, func(c *op.Caller) (*pb.SendMessageResponse, error) {
		in, err := s.decodeSend(ctx, c, r)
		if err != nil {
			return nil, err
		}
		a, err := s.engine.Send(ctx, c, in)
		if err := s.answered(ctx, c, a, err); err != nil {
			return nil, err
		}
		if a.Message != nil {
			m, err := messageOf(a)
			return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Message{Message: m}}, err
		}
		t, err := taskOf(&a.Answer, true)
		return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Task{Task: t}}, err
	})
}

// GetTask implements pb.A2AServiceServer.
func (s *service) GetTask(ctx context.Context, r *pb.GetTaskRequest) (*pb.Task, error) {
	return call(ctx, &s.base, dialect.GetTask, func(c *op.Caller) (*pb.Task, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.Get)
		if err != nil {
			return nil, err
		}
		a, err := s.engine.Get(ctx, c, in)
		if err := s.answered(ctx, c, a, err); err != nil {
			return nil, err
		}
		return taskOf(&a.Answer, true)
	})
}

// ListTasks implements pb.A2AServiceServer. A page size of zero counts as absent, because the
// Go SDK always sends one.
func (s *service) ListTasks(ctx context.Context, r *pb.ListTasksRequest) (*pb.ListTasksResponse, error) {
	return call(ctx, &s.base, dialect.ListTasks, func(c *op.Caller) (*pb.ListTasksResponse, error) {
		if r.GetPageSize() == 0 {
			r.PageSize = nil
		}
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.List)
		if err != nil {
			return nil, err
		}
		p, err := s.engine.List(ctx, c, in)
		if err == nil && in.Tenant != "" {
			err = s.activated(ctx, c, answering{agent: task.Agent(in.Tenant)})
		}
		if err != nil {
			return nil, err
		}
		return pageOf(p)
	})
}

// CancelTask implements pb.A2AServiceServer.
func (s *service) CancelTask(ctx context.Context, r *pb.CancelTaskRequest) (*pb.Task, error) {
	return call(ctx, &s.base, dialect.CancelTask, func(c *op.Caller) (*pb.Task, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.Cancel)
		if err != nil {
			return nil, err
		}
		a, err := s.engine.Cancel(ctx, c, in)
		if err := s.answered(ctx, c, a, err); err != nil {
			return nil, err
		}
		return taskOf(&a.Answer, true)
	})
}

// SendStreamingMessage implements pb.A2AServiceServer.
func (s *service) SendStreamingMessage(r *pb.SendMessageRequest, out responses) error {
	return s.stream(dialect.SendStreamingMessage, out, v1Writer{out}, func(ctx context.Context, c *op.Caller) (*engine.Stream, error) {
		in, err := s.decodeSend(ctx, c, r)
		if err != nil {
			return nil, err
		}
		return s.engine.Stream(ctx, c, in)
	})
}

// SubscribeToTask implements pb.A2AServiceServer.
func (s *service) SubscribeToTask(r *pb.SubscribeToTaskRequest, out responses) error {
	return s.stream(dialect.SubscribeToTask, out, v1Writer{out}, func(ctx context.Context, c *op.Caller) (*engine.Stream, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.Subscribe)
		if err != nil {
			return nil, err
		}
		in.LastEventID = lastEventID(ctx)
		return s.engine.Subscribe(ctx, c, in)
	})
}

// responses is the writing end of a stream.
type responses = grpc.ServerStreamingServer[pb.StreamResponse]
