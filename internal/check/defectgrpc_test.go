package check

import (
	"cmp"
	"context"
	"io"
	"path"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/parley-a2a/parley/internal/dialect"
)

// unary applies the defect to an answer over gRPC.
func (d *defect) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	answer, err := next(ctx, req)
	if d.result == nil {
		return answer, err
	}
	o := operation{opNamed(path.Base(info.FullMethod)), fromProto(req)}
	var result any
	if err == nil {
		result = fromProto(answer)
	}
	if result, err = d.change(&o, result, err); err != nil {
		return nil, err
	}
	return toProto(info.FullMethod, result)
}

// change changes the result or the status of a call.
func (d *defect) change(o *operation, result any, refused error) (any, error) {
	var before error
	if refused != nil {
		text, _ := protojson.Marshal(status.Convert(refused).Proto())
		before = errorIn(text)
	}
	switch result, err := d.result(o.op, o.params, result, before); {
	case err == nil:
		return result, nil
	case err == before: //nolint:errorlint // the same error means no change
		return nil, refused
	default:
		return nil, statusOf(err)
	}
}

// statusOf returns the status of an error.
func statusOf(err error) error {
	r := dialect.Explain(err, "")
	s, failed := status.New(codes.Code(r.GRPC), r.Message).WithDetails(&errdetails.ErrorInfo{Reason: r.Reason, Domain: a2a.ProtocolDomain})
	if failed != nil {
		return failed
	}
	return s.Err()
}

// stream applies the defect to a stream over gRPC.
func (d *defect) stream(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	f := &damagedStream{ServerStream: s, method: info.FullMethod, operation: operation{op: opNamed(path.Base(info.FullMethod))}}
	f.events = f.send
	if d.events != nil {
		f.events = d.events(s.Context(), f.op, f.send)
	}
	err := next(server, f)
	if d.result == nil || err == nil || f.begun {
		return err
	}
	result, err := d.change(&f.operation, nil, err)
	events, _ := result.([]object)
	for _, e := range events {
		f.send(e)
	}
	return err
}

// damagedStream is the hub's side of a stream.
type damagedStream struct {
	grpc.ServerStream
	operation
	method string
	begun  bool  // whether the hub has sent an event
	events sink  // ends in send
	err    error // of the last event
}

// RecvMsg implements grpc.ServerStream.
func (s *damagedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	s.params = fromProto(m)
	return err
}

// SendMsg implements grpc.ServerStream.
func (s *damagedStream) SendMsg(m any) error {
	s.begun = true
	if !s.events(fromProto(m)) {
		return cmp.Or(s.err, io.ErrClosedPipe)
	}
	return nil
}

// send sends an event.
func (s *damagedStream) send(e object) bool {
	var m proto.Message
	if m, s.err = toProto(s.method, e); s.err == nil {
		s.err = s.ServerStream.SendMsg(m)
	}
	return s.err == nil
}

// fromProto returns a message as JSON, with empty lists and texts.
func fromProto(m any) object {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m.(proto.Message))
	if err != nil {
		return nil
	}
	return objectIn(text)
}

// toProto returns the answer of a method with the fields of a JSON object that it knows.
func toProto(method string, v any) (proto.Message, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.(protoreflect.MethodDescriptor).Output().FullName())
	if err != nil {
		return nil, err
	}
	m := t.New().Interface()
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(compact(v)), m); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return m, nil
}
