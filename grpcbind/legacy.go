package grpcbind

import (
	"context"
	"fmt"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/task"
)

// legacy implements a2a.v1.A2AService, which is the service of v0.3 in spite of its name. Its
// messages are those of HTTP+JSON of v0.3, and are rewritten into v1.0 as JSON, like those.
// ListTasks, which some generated code has, does not exist in v0.3.
type legacy struct {
	pb0.UnimplementedA2AServiceServer
	base
}

var _ pb0.A2AServiceServer = (*legacy)(nil)

// keyTenant is the metadata key of the agent's name, for which the messages of v0.3 have no
// field.
const keyTenant = "a2a-tenant"

// reading returns a decoder of the messages of o, which rewrites them into the params of v1.0
// for read.
func reading[T any](
	ctx context.Context, l *legacy, o dialect.Operation, read func([]byte) (*T, error),
) func([]byte) (*T, error) {
	return func(message []byte) (*T, error) {
		message, err := withTenant(ctx, message)
		if err != nil {
			return nil, err
		}
		params, err := l.decoder.LegacyMessage(o, message)
		if err != nil {
			return nil, err
		}
		return read(params)
	}
}

// withTenant returns a message with the agent of the metadata.
func withTenant(ctx context.Context, message []byte) ([]byte, error) {
	names := metadata.ValueFromIncomingContext(ctx, keyTenant)
	switch len(names) {
	case 0:
		return message, nil
	case 1:
	default:
		return nil, apierror.Field(a2a.ErrInvalidParams, keyTenant, "must have one value")
	}
	out := rawjson.AppendString([]byte(`{"tenant":`), names[0])
	if rest := message[1:]; rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, message[1:]...), nil
}

// toV03 converts the v1.0 result of o to its message.
func toV03[M proto.Message](m M, o dialect.Operation, v1 []byte) (M, error) {
	out, err := filled(m, dialect.V03Proto.AppendResult(nil, o, v1))
	if err != nil {
		return out, fmt.Errorf("write result of %v: %w", o, err)
	}
	return out, nil
}

// decodeSend decodes a message, and records its dialect for its task and its webhook.
func (l *legacy) decodeSend(ctx context.Context, c *op.Caller, r *pb0.SendMessageRequest) (*op.Send, error) {
	in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, dialect.SendMessage, l.decoder.Send))
	if err != nil {
		return nil, err
	}
	in.Dialect = uint8(dialect.V03Proto)
	if in.Push != nil {
		in.Push.Dialect = uint8(dialect.V03Proto)
	}
	adoptIDs(ctx, c, in)
	return in, l.keyed(ctx, in)
}

// SendMessage implements pb0.A2AServiceServer.
func (l *legacy) SendMessage(ctx context.Context, r *pb0.SendMessageRequest) (*pb0.SendMessageResponse, error) {
	const o = dialect.SendMessage
	return call(ctx, &l.base, o, func(c *op.Caller) (*pb0.SendMessageResponse, error) {
		in, err := l.decodeSend(ctx, c, r)
		if err != nil {
			return nil, err
		}
		a, err := l.engine.Send(ctx, c, in)
		if err := l.answered(ctx, c, a, err); err != nil {
			return nil, err
		}
		return toV03(new(pb0.SendMessageResponse), o, dialect.AppendSendResponse(nil, &a.Answer, dialect.RPC))
	})
}

// GetTask implements pb0.A2AServiceServer.
func (l *legacy) GetTask(ctx context.Context, r *pb0.GetTaskRequest) (*pb0.Task, error) {
	const o = dialect.GetTask
	return call(ctx, &l.base, o, func(c *op.Caller) (*pb0.Task, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.Get))
		if err != nil {
			return nil, err
		}
		a, err := l.engine.Get(ctx, c, in)
		return l.task(ctx, c, a, err)
	})
}

// CancelTask implements pb0.A2AServiceServer.
func (l *legacy) CancelTask(ctx context.Context, r *pb0.CancelTaskRequest) (*pb0.Task, error) {
	const o = dialect.CancelTask
	return call(ctx, &l.base, o, func(c *op.Caller) (*pb0.Task, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.Cancel))
		if err != nil {
			return nil, err
		}
		a, err := l.engine.Cancel(ctx, c, in)
		return l.task(ctx, c, a, err)
	})
}

// task returns the task of an answer, or the error of the engine.
func (l *legacy) task(ctx context.Context, c *op.Caller, a *engine.Answer, err error) (*pb0.Task, error) {
	if err := l.answered(ctx, c, a, err); err != nil {
		return nil, err
	}
	return toV03(new(pb0.Task), dialect.GetTask, dialect.AppendTask(nil, &a.Answer, dialect.RPC))
}

// SendStreamingMessage implements pb0.A2AServiceServer.
func (l *legacy) SendStreamingMessage(r *pb0.SendMessageRequest, out legacyResponses) error {
	return l.stream(dialect.SendStreamingMessage, out, newLegacyWriter(out), func(ctx context.Context, c *op.Caller) (*engine.Stream, error) {
		in, err := l.decodeSend(ctx, c, r)
		if err != nil {
			return nil, err
		}
		return l.engine.Stream(ctx, c, in)
	})
}

// TaskSubscription implements pb0.A2AServiceServer.
func (l *legacy) TaskSubscription(r *pb0.TaskSubscriptionRequest, out legacyResponses) error {
	const o = dialect.SubscribeToTask
	return l.stream(o, out, newLegacyWriter(out), func(ctx context.Context, c *op.Caller) (*engine.Stream, error) {
		in, err := decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.Subscribe))
		if err != nil {
			return nil, err
		}
		in.LastEventID = lastEventID(ctx)
		return l.engine.Subscribe(ctx, c, in)
	})
}

// legacyResponses is the writing end of a stream.
type legacyResponses = grpc.ServerStreamingServer[pb0.StreamResponse]

// legacyWriter is the writer of v0.3.
type legacyWriter struct {
	out    legacyResponses
	frames func(v1 []byte) [][]byte
}

func newLegacyWriter(out legacyResponses) *legacyWriter {
	return &legacyWriter{out: out, frames: dialect.V03Proto.Frames(nil)}
}

func (w *legacyWriter) first(a *engine.Answer) error {
	return w.frame(dialect.AppendSendResponse(nil, &a.Answer, dialect.RPC))
}

func (w *legacyWriter) frame(b []byte) error {
	for _, f := range w.frames(b) {
		msg, err := filled(new(pb0.StreamResponse), f)
		if err != nil {
			return fmt.Errorf("write frame: %w", err)
		}
		if err := w.out.Send(msg); err != nil {
			return err
		}
	}
	return nil
}

// last ends a stream at a question, whose event states in v0.3 that nothing follows.
func (w *legacyWriter) last(e *engine.Event) bool {
	return e.Kind == task.Status && e.State == task.InputRequired
}

// GetAgentCard implements pb0.A2AServiceServer: the extended card.
func (l *legacy) GetAgentCard(ctx context.Context, r *pb0.GetAgentCardRequest) (out *pb0.AgentCard, err error) {
	const o = dialect.GetExtendedAgentCard
	performs(ctx, &l.base, o)
	defer l.recovered(o, &err)
	shown, err := l.shownCardFor(ctx, func(c *op.Caller) (*op.ExtendedCard, error) {
		return decode(ctx, &l.base, input{c, r}, reading(ctx, l, o, l.decoder.Extended))
	})
	if err == nil {
		out, err = shown.v03()
	}
	if err != nil {
		return nil, l.fail(ctx, o, err)
	}
	return out, nil
}

func (s *shownCard) v03() (*pb0.AgentCard, error) {
	s.options.Layout = card.Union
	b, err := card.JSON(s.card, s.options)
	if err != nil {
		return nil, err
	}
	return filled(new(pb0.AgentCard), b)
}
