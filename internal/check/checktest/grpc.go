package checktest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// grpcError converts a fault into a gRPC status.
func (f *Fault) grpcError() error {
	_, name := f.status()
	code := map[string]codes.Code{"NOT_FOUND": codes.NotFound, "INVALID_ARGUMENT": codes.InvalidArgument}[name]
	if code == codes.OK {
		code = codes.FailedPrecondition
	}
	s := status.New(code, f.Message)
	if f.Kind.Reason() != "" {
		if detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: f.Kind.Reason(), Domain: "a2a-protocol.org"}); err == nil {
			s = detailed
		}
	}
	return s.Err()
}

// call answers every method over gRPC.
func (s *Server) call(_ any, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	c := call{server: s, op: wire.Op(name[strings.LastIndex(name, "/")+1:])}
	in, out := wire.Messages(c.op)
	legacy := strings.HasPrefix(name, "/a2a.v1.")
	if legacy {
		var old wire.Op
		old, in, out = wire.LegacyMessages(name)
		c.shape, c.op = dialect.V03Proto, legacyOps[old]
	}
	if in == nil {
		return status.Error(codes.Unimplemented, "no such method")
	}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	c.params = rewritten(func(o dialect.Operation) ([]byte, error) {
		text, err := protojson.Marshal(in)
		if err == nil && legacy {
			text, err = new(dialect.Decoder).LegacyMessage(o, text)
		}
		return text, err
	})
	md, _ := metadata.FromIncomingContext(stream.Context())
	switch {
	case s.options.Key != "" && strings.Join(md.Get("authorization"), "") != "Bearer "+s.options.Key:
		return status.Error(codes.Unauthenticated, "who are you")
	case !legacy && !speaks(strings.Join(md.Get("a2a-version"), "")):
		return (&Fault{wire.VersionNotSupported, "version"}).grpcError()
	}
	return s.answerGRPC(stream, &c, out)
}

// answerGRPC executes a call and answers with messages of the type of out.
func (s *Server) answerGRPC(stream grpc.ServerStream, c *call, out proto.Message) error {
	var sent error
	send := func(v json.RawMessage) bool {
		sent = sendMessage(stream, out, v)
		return sent == nil
	}
	c.send = func(result json.RawMessage) { send(result) }
	c.begin = func() func(json.RawMessage) bool { return send }
	switch f := c.serve(stream.Context()); {
	case f != nil:
		return f.grpcError()
	case c.op.Streams():
		return broken(stream.Context())
	}
	return sent
}

// broken returns the status of a stream whose client has disconnected or whose deadline has
// passed. A client sees its own deadline and this status in any order.
func broken(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// sendMessage sends a result. Results of v0.3 have the shape of its HTTP+JSON, in which the
// parts of a message are called content.
func sendMessage(stream grpc.ServerStream, out proto.Message, v []byte) error {
	out = out.ProtoReflect().New().Interface()
	v = bytes.ReplaceAll(v, []byte(`"content":[`), []byte(`"parts":[`))
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(v, out); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return stream.SendMsg(out)
}
