package checktest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// legacyREST is the path above HTTP+JSON of v0.3.
const legacyREST = "/old/v1/"

// serveLegacyREST answers HTTP+JSON of v0.3.
func (s *Server) serveLegacyREST(w http.ResponseWriter, r *http.Request, body []byte) {
	r.URL.Path = "/rest/" + strings.TrimPrefix(r.URL.Path, legacyREST)
	op, params := route(r)
	var message Object
	if len(body) > 0 {
		_ = json.Unmarshal(body, &message) // what is no object has no members
	}
	upgradeParams(op, message, params)
	refuse := func(f *Fault) {
		code, _ := f.status()
		s.write(w, code, Object{"message": f.Message})
	}
	switch {
	case op == "":
		refuse(&Fault{wire.MethodNotFound, "no such path"})
	case op.Streams():
		f := s.follow(r.Context(), op, params, func() Sink {
			send := s.sse(w)
			return func(e Object) bool { return send(inProto(e, "content")) }
		})
		if f != nil {
			refuse(f)
		}
	default:
		result, f := s.operate(op, params)
		if f != nil {
			refuse(f)
			return
		}
		s.write(w, http.StatusOK, inProto(result, "content"))
	}
}

// callLegacy answers the methods of gRPC of v0.3.
func (s *Server) callLegacy(stream grpc.ServerStream, name string) error {
	old, in, out := wire.LegacyMessages(name)
	if in == nil {
		return status.Error(codes.Unimplemented, "no such method")
	}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	var message Object
	if err := json.Unmarshal([]byte(protojson.Format(in)), &message); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	if s.options.Key != "" && strings.Join(md.Get("authorization"), "") != "Bearer "+s.options.Key {
		return status.Error(codes.Unauthenticated, "who are you")
	}
	op, params := legacyOps[old], Object{}
	upgradeParams(op, message, params)
	send := func(v any) error { return sendProto(stream, out, v) }
	if op.Streams() {
		f := s.follow(stream.Context(), op, params, func() Sink {
			return func(e Object) bool { return send(e) == nil }
		})
		if f == nil {
			return broken(stream.Context())
		}
		return legacyError(f)
	}
	result, f := s.operate(op, params)
	if f != nil {
		return legacyError(f)
	}
	return send(result)
}

func legacyError(f *Fault) error {
	if f == nil {
		return nil
	}
	return f.grpcError()
}

func sendProto(stream grpc.ServerStream, out proto.Message, v any) error {
	out = out.ProtoReflect().New().Interface()
	if err := unmarshal(marshal(inProto(v, "parts")), out); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return stream.SendMsg(out)
}

// upgradeParams adds what a request message of the proto says to the params of v1.0.
func upgradeParams(op wire.Op, message, params Object) {
	name := str(message, "name") + str(message, "parent")
	id, hook, _ := strings.Cut(strings.TrimPrefix(name, "tasks/"), "/pushNotificationConfigs/")
	member := "id"
	switch op {
	case wire.CreatePush, wire.GetPush, wire.ListPush, wire.DeletePush:
		member = "taskId"
	}
	if name != "" {
		params[member] = id
	}
	if hook != "" {
		params["id"] = hook
	}
	if url := str(message, "config", "pushNotificationConfig", "url"); url != "" {
		params["url"] = url
	}
	if m, ok := message["message"].(Object); ok {
		if m["content"] != nil {
			m["parts"] = m["content"]
		}
		params["message"] = m
	}
}

// inProto returns a result or an event of v1.0 in the shape of the proto of v0.3. Parts
// is what a message calls its parts.
func inProto(v any, parts string) any {
	switch v := v.(type) {
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = inProto(v[i], parts)
		}
		return l
	case []Object:
		l := make([]any, len(v))
		for i := range v {
			l[i] = inProto(v[i], parts)
		}
		return l
	case Object:
		return objectInProto(v, parts)
	case string:
		if v == "TASK_STATE_CANCELED" {
			return "TASK_STATE_CANCELLED"
		}
	}
	return v
}

func objectInProto(v Object, parts string) any {
	if v["taskId"] != nil && v["url"] != nil {
		name := "tasks/" + str(v, "taskId") + "/pushNotificationConfigs/" + str(v, "id")
		return Object{"name": name, "pushNotificationConfig": Object{"id": v["id"], "url": v["url"]}}
	}
	if part := protoPart(v); part != nil {
		return part
	}
	o := Object{}
	for name, field := range v {
		at := name
		if name == "parts" && v["role"] != nil {
			at = parts
		}
		o[at] = inProto(field, parts)
	}
	if update, ok := o["statusUpdate"].(Object); ok {
		state := str(update, "status", "state")
		update["final"] = state != "TASK_STATE_WORKING" && state != "TASK_STATE_SUBMITTED"
	}
	return o
}

// protoPart returns a part as the proto has it; nil if o is no part.
func protoPart(o Object) Object {
	switch {
	case o["text"] != nil:
		return Object{"text": o["text"]}
	case o["raw"] != nil:
		return Object{"file": Object{"fileWithBytes": base64.StdEncoding.EncodeToString([]byte(str(o, "raw")))}}
	case o["url"] != nil && len(o) == 1:
		return Object{"file": Object{"fileWithUri": o["url"]}}
	case o["data"] != nil:
		return Object{"data": Object{"data": o["data"]}}
	}
	return nil
}
