package checktest

import (
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
)

// grpcError writes a fault as a status.
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
	if strings.HasPrefix(name, "/a2a.v1.") {
		return s.callLegacy(stream, name)
	}
	op := wire.Op(name[strings.LastIndex(name, "/")+1:])
	in, _ := wire.Messages(op)
	if in == nil {
		return status.Error(codes.Unimplemented, "no such method")
	}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	text, err := protojson.Marshal(in)
	if err != nil {
		return err
	}
	var params Object
	if err := json.Unmarshal(text, &params); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	switch {
	case s.options.Key != "" && strings.Join(md.Get("authorization"), "") != "Bearer "+s.options.Key:
		return status.Error(codes.Unauthenticated, "who are you")
	case !speaks(strings.Join(md.Get("a2a-version"), "")):
		return (&Fault{wire.VersionNotSupported, "version"}).grpcError()
	case op.Streams():
		f := s.follow(stream.Context(), op, params, func() Sink {
			return func(e Object) bool { return sendMessage(stream, op, e) == nil }
		})
		if f != nil {
			return f.grpcError()
		}
		return broken(stream.Context())
	}
	result, f := s.operate(op, params)
	if f != nil {
		return f.grpcError()
	}
	return sendMessage(stream, op, result)
}

// broken returns the status of a stream whose caller has gone or whose time is over: it has
// not come to its end. Callers hear of their deadline and of that in any order.
func broken(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

func sendMessage(stream grpc.ServerStream, op wire.Op, v any) error {
	_, out := wire.Messages(op)
	if err := unmarshal(marshal(v), out); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return stream.SendMsg(out)
}

func unmarshal(text []byte, m proto.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
}
