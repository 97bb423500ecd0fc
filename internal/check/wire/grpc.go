package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails" // registers types, so that details can be shown as JSON
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// service is the gRPC service of v1.0.
const service = "/lf.a2a.v1.A2AService/"

type method struct {
	request, result func() proto.Message
}

func message[T any, P interface {
	*T
	proto.Message
}]() proto.Message {
	return P(new(T))
}

var methods = map[Op]method{
	SendMessage:   {message[pb.SendMessageRequest], message[pb.SendMessageResponse]},
	StreamMessage: {message[pb.SendMessageRequest], message[pb.StreamResponse]},
	GetTask:       {message[pb.GetTaskRequest], message[pb.Task]},
	ListTasks:     {message[pb.ListTasksRequest], message[pb.ListTasksResponse]},
	CancelTask:    {message[pb.CancelTaskRequest], message[pb.Task]},
	SubscribeTask: {message[pb.SubscribeToTaskRequest], message[pb.StreamResponse]},
	CreatePush:    {message[pb.TaskPushNotificationConfig], message[pb.TaskPushNotificationConfig]},
	GetPush:       {message[pb.GetTaskPushNotificationConfigRequest], message[pb.TaskPushNotificationConfig]},
	ListPush:      {message[pb.ListTaskPushNotificationConfigsRequest], message[pb.ListTaskPushNotificationConfigsResponse]},
	DeletePush:    {message[pb.DeleteTaskPushNotificationConfigRequest], message[emptypb.Empty]},
	ExtendedCard:  {message[pb.GetExtendedAgentCardRequest], message[pb.AgentCard]},
}

type grpcCaller struct {
	Options
	iface Interface
	conn  Conn
}

func dialGRPC(ctx context.Context, i Interface, o Options) (Caller, error) {
	if o.Dial == nil {
		return nil, fmt.Errorf("dial %s: %w", i.URL, errors.ErrUnsupported)
	}
	dialing, cancel := o.limit(ctx, 0)
	defer cancel()
	conn, err := o.Dial(dialing, i.URL)
	if err != nil {
		return nil, err
	}
	return &grpcCaller{o, i, conn}, nil
}

// Close ends the connection.
func (c *grpcCaller) Close() error { return c.conn.Close() }

// Call makes a call.
func (c *grpcCaller) Call(ctx context.Context, r Request) *Exchange {
	if r.Op.Streams() {
		return c.Open(ctx, r).Rest()
	}
	x, in, out := c.prepare(r)
	if x.Err != nil {
		return x
	}
	ctx, cancel := c.limit(c.outgoing(ctx, r, x), r.Timeout)
	defer cancel()
	if err := c.conn.Invoke(ctx, c.path(r.Op), in, out); err != nil {
		x.refuse(ctx, err)
		return x
	}
	x.Body, x.Envelope = c.shown(out)
	x.Result = x.Envelope
	if c.iface.inProto() {
		x.Result = fromProto(x.Envelope)
	}
	x.Got = "OK\n" + string(x.Body)
	return x
}

// Open opens a stream and waits for its first message.
func (c *grpcCaller) Open(ctx context.Context, r Request) *Stream {
	x, in, _ := c.prepare(r)
	if x.Err != nil {
		return &Stream{Exchange: x, ctx: ctx, cancel: func() {}}
	}
	ctx, cancel := c.limit(c.outgoing(ctx, r, x), r.Timeout)
	s := &Stream{Exchange: x, ctx: ctx, cancel: cancel}
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.path(r.Op))
	if err == nil {
		err = errors.Join(stream.SendMsg(in), stream.CloseSend())
	}
	if err != nil {
		x.refuse(ctx, err)
		return s
	}
	m, _ := c.method(r.Op)
	s.source = &frames{c, stream, m.result, x, ctx}
	return s
}

// prepare builds the request.
func (c *grpcCaller) prepare(r Request) (x *Exchange, in, out proto.Message) {
	x = &Exchange{Interface: c.iface, Op: r.Op}
	m, ok := c.method(r.Op)
	if !ok {
		x.Err = fmt.Errorf("%w: unknown method %s", ErrInexpressible, r.Op)
		return x, nil, nil
	}
	params := withTenant(r.Params, c.iface.Tenant)
	if c.iface.inProto() {
		params = protoParams(r.Op, r.Params, "parts")
	}
	if params == nil {
		params = map[string]any{}
	}
	text, err := json.Marshal(params)
	if err == nil {
		in = m.request()
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, in)
	}
	if err != nil {
		x.Err = fmt.Errorf("%w: %w", ErrInexpressible, err)
	}
	x.Sent = string(text)
	return x, in, m.result()
}

// outgoing adds the service parameters.
func (c *grpcCaller) outgoing(ctx context.Context, r Request, x *Exchange) context.Context {
	h := http.Header{}
	c.authorize(h, r.Key)
	version := r.Version
	if version == "" {
		version = c.iface.Version
	}
	if version != NoVersion {
		h.Set("A2A-Version", version)
	}
	md := metadata.MD{}
	for name, values := range h {
		md.Set(name, values...)
	}
	x.Sent = fmt.Sprintf("%s\n%s\n%s", c.path(r.Op), headText(h), x.Sent)
	return metadata.NewOutgoingContext(ctx, md)
}

// shown returns a message as JSON. Fields that the specification requires are included even if
// they have their default, which gRPC does not transmit.
func (c *grpcCaller) shown(m proto.Message) ([]byte, any) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, nil
	}
	v, _ := Decode(text)
	var defaults map[string]any
	switch m.(type) {
	case *pb.ListTasksResponse:
		defaults = map[string]any{"tasks": []any{}, "nextPageToken": "", "pageSize": json.Number("0"), "totalSize": json.Number("0")}
	case *pb.ListTaskPushNotificationConfigsResponse:
		defaults = map[string]any{"configs": []any{}}
	case *pb0.ListTaskPushNotificationConfigResponse:
		defaults = map[string]any{"configs": []any{}}
	}
	if fields, ok := v.(map[string]any); ok {
		for name, value := range defaults {
			if _, ok := fields[name]; !ok {
				fields[name] = value
			}
		}
	}
	return text, v
}

// refuse stores the status that ended the call.
func (x *Exchange) refuse(ctx context.Context, err error) {
	s := status.Convert(err)
	if s.Code() == codes.DeadlineExceeded && errors.Is(context.Cause(ctx), ErrTimeout) {
		x.Err = ErrTimeout
		return
	}
	f := &Fault{Binding: GRPC, Status: s.Code(), Message: s.Message(), Legacy: x.Interface.inProto()}
	for _, d := range s.Proto().GetDetails() {
		f.Details = append(f.Details, detail(d))
	}
	f.Data = f.Details
	f.Raw = map[string]any{"code": s.Code().String(), "message": s.Message(), "details": f.Details}
	x.Fault = f
	text, _ := json.Marshal(f.Raw)
	x.Got += string(text)
}

// detail returns one detail as JSON.
func detail(d *anypb.Any) any {
	if text, err := protojson.Marshal(d); err == nil {
		if v, err := Decode(text); err == nil {
			return v
		}
	}
	return map[string]any{"@type": d.GetTypeUrl()}
}

type frames struct {
	caller *grpcCaller
	stream grpc.ClientStream
	result func() proto.Message
	x      *Exchange
	ctx    context.Context //nolint:containedctx // the life of the stream
}

func (*frames) close() {}

func (f *frames) next() (Event, error) {
	m := f.result()
	err := f.stream.RecvMsg(m)
	if err == nil {
		data, v := f.caller.shown(m)
		e := Event{Data: data, Envelope: v, Value: v}
		if f.caller.iface.inProto() {
			e.Value = fromProto(v)
		}
		return e, nil
	}
	if errors.Is(err, io.EOF) {
		return Event{}, io.EOF
	}
	f.x.refuse(f.ctx, err)
	switch {
	case f.x.Err != nil:
		return Event{}, f.x.Err
	case brokenOff(f.x.Fault):
		f.x.Fault = nil
		return Event{}, err
	}
	return Event{}, io.EOF
}

// brokenOff reports whether a status means a broken connection, or a call that the client
// ended.
func brokenOff(f *Fault) bool {
	return f.Status == codes.Canceled || f.Status == codes.Unavailable && len(f.Details) == 0
}
