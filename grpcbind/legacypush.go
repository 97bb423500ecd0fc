package grpcbind

import (
	"context"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

// CreateTaskPushNotificationConfig implements pb0.A2AServiceServer.
func (l *legacy) CreateTaskPushNotificationConfig(
	ctx context.Context, r *pb0.CreateTaskPushNotificationConfigRequest,
) (*pb0.TaskPushNotificationConfig, error) {
	const o = dialect.CreatePushConfig
	return callPush(ctx, &l.base, o, func(c *op.Caller) (*pb0.TaskPushNotificationConfig, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.CreatePush))
		if err != nil {
			return nil, err
		}
		in.Dialect = uint8(dialect.V03Proto)
		return legacyPush(l.engine.CreatePush(ctx, c, in))
	})
}

// GetTaskPushNotificationConfig implements pb0.A2AServiceServer.
func (l *legacy) GetTaskPushNotificationConfig(
	ctx context.Context, r *pb0.GetTaskPushNotificationConfigRequest,
) (*pb0.TaskPushNotificationConfig, error) {
	const o = dialect.GetPushConfig
	return callPush(ctx, &l.base, o, func(c *op.Caller) (*pb0.TaskPushNotificationConfig, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.PushRef))
		if err != nil {
			return nil, err
		}
		return legacyPush(l.engine.GetPush(ctx, c, in))
	})
}

// ListTaskPushNotificationConfig implements pb0.A2AServiceServer.
func (l *legacy) ListTaskPushNotificationConfig(
	ctx context.Context, r *pb0.ListTaskPushNotificationConfigRequest,
) (*pb0.ListTaskPushNotificationConfigResponse, error) {
	const o = dialect.ListPushConfigs
	return callPush(ctx, &l.base, o, func(c *op.Caller) (*pb0.ListTaskPushNotificationConfigResponse, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.PushList))
		if err != nil {
			return nil, err
		}
		p, err := l.engine.ListPush(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return toV03(new(pb0.ListTaskPushNotificationConfigResponse), o, dialect.AppendPushPage(nil, p))
	})
}

// DeleteTaskPushNotificationConfig implements pb0.A2AServiceServer.
func (l *legacy) DeleteTaskPushNotificationConfig(
	ctx context.Context, r *pb0.DeleteTaskPushNotificationConfigRequest,
) (*emptypb.Empty, error) {
	const o = dialect.DeletePushConfig
	return callPush(ctx, &l.base, o, func(c *op.Caller) (*emptypb.Empty, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.PushRef))
		if err != nil {
			return nil, err
		}
		return &emptypb.Empty{}, l.engine.DeletePush(ctx, c, in)
	})
}

// legacyPush returns a config in the form for callers, or the error of the engine.
func legacyPush(c *op.ShownPush, err error) (*pb0.TaskPushNotificationConfig, error) {
	if err != nil {
		return nil, err
	}
	return toV03(new(pb0.TaskPushNotificationConfig), dialect.GetPushConfig, dialect.AppendPushConfig(nil, c))
}
