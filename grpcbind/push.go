package grpcbind

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

// callPush is call for an operation on push notification configs. The error that the hub has no
// push notifications takes precedence over all others (specification §3.3.4).
func callPush[T any](ctx context.Context, s *base, o dialect.Operation, do func(*op.Caller) (T, error)) (T, error) {
	return call(ctx, s, o, func(c *op.Caller) (none T, err error) {
		if !s.engine.Pushes() {
			return none, apierror.New(a2a.ErrPushNotificationNotSupported, "this hub sends no push notifications")
		}
		return do(c)
	})
}

// CreateTaskPushNotificationConfig implements pb.A2AServiceServer.
func (s *service) CreateTaskPushNotificationConfig(
	ctx context.Context, r *pb.TaskPushNotificationConfig,
) (*pb.TaskPushNotificationConfig, error) {
	return callPush(ctx, &s.base, dialect.CreatePushConfig, func(c *op.Caller) (*pb.TaskPushNotificationConfig, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.CreatePush)
		if err != nil {
			return nil, err
		}
		return pushOf(s.engine.CreatePush(ctx, c, in))
	})
}

// GetTaskPushNotificationConfig implements pb.A2AServiceServer.
func (s *service) GetTaskPushNotificationConfig(
	ctx context.Context, r *pb.GetTaskPushNotificationConfigRequest,
) (*pb.TaskPushNotificationConfig, error) {
	return callPush(ctx, &s.base, dialect.GetPushConfig, func(c *op.Caller) (*pb.TaskPushNotificationConfig, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.PushRef)
		if err != nil {
			return nil, err
		}
		return pushOf(s.engine.GetPush(ctx, c, in))
	})
}

// ListTaskPushNotificationConfigs implements pb.A2AServiceServer.
func (s *service) ListTaskPushNotificationConfigs(
	ctx context.Context, r *pb.ListTaskPushNotificationConfigsRequest,
) (*pb.ListTaskPushNotificationConfigsResponse, error) {
	return callPush(ctx, &s.base, dialect.ListPushConfigs, func(c *op.Caller) (*pb.ListTaskPushNotificationConfigsResponse, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.PushList)
		if err != nil {
			return nil, err
		}
		p, err := s.engine.ListPush(ctx, c, in)
		if err != nil {
			return nil, err
		}
		out := &pb.ListTaskPushNotificationConfigsResponse{NextPageToken: p.NextPageToken}
		for i := range p.Configs {
			out.Configs = append(out.Configs, shownPush(&p.Configs[i]))
		}
		return out, nil
	})
}

// DeleteTaskPushNotificationConfig implements pb.A2AServiceServer.
func (s *service) DeleteTaskPushNotificationConfig(
	ctx context.Context, r *pb.DeleteTaskPushNotificationConfigRequest,
) (*emptypb.Empty, error) {
	return callPush(ctx, &s.base, dialect.DeletePushConfig, func(c *op.Caller) (*emptypb.Empty, error) {
		in, err := decode(ctx, &s.base, input{c, r}, s.decoder.PushRef)
		if err != nil {
			return nil, err
		}
		return &emptypb.Empty{}, s.engine.DeletePush(ctx, c, in)
	})
}

// pushOf returns a config in the form for callers, or the error of the engine.
func pushOf(c *op.ShownPush, err error) (*pb.TaskPushNotificationConfig, error) {
	if err != nil {
		return nil, err
	}
	return shownPush(c), nil
}

func shownPush(c *op.ShownPush) *pb.TaskPushNotificationConfig {
	out := &pb.TaskPushNotificationConfig{TaskId: string(c.TaskID), Id: c.ID, Url: c.URL}
	if c.Scheme != "" {
		out.Authentication = &pb.AuthenticationInfo{Scheme: c.Scheme}
	}
	return out
}
