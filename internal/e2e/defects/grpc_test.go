package defects

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/parley-a2a/parley/grpcbind"
)

// grpcInput is a call that must be refused. id looks names of fixtures up.
type grpcInput struct {
	name string
	do   func(ctx context.Context, h *hub, id func(string) string) error
	code codes.Code
	// reason and field are those of the details; a call that gRPC itself refuses has
	// none.
	reason, field string
}

// message returns a call that sends what change makes of a good message.
func message(change func(*pb.SendMessageRequest, func(string) string)) func(context.Context, *hub, func(string) string) error {
	return func(ctx context.Context, h *hub, id func(string) string) error {
		r := pbSay("hi")
		change(r, id)
		_, err := h.grpc.SendMessage(ctx, r)
		return err
	}
}

func list(r *pb.ListTasksRequest) func(context.Context, *hub, func(string) string) error {
	return func(ctx context.Context, h *hub, _ func(string) string) error {
		_, err := h.grpc.ListTasks(ctx, r)
		return err
	}
}

func get(name string) func(context.Context, *hub, func(string) string) error {
	return func(ctx context.Context, h *hub, id func(string) string) error {
		_, err := h.grpc.GetTask(ctx, &pb.GetTaskRequest{Id: id(name)})
		return err
	}
}

// bytesCodec sends bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)   { return v.([]byte), nil }
func (bytesCodec) Unmarshal(_ []byte, _ any) error { return nil }
func (bytesCodec) Name() string                    { return "proto" }

func rawCall(method string, body []byte) func(context.Context, *hub, func(string) string) error {
	return func(ctx context.Context, h *hub, _ func(string) string) error {
		return h.conn.Invoke(ctx, method, body, &struct{}{}, grpc.ForceCodec(bytesCodec{}))
	}
}

const sendMethod = "/lf.a2a.v1.A2AService/SendMessage"

// deepValue returns a value that is nested depth deep.
func deepValue(depth int) *structpb.Value {
	v := structpb.NewNullValue()
	for range depth {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return v
}

var grpcInputs = []grpcInput{
	{"no message", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message = nil }), codes.InvalidArgument, "INVALID_PARAMS", "message"},
	{"no id", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.MessageId = "" }), codes.InvalidArgument, "INVALID_PARAMS", "message.messageId"},
	{"long id", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.MessageId = strings.Repeat("m", 513) }), codes.InvalidArgument, "INVALID_PARAMS", "message.messageId"},
	{"no role", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.Role = 0 }), codes.InvalidArgument, "INVALID_PARAMS", "message.role"},
	{"role of the agent", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.Role = pb.Role_ROLE_AGENT }), codes.InvalidArgument, "INVALID_PARAMS", "message.role"},
	{"unknown role", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.Role = 77 }), codes.InvalidArgument, "INVALID_PARAMS", "message.role"},
	{"no parts", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.Parts = nil }), codes.InvalidArgument, "INVALID_PARAMS", "message.parts"},
	{"part without content", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.Parts = []*pb.Part{{}} }), codes.InvalidArgument, "INVALID_PARAMS", "message.parts[0]"},
	{"too many parts", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		for range 1000 {
			r.Message.Parts = append(r.Message.Parts, r.Message.Parts[0])
		}
	}), codes.InvalidArgument, "INVALID_PARAMS", "message.parts"},
	{"not a number", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		r.Message.Parts[0].Content = &pb.Part_Data{Data: structpb.NewNumberValue(math.NaN())}
	}), codes.InvalidArgument, "INVALID_PARAMS", ""},
	{"infinity", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		r.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(math.Inf(1))}}
	}), codes.InvalidArgument, "INVALID_PARAMS", ""},
	{"value of no kind", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		r.Message.Parts[0].Content = &pb.Part_Data{Data: &structpb.Value{}}
	}), codes.InvalidArgument, "INVALID_PARAMS", ""},
	{"nested", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		r.Message.Parts[0].Content = &pb.Part_Data{Data: deepValue(500)}
	}), codes.InvalidArgument, "PARSE_ERROR", ""},
	{"NUL in the context", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.ContextId = "a\x00b" }), codes.InvalidArgument, "INVALID_PARAMS", "message.contextId"},
	{"long task", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.TaskId = strings.Repeat("t", 200) }), codes.InvalidArgument, "INVALID_PARAMS", "message.taskId"},
	{"negative history", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		n := int32(-1)
		r.Configuration = &pb.SendMessageConfiguration{HistoryLength: &n}
	}), codes.InvalidArgument, "INVALID_PARAMS", "configuration.historyLength"},
	{"skill of 64 KiB", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		r.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"skill": structpb.NewStringValue(strings.Repeat("\x01", 64<<10))}}
	}), codes.InvalidArgument, "INVALID_PARAMS", "metadata.skill"},
	{"unknown tenant", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Tenant = "../echo" }), codes.NotFound, "TASK_NOT_FOUND", ""},
	{"unknown task", message(func(r *pb.SendMessageRequest, _ func(string) string) { r.Message.TaskId = "nope" }), codes.NotFound, "TASK_NOT_FOUND", ""},
	{"foreign task", message(func(r *pb.SendMessageRequest, id func(string) string) { r.Message.TaskId = id("$foreign") }), codes.NotFound, "TASK_NOT_FOUND", ""},
	{"finished task", message(func(r *pb.SendMessageRequest, id func(string) string) { r.Message.TaskId = id("$done") }), codes.FailedPrecondition, "UNSUPPORTED_OPERATION", ""},
	{"other context", message(func(r *pb.SendMessageRequest, id func(string) string) {
		r.Message.TaskId, r.Message.ContextId = id("$asked"), "other"
	}), codes.InvalidArgument, "INVALID_PARAMS", "message.contextId"},
	{"media type", message(func(r *pb.SendMessageRequest, _ func(string) string) {
		r.Tenant, r.Message.Parts[0].MediaType = "text", "image/png"
	}), codes.InvalidArgument, "CONTENT_TYPE_NOT_SUPPORTED", "message.parts[0]"},
	{"get nothing", get(""), codes.InvalidArgument, "INVALID_PARAMS", "id"},
	{"get foreign", get("$foreign"), codes.NotFound, "TASK_NOT_FOUND", ""},
	{"get with NUL", get("$done\x00"), codes.NotFound, "TASK_NOT_FOUND", ""},
	{"cancel the end", func(ctx context.Context, h *hub, id func(string) string) error {
		_, err := h.grpc.CancelTask(ctx, &pb.CancelTaskRequest{Id: id("$done")})
		return err
	}, codes.FailedPrecondition, "TASK_NOT_CANCELABLE", ""},
	{"page size", list(&pb.ListTasksRequest{PageSize: ptr(int32(-1))}), codes.InvalidArgument, "INVALID_PARAMS", "pageSize"},
	{"page token", list(&pb.ListTasksRequest{PageToken: "\x00"}), codes.InvalidArgument, "INVALID_PARAMS", "pageToken"},
	{"state", list(&pb.ListTasksRequest{Status: 99}), codes.InvalidArgument, "INVALID_PARAMS", "status"},
	{"year 20000", list(&pb.ListTasksRequest{StatusTimestampAfter: &timestamppb.Timestamp{Seconds: 1 << 40}}), codes.InvalidArgument, "INVALID_PARAMS", ""},
	{"garbage", rawCall(sendMethod, []byte{0xff, 0xff, 0xff, 0xff}), codes.Internal, "", ""},
	{"truncated", rawCall(sendMethod, []byte{0x12, 0x7f, 0x0a}), codes.Internal, "", ""},
	{"invalid UTF-8", rawCall(sendMethod, []byte{0x0a, 0x02, 0xc3, 0x28}), codes.Internal, "", ""},
	{"unknown method", rawCall("/lf.a2a.v1.A2AService/DropAllTasks", nil), codes.Unimplemented, "", ""},
	{"unknown service", rawCall("/a2a.v9.A2AService/SendMessage", nil), codes.Unimplemented, "", ""},
	{"no path", rawCall("/", nil), codes.Unimplemented, "", ""},
}

func ptr[T any](v T) *T { return &v }

// Every hostile call of gRPC gets exactly its status.
func TestHostileGRPC(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		f := h.fixtures()
		for _, c := range grpcInputs {
			t.Run(c.name, func(t *testing.T) {
				f.leavesNoTrace(t, func() {
					ctx, cancel := h.as("ann")
					defer cancel()
					wantFault(t, fault{0, int(c.code), c.reason, c.field}, grpcFault(t, c.do(ctx, h, f.names.Replace)))
				})
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := h.grpc.ListTasks(ctx, &pb.ListTasksRequest{})
		wantFault(t, fault{0, int(codes.Unauthenticated), "UNAUTHENTICATED", ""}, grpcFault(t, err))
		h.alive("ann")
	})
}

// A gRPC reader who does not read is cut off like one over HTTP, and resumes.
func TestStalledGRPCReader(t *testing.T) {
	t.Parallel()
	// It is long for a busy machine, whose reader of the rest is not to miss it.
	h := start(t, options{grpc: grpcbind.Limits{SendTime: 4 * time.Second}})
	ctx, cancel := h.as("ann")
	defer cancel()
	s, err := h.grpc.SendStreamingMessage(ctx, pbTo("flood", "320"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	// The hub writes the end of the call into the log when it gives up.
	id := first.GetTask().GetId()
	h.logs.await(t, "stream was not read")
	h.alive("bob")
	got, err := recvAll(s)
	wantFault(t, fault{0, int(codes.DeadlineExceeded), "DEADLINE_EXCEEDED", ""}, grpcFault(t, err))
	last := len(got) + 1 // the versions that the reader has seen
	again, stop := h.as("ann", "last-event-id", strconv.Itoa(last))
	defer stop()
	s, err = h.grpc.SubscribeToTask(again, &pb.SubscribeToTaskRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := recvAll(s)
	if err != nil || last+len(rest) != 322 || len(got) > 300 {
		t.Errorf("%d events, then %d after resuming, %v; want 322 in all, most of them later", last, len(rest), err)
	}
}
