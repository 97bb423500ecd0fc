// Package grpctest calls gRPC methods in JSON, so that tests can write calls as text.
//
// A request is written in ProtoJSON. Each response message is returned in ProtoJSON, on one
// line and without the random spaces of its encoder. [Status] formats an error in the same way.
//
// # Guarantees
//
// A request is sent exactly as written; a request with an unknown member returns an error and
// is not sent.
//
// # Non-guarantees
//
// ProtoJSON writes numbers in free JSON as doubles, and omits empty members.
package grpctest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Client calls the methods of one service. Both fields are required.
type Client struct {
	Conn    grpc.ClientConnInterface
	Service protoreflect.ServiceDescriptor
}

// Call calls a method with a request in ProtoJSON, and passes each response message to got,
// until got returns false or the call ends. It returns the error of the call. The error is a
// gRPC status, except for an unknown method or an invalid request.
func (c *Client) Call(ctx context.Context, method, request string, got func(message string) bool) error {
	m := c.Service.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		return fmt.Errorf("%s has no method %q", c.Service.FullName(), method)
	}
	in := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		return fmt.Errorf("request of %s: %w", method, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.open(ctx, m, in)
	if err != nil {
		return err
	}
	for {
		out := dynamicpb.NewMessage(m.Output())
		if err := s.RecvMsg(out); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if line, err := compact(out); err != nil || !got(line) || !m.IsStreamingServer() {
			return err
		}
	}
}

// open starts a call and sends its request.
func (c *Client) open(ctx context.Context, m protoreflect.MethodDescriptor, in proto.Message) (grpc.ClientStream, error) {
	name := "/" + string(c.Service.FullName()) + "/" + string(m.Name())
	s, err := c.Conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: m.IsStreamingServer()}, name)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(in); err != nil && !errors.Is(err, io.EOF) { // the status has the reason
		return nil, err
	}
	return s, s.CloseSend()
}

// Status returns the status of an error in ProtoJSON. An error without a status has the code
// Unknown.
func Status(err error) string {
	line, broken := compact(status.Convert(err).Proto())
	if broken != nil {
		return broken.Error() // the test does not link the type of a detail
	}
	return line
}

func compact(m proto.Message) (string, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = json.Compact(&out, b)
	return out.String(), err
}
