package checktest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// legacyREST is the path above HTTP+JSON of v0.3.
const legacyREST = "/old/v1/"

// legacyOps are the operations of v1.0 that stand for those of v0.3.
var legacyOps = map[wire.Op]wire.Op{
	wire.LegacySend: wire.SendMessage, wire.LegacyStream: wire.StreamMessage, wire.LegacyGet: wire.GetTask,
	wire.LegacyCancel: wire.CancelTask, wire.LegacySubscribe: wire.SubscribeTask,
	wire.LegacyCreatePush: wire.CreatePush, wire.LegacyGetPush: wire.GetPush,
	wire.LegacyListPush: wire.ListPush, wire.LegacyDeletePush: wire.DeletePush,
}

// legacyCall is a call of v0.3 over one of its bindings.
type legacyCall struct {
	server *Server
	shape  dialect.Shape
	op     wire.Op // of v1.0; empty if there is no such method
	// params returns those of v1.0.
	params func(dialect.Operation) ([]byte, error)
	// send sends a result, begin returns what sends the events of a stream.
	send  func(result []byte)
	begin func() func(event []byte) bool
}

// serve makes the call.
func (c *legacyCall) serve(ctx context.Context) *Fault {
	o, err := dialect.Lookup(string(c.op))
	if err != nil {
		return &Fault{wire.MethodNotFound, "no such method"}
	}
	text, err := c.params(o)
	if err != nil {
		return &Fault{wire.InvalidParams, err.Error()}
	}
	var params Object
	if err := json.Unmarshal(text, &params); err != nil {
		return &Fault{wire.InvalidParams, err.Error()}
	}
	if m, ok := params["message"].(Object); ok && m["role"] == "user" {
		m["role"] = "ROLE_USER"
	}
	if !c.op.Streams() {
		result, f := c.server.operate(c.op, params)
		if f == nil {
			c.send(c.shape.AppendResult(nil, o, marshal(result)))
		}
		return f
	}
	return c.server.follow(ctx, c.op, params, func() Sink {
		send, rewrite := c.begin(), c.shape.Frames()
		return func(e Object) bool {
			for _, event := range rewrite(marshal(e)) {
				if !send(event) {
					return false
				}
			}
			return true
		}
	})
}

// serveLegacy answers JSON-RPC of v0.3.
func (s *Server) serveLegacy(w http.ResponseWriter, r *http.Request, q rpcRequest) {
	c := legacyCall{server: s, shape: dialect.V03, op: legacyOps[q.Method]}
	c.params = func(o dialect.Operation) ([]byte, error) { return c.shape.Request(o, marshal(q.Params)) }
	c.send = func(result []byte) {
		s.reply(w, q, func() (any, *Fault) { return json.RawMessage(result), nil })
	}
	c.begin = func() func([]byte) bool {
		send := s.sse(w)
		return func(e []byte) bool { return send(Object{"jsonrpc": "2.0", "id": q.ID, "result": json.RawMessage(e)}) }
	}
	if f := c.serve(r.Context()); f != nil {
		s.reply(w, q, func() (any, *Fault) { return nil, f })
	}
}

// serveLegacyREST answers HTTP+JSON of v0.3.
func (s *Server) serveLegacyREST(w http.ResponseWriter, r *http.Request, body []byte) {
	r.URL.Path = "/rest/" + strings.TrimPrefix(r.URL.Path, legacyREST)
	op, path := route(r)
	c := legacyCall{server: s, shape: dialect.V03Proto, op: op}
	c.params = func(o dialect.Operation) ([]byte, error) {
		p := dialect.LegacyPath{Task: a2a.TaskID(str(path, "id")), Query: r.URL.RawQuery, Body: body}
		if o.Push() {
			p.Task, p.Config = a2a.TaskID(str(path, "taskId")), str(path, "id")
		}
		return new(dialect.Decoder).LegacyAt(o, &p)
	}
	c.send = func(result []byte) { s.write(w, http.StatusOK, json.RawMessage(result)) }
	c.begin = func() func([]byte) bool {
		send := s.sse(w)
		return func(e []byte) bool { return send(json.RawMessage(e)) }
	}
	if f := c.serve(r.Context()); f != nil {
		code, _ := f.status()
		s.write(w, code, Object{"message": f.Message})
	}
}

// callLegacy answers gRPC of v0.3.
func (s *Server) callLegacy(stream grpc.ServerStream, name string) error {
	old, in, out := wire.LegacyMessages(name)
	if in == nil {
		return status.Error(codes.Unimplemented, "no such method")
	}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	if s.options.Key != "" && strings.Join(md.Get("authorization"), "") != "Bearer "+s.options.Key {
		return status.Error(codes.Unauthenticated, "who are you")
	}
	c := legacyCall{server: s, shape: dialect.V03Proto, op: legacyOps[old]}
	c.params = func(o dialect.Operation) ([]byte, error) {
		message, err := protojson.Marshal(in)
		if err != nil {
			return nil, err
		}
		return new(dialect.Decoder).LegacyMessage(o, message)
	}
	var sent error
	send := func(v []byte) bool {
		sent = sendProto(stream, out, v)
		return sent == nil
	}
	c.send = func(result []byte) { send(result) }
	c.begin = func() func([]byte) bool { return send }
	switch f := c.serve(stream.Context()); {
	case f != nil:
		return f.grpcError()
	case c.op.Streams():
		return broken(stream.Context())
	}
	return sent
}

// sendProto sends a result in the shape of HTTP+JSON, where a message has its parts as content.
func sendProto(stream grpc.ServerStream, out proto.Message, v []byte) error {
	out = out.ProtoReflect().New().Interface()
	v = bytes.ReplaceAll(v, []byte(`"content":[`), []byte(`"parts":[`))
	if err := unmarshal(v, out); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return stream.SendMsg(out)
}
