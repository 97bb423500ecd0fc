package hostile

import (
	"math"
	"strings"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// sends sends a good message over gRPC after change has modified it.
func sends(change func(r *pb.SendMessageRequest, w *world)) send {
	return over(sendV1, func(w *world) []byte {
		r := &pb.SendMessageRequest{Message: &pb.Message{
			MessageId: "m-1", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "hi"}}},
		}}
		change(r, w)
		return encoded(r)
	})
}

// deepValue returns a value that is nested depth deep.
func deepValue(depth int) *structpb.Value {
	v := structpb.NewNullValue()
	for range depth {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return v
}

// grpcMessageRows are messages over gRPC that no honest client sends, and invalid calls.
var grpcMessageRows = []row{
	{name: "no message", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message = nil }), want: "InvalidArgument INVALID_PARAMS message"},
	{name: "no id", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.MessageId = "" }), want: "InvalidArgument INVALID_PARAMS message.messageId"},
	{name: "long id", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.MessageId = strings.Repeat("m", 513) }), want: "InvalidArgument INVALID_PARAMS message.messageId"},
	{name: "no role", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.Role = 0 }), want: "InvalidArgument INVALID_PARAMS message.role"},
	{name: "role of the agent", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.Role = pb.Role_ROLE_AGENT }), want: "InvalidArgument INVALID_PARAMS message.role"},
	{name: "no parts", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.Parts = nil }), want: "InvalidArgument INVALID_PARAMS message.parts"},
	{name: "too many parts", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		for range 1000 {
			r.Message.Parts = append(r.Message.Parts, r.Message.Parts[0])
		}
	}), want: "InvalidArgument INVALID_PARAMS message.parts"},
	{name: "not a number", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		r.Message.Parts[0].Content = &pb.Part_Data{Data: structpb.NewNumberValue(math.NaN())}
	}), want: "InvalidArgument INVALID_PARAMS"},
	{name: "infinity", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		r.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(math.Inf(1))}}
	}), want: "InvalidArgument INVALID_PARAMS"},
	{name: "value of no kind", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		r.Message.Parts[0].Content = &pb.Part_Data{Data: &structpb.Value{}}
	}), want: "InvalidArgument INVALID_PARAMS"},
	{name: "nested", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		r.Message.Parts[0].Content = &pb.Part_Data{Data: deepValue(500)}
	}), want: "InvalidArgument PARSE_ERROR"},
	{name: "NUL in the context", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.ContextId = "a\x00b" }), want: "InvalidArgument INVALID_PARAMS message.contextId"},
	{name: "long task", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.TaskId = strings.Repeat("t", 200) }), want: "InvalidArgument INVALID_PARAMS message.taskId"},
	{name: "negative history", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		n := int32(-1)
		r.Configuration = &pb.SendMessageConfiguration{HistoryLength: &n}
	}), want: "InvalidArgument INVALID_PARAMS configuration.historyLength"},
	{name: "unknown task", send: sends(func(r *pb.SendMessageRequest, _ *world) { r.Message.TaskId = "nope" }), want: "NotFound TASK_NOT_FOUND"},
	{name: "finished task", send: sends(func(r *pb.SendMessageRequest, w *world) { r.Message.TaskId = w.names["$done"] }), want: "FailedPrecondition UNSUPPORTED_OPERATION"},
	{name: "other context", send: sends(func(r *pb.SendMessageRequest, w *world) {
		r.Message.TaskId, r.Message.ContextId = w.names["$asked"], "other"
	}), want: "InvalidArgument INVALID_PARAMS message.contextId"},
	{name: "media type", send: sends(func(r *pb.SendMessageRequest, _ *world) {
		r.Tenant, r.Message.Parts[0].MediaType = "text", "image/png"
	}), want: "InvalidArgument CONTENT_TYPE_NOT_SUPPORTED message.parts[0]"},
	{name: "get nothing", send: over(getV1, getTask("")), want: "InvalidArgument INVALID_PARAMS id"},
	{name: "get with NUL", send: over(getV1, getTask("$done\x00")), want: "NotFound TASK_NOT_FOUND"},
	{name: "cancel the end", send: over(serviceV1+"CancelTask", func(w *world) []byte { return encoded(&pb.CancelTaskRequest{Id: w.names["$done"]}) }), want: "FailedPrecondition TASK_NOT_CANCELABLE"},
	{name: "page token", send: over(list, plain(encoded(&pb.ListTasksRequest{PageToken: "\x00"}))), want: "InvalidArgument INVALID_PARAMS pageToken"},
	{name: "year 20000", send: over(list, plain(encoded(&pb.ListTasksRequest{StatusTimestampAfter: &timestamppb.Timestamp{Seconds: 1 << 40}}))), want: "InvalidArgument INVALID_PARAMS"},
	{name: "unknown service", send: over("/a2a.v9.A2AService/SendMessage", plain(nil)), want: "Unimplemented"},
	{name: "no path", send: over("/", plain(nil)), want: "Unimplemented"},
}
