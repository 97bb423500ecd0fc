package caller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// connectTimeout is how long connecting may take.
const connectTimeout = 10 * time.Second

// maxMessage bounds one message of an agent, in bytes.
const maxMessage = 64 << 20

// method is a method of a service, with the constructors of its messages.
type method struct {
	path            string
	request, result func() proto.Message
}

func message[T any, P interface {
	*T
	proto.Message
}]() proto.Message {
	return P(new(T))
}

// methods are the methods of v1.0 by name (specification §10.3).
var methods = map[string]method{
	"SendMessage":          {pb.A2AService_SendMessage_FullMethodName, message[pb.SendMessageRequest], message[pb.SendMessageResponse]},
	"SendStreamingMessage": {pb.A2AService_SendStreamingMessage_FullMethodName, message[pb.SendMessageRequest], message[pb.StreamResponse]},
	"GetTask":              {pb.A2AService_GetTask_FullMethodName, message[pb.GetTaskRequest], message[pb.Task]},
	"ListTasks":            {pb.A2AService_ListTasks_FullMethodName, message[pb.ListTasksRequest], message[pb.ListTasksResponse]},
	"CancelTask":           {pb.A2AService_CancelTask_FullMethodName, message[pb.CancelTaskRequest], message[pb.Task]},
	"SubscribeToTask":      {pb.A2AService_SubscribeToTask_FullMethodName, message[pb.SubscribeToTaskRequest], message[pb.StreamResponse]},
	"CreateTaskPushNotificationConfig": {
		pb.A2AService_CreateTaskPushNotificationConfig_FullMethodName,
		message[pb.TaskPushNotificationConfig], message[pb.TaskPushNotificationConfig],
	},
	"GetTaskPushNotificationConfig": {
		pb.A2AService_GetTaskPushNotificationConfig_FullMethodName,
		message[pb.GetTaskPushNotificationConfigRequest], message[pb.TaskPushNotificationConfig],
	},
	"ListTaskPushNotificationConfigs": {
		pb.A2AService_ListTaskPushNotificationConfigs_FullMethodName,
		message[pb.ListTaskPushNotificationConfigsRequest], message[pb.ListTaskPushNotificationConfigsResponse],
	},
	"DeleteTaskPushNotificationConfig": {
		pb.A2AService_DeleteTaskPushNotificationConfig_FullMethodName,
		message[pb.DeleteTaskPushNotificationConfigRequest], message[emptypb.Empty],
	},
}

// oldMethods are the methods of v0.3 by the same names. It has no list.
var oldMethods = map[string]method{
	"SendMessage":          {pb0.A2AService_SendMessage_FullMethodName, message[pb0.SendMessageRequest], message[pb0.SendMessageResponse]},
	"SendStreamingMessage": {pb0.A2AService_SendStreamingMessage_FullMethodName, message[pb0.SendMessageRequest], message[pb0.StreamResponse]},
	"GetTask":              {pb0.A2AService_GetTask_FullMethodName, message[pb0.GetTaskRequest], message[pb0.Task]},
	"CancelTask":           {pb0.A2AService_CancelTask_FullMethodName, message[pb0.CancelTaskRequest], message[pb0.Task]},
	"SubscribeToTask":      {pb0.A2AService_TaskSubscription_FullMethodName, message[pb0.TaskSubscriptionRequest], message[pb0.StreamResponse]},
	"CreateTaskPushNotificationConfig": {
		pb0.A2AService_CreateTaskPushNotificationConfig_FullMethodName,
		message[pb0.CreateTaskPushNotificationConfigRequest], message[pb0.TaskPushNotificationConfig],
	},
	"GetTaskPushNotificationConfig": {
		pb0.A2AService_GetTaskPushNotificationConfig_FullMethodName,
		message[pb0.GetTaskPushNotificationConfigRequest], message[pb0.TaskPushNotificationConfig],
	},
	"ListTaskPushNotificationConfigs": {
		pb0.A2AService_ListTaskPushNotificationConfig_FullMethodName,
		message[pb0.ListTaskPushNotificationConfigRequest], message[pb0.ListTaskPushNotificationConfigResponse],
	},
	"DeleteTaskPushNotificationConfig": {
		pb0.A2AService_DeleteTaskPushNotificationConfig_FullMethodName,
		message[pb0.DeleteTaskPushNotificationConfigRequest], message[emptypb.Empty],
	},
}

// Dial connects to a gRPC interface. It is a client.Transport. The connection is unencrypted if
// the URL has the scheme http, or has none and leads to this machine, and config is nil; otherwise it
// uses TLS.
func Dial(ctx context.Context, iface a2a.AgentInterface, header transport.HeaderFunc, config *tls.Config) (transport.Conn, error) {
	c, err := ConnectTLS(ctx, iface.URL, config)
	if err != nil {
		return nil, err
	}
	of := methods
	if strings.HasPrefix(string(iface.ProtocolVersion), "0.") {
		of = oldMethods
	}
	return &conn{grpc: c, methods: of, header: header}, nil
}

// Connect connects to the URL of a gRPC interface and waits until it is connected. If that
// fails, the error is client.ErrUnreachable.
func Connect(ctx context.Context, url string) (*grpc.ClientConn, error) {
	return ConnectTLS(ctx, url, nil)
}

// ConnectTLS is Connect with a certificate, or with other trusted authorities than the
// system's. With a config, only a URL with the scheme http is unencrypted. The options are added to
// those of the connection: another dialer, for example.
func ConnectTLS(ctx context.Context, url string, config *tls.Config, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	scheme, address, ok := strings.Cut(url, "://")
	if !ok {
		scheme, address = "", url
	}
	address = strings.TrimRight(address, "/")
	inClear := scheme == "http" || scheme == "" && config == nil && httpcall.Loopback(address)
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	creds := credentials.NewTLS(config)
	if inClear {
		creds = insecure.NewCredentials()
	}
	c, err := grpc.NewClient(address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}, options...)...)
	if err != nil {
		return nil, err
	}
	err = connected(ctx, c)
	if errors.Is(err, httpcall.ErrUnreachable) {
		err = &httpcall.Unreachable{Host: address, Err: failure(ctx, c)}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connected waits until c is ready.
func connected(ctx context.Context, c *grpc.ClientConn) error {
	waiting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c.Connect()
	for state := c.GetState(); state != connectivity.Ready; state = c.GetState() {
		if state == connectivity.TransientFailure || state == connectivity.Shutdown || !c.WaitForStateChange(waiting, state) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return httpcall.ErrUnreachable
		}
	}
	return nil
}

// failure returns the reason why c could not connect. It makes a call, which fails at once with
// that reason.
func failure(ctx context.Context, c *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	text := status.Convert(c.Invoke(ctx, "/parley/Connected", new(emptypb.Empty), new(emptypb.Empty))).Message()
	if _, why, found := strings.Cut(text, `desc = "`); found {
		text = strings.TrimSuffix(why, `"`)
	}
	for _, layer := range []string{"transport: ", "authentication handshake failed: ", "Error while dialing: ", "error reading server preface: "} {
		text = strings.TrimPrefix(text, layer)
	}
	return errors.New(text)
}

// conn is a transport.Conn.
type conn struct {
	grpc    *grpc.ClientConn
	methods map[string]method
	header  transport.HeaderFunc
}

// Close closes the connection.
func (c *conn) Close() error { return c.grpc.Close() }

// Call makes a call with a single answer.
func (c *conn) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	m, in, ctx, err := c.prepare(ctx, name, params)
	if err != nil {
		return nil, err
	}
	out := m.result()
	var beside besides
	if err := c.grpc.Invoke(ctx, m.path, in, out, beside.options(ctx)...); err != nil {
		return nil, explain(err)
	}
	beside.report(ctx)
	return textOf(out)
}

// Stream makes a call that is answered with a stream.
func (c *conn) Stream(ctx context.Context, name string, params []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		m, in, ctx, err := c.prepare(ctx, name, params)
		if err != nil {
			yield(nil, err)
			return
		}
		s, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, m.path)
		if err == nil {
			err = errors.Join(s.SendMsg(in), s.CloseSend())
		}
		for first := true; err == nil; first = false {
			out := m.result()
			if err = s.RecvMsg(out); err != nil {
				break
			}
			if first {
				if peer.Confirmed(ctx) != nil {
					if header, err := s.Header(); err == nil {
						(&besides{header: header}).report(ctx)
					}
				}
			}
			if !yield(textOf(out)) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, explain(err))
			return
		}
		if peer.Confirmed(ctx) == nil || len(peer.ConfirmedBy(s.Trailer().Get)) == 0 {
			return
		}
		if header, err := s.Header(); err == nil {
			(&besides{header, s.Trailer()}).report(ctx)
		}
	}
}

// textOf returns an answer as JSON. Numbers of a Struct may be none of JSON, such as NaN.
func textOf(out proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(out)
	if err != nil {
		return nil, &peer.Unreadable{Err: fmt.Errorf("%w: %w", err, a2a.ErrInvalidAgentResponse)}
	}
	return text, nil
}

// prepare returns the method, its request, and the context with the metadata.
func (c *conn) prepare(ctx context.Context, name string, params []byte) (method, proto.Message, context.Context, error) {
	m, ok := c.methods[name]
	if !ok {
		return m, nil, ctx, peer.ErrUnsupported
	}
	in := m.request()
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(rawjson.AppendFinite(nil, params), in)
	if err != nil {
		return m, nil, ctx, fmt.Errorf("%w: over gRPC: %w", a2a.ErrInvalidParams, err)
	}
	h, err := c.header(ctx)
	if err != nil {
		return m, nil, ctx, err
	}
	md := metadata.MD{}
	for name, values := range h {
		md.Set(name, values...)
	}
	return m, in, metadata.NewOutgoingContext(ctx, md), nil
}
