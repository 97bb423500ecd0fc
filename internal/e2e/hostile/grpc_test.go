package hostile

import (
	"context"
	"strings"
	"time"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // a bomb is compressed
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// bytesCodec sends and receives bytes unchanged.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (bytesCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

func (bytesCodec) Name() string { return "proto" }

const (
	serviceV1  = "/lf.a2a.v1.A2AService/"
	serviceV03 = "/a2a.v1.A2AService/"
)

// over calls a gRPC method with bytes, as alice unless md names another caller.
func over(path string, body func(w *world) []byte, md ...string) send {
	return func(w *world) *answer {
		if len(md) == 0 {
			md = []string{"x-api-key", "$key-alice"}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for i := 0; i+1 < len(md); i += 2 {
			ctx = metadata.AppendToOutgoingContext(ctx, md[i], w.in(md[i+1]))
		}
		conn := w.conn()
		defer conn.Close()
		var out []byte
		opts := []grpc.CallOption{grpc.ForceCodec(bytesCodec{})}
		if strings.HasSuffix(path, "#gzip") {
			opts = append(opts, grpc.UseCompressor("gzip"))
		}
		err := conn.Invoke(ctx, strings.TrimSuffix(path, "#gzip"), body(w), &out, opts...)
		return &answer{outcome: grpcErrorOf(err), body: append(out, status.Convert(err).String()...)}
	}
}

// grpcErrorOf returns the code, reason and field of an error.
func grpcErrorOf(err error) string {
	s := status.Convert(err)
	words := []string{s.Code().String()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			words = append(words, d.GetReason())
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				words = append(words, v.GetField())
			}
		}
	}
	return strings.Join(words, " ")
}

// plain returns a body that does not depend on the world.
func plain(b []byte) func(*world) []byte { return func(*world) []byte { return b } }

func encoded(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// field returns a field of a message as bytes.
func field(n protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
}

// number returns the number of a field.
func number(m proto.Message, name protoreflect.Name) protowire.Number {
	return m.ProtoReflect().Descriptor().Fields().ByName(name).Number()
}

// textMessage returns an encoded send request after change, if not nil, has modified its
// message.
func textMessage(text string, change func(*pb.Message)) []byte {
	m := &pb.Message{MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: text}}}}
	if change != nil {
		change(m)
	}
	return encoded(&pb.SendMessageRequest{Message: m})
}

// getTask requests a task by its name in the world.
func getTask(name string) func(*world) []byte {
	return func(w *world) []byte { return encoded(&pb.GetTaskRequest{Id: w.in(name)}) }
}

func legacyTask(name string) func(*world) []byte {
	return func(w *world) []byte { return encoded(&pb0.GetTaskRequest{Name: w.in(name)}) }
}

// nestedMetadata returns encoded metadata that is nested n levels deep.
func nestedMetadata(n int) []byte {
	value := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 0)
	for range n {
		entry := append(field(1, []byte("a")), field(2, value)...)
		value = field(5, field(1, entry))
	}
	entry := append(field(1, []byte("a")), field(2, value)...)
	message := encoded(&pb.Message{MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}}})
	return field(number(&pb.SendMessageRequest{}, "message"), append(message, field(number(&pb.Message{}, "metadata"), field(1, entry))...))
}

const (
	list     = serviceV1 + "ListTasks"
	getV1    = serviceV1 + "GetTask"
	sendV1   = serviceV1 + "SendMessage"
	getV03   = serviceV03 + "GetTask"
	grpcAnon = "Unauthenticated UNAUTHENTICATED"
)

var grpcRows = []row{
	{name: "the good one", send: over(list, plain(nil)), want: "OK"},
	{name: "no key", send: over(list, plain(nil), "x-other", "y"), want: grpcAnon},
	{name: "two keys", send: over(list, plain(nil), "x-api-key", "$key-alice", "x-api-key", "$key-bob"), want: grpcAnon},
	{name: "two authorizations", send: over(list, plain(nil), "authorization", "Bearer $key-alice", "authorization", "Bearer $key-root"), want: grpcAnon},
	{name: "a key in binary metadata", send: over(list, plain(nil), "x-api-key-bin", "$key-alice"), want: grpcAnon},
	{name: "a key of a worker", send: over(list, plain(nil), "x-api-key", "$buskey"), want: grpcAnon},
	{name: "a forged token", send: over(list, plain(nil), "authorization", "Bearer eyJhbGciOiJub25lIn0.e30."), want: grpcAnon},
	{name: "somebody else's name", send: over(list, plain(nil), "x-forwarded-user", "root", ":authority", "root"), want: grpcAnon},
	{name: "two versions", send: over(list, plain(nil), "x-api-key", "$key-alice", "a2a-version", "1.0", "a2a-version", "0.3"), want: "FailedPrecondition VERSION_NOT_SUPPORTED"},
	{name: "metadata of 100 KiB", send: over(list, plain(nil), "x-api-key", "$key-alice", "x-long", strings.Repeat("x", 100<<10)), want: "ResourceExhausted"},
	{name: "metadata of a thousand names", send: over(list, plain(nil), append([]string{"x-api-key", "$key-alice"}, strings.Split(strings.Repeat("x-a,"+strings.Repeat("b", 100)+",", 1000)+"x-a,b", ",")...)...), want: "ResourceExhausted"},
	{name: "a method that nobody knows", send: over(serviceV1+"DeleteTask", plain(nil)), want: "Unimplemented"},
	{name: "a service that nobody knows", send: over("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", plain(nil)), want: "Unimplemented"},
	{name: "a method that is a path", send: over("/lf.a2a.v1.A2AService/../GetTask", plain(nil)), want: "Unimplemented"},
	{name: "larger than allowed", send: over(sendV1, plain(textMessage(strings.Repeat("x", 70<<10), nil))), want: "ResourceExhausted"},
	// 16 times the limit; the client must compress it within body_time, even with the race detector.
	{name: "a bomb of gzip", send: over(sendV1+"#gzip", plain(textMessage(strings.Repeat("\x00", 1<<20), nil))), want: "ResourceExhausted"},
	{name: "cut off", send: over(sendV1, plain(textMessage("x", nil)[:5])), want: "Internal"},
	{name: "no message at all", send: over(sendV1, plain([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))), want: "Internal"},
	{name: "invalid UTF-8", send: over(sendV1, plain(field(number(&pb.SendMessageRequest{}, "message"), field(number(&pb.Message{}, "message_id"), []byte("\xc3\x28"))))), want: "Internal"},
	{name: "an unknown role", send: over(sendV1, plain(textMessage("x", func(m *pb.Message) { m.Role = 99 }))), want: "InvalidArgument INVALID_PARAMS message.role"},
	{name: "a role below zero", send: over(sendV1, plain(textMessage("x", func(m *pb.Message) { m.Role = -1 }))), want: "InvalidArgument INVALID_PARAMS message.role"},
	{name: "a part of nothing", send: over(sendV1, plain(textMessage("x", func(m *pb.Message) { m.Parts = []*pb.Part{{}} }))), want: "InvalidArgument INVALID_PARAMS message.parts[0]"},
	{name: "a long skill", send: over(sendV1, plain(textMessage("x", func(m *pb.Message) {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"skill": structpb.NewStringValue(strings.Repeat("\x01", 10_000))}}
	}))), want: "InvalidArgument INVALID_PARAMS metadata.skill"},
	{name: "an unknown state", send: over(list, plain(encoded(&pb.ListTasksRequest{Status: 99}))), want: "InvalidArgument INVALID_PARAMS status"},
	{name: "nested 200 deep", send: over(sendV1, plain(nestedMetadata(200))), want: "InvalidArgument PARSE_ERROR"},
	{name: "nested 2,000 deep", send: over(sendV1, plain(nestedMetadata(2000))), want: "InvalidArgument PARSE_ERROR"},
	{name: "NUL in a task id", send: over(sendV1, plain(textMessage("x", func(m *pb.Message) { m.TaskId = "a\x00b" }))), want: "InvalidArgument INVALID_PARAMS message.taskId"},
	{name: "a task id that is a path", send: over(sendV1, plain(textMessage("x", func(m *pb.Message) { m.TaskId = "../../x" }))), want: "NotFound TASK_NOT_FOUND"},
	{name: "a tenant that is a path", send: over(list, plain(encoded(&pb.ListTasksRequest{Tenant: "../tally"}))), want: "NotFound TASK_NOT_FOUND"},
	{name: "a foreign task behind one's own", send: over(getV1, func(w *world) []byte { return append(getTask("$asked")(w), getTask("$foreign")(w)...) }), want: "NotFound TASK_NOT_FOUND"},
	{name: "a page of bob's", send: over(list, func(w *world) []byte {
		return encoded(&pb.ListTasksRequest{PageSize: proto.Int32(1), PageToken: w.names["$bobspage"]})
	}), want: "InvalidArgument INVALID_PARAMS pageToken"},
	{name: "a page below zero", send: over(list, plain(encoded(&pb.ListTasksRequest{PageSize: proto.Int32(-1)}))), want: "InvalidArgument INVALID_PARAMS pageSize"},
	{name: "a webhook at the metadata of a cloud", send: over(serviceV1+"CreateTaskPushNotificationConfig", func(w *world) []byte {
		return encoded(&pb.TaskPushNotificationConfig{TaskId: w.names["$asked"], Url: "http://169.254.169.254/"})
	}), want: "InvalidArgument INVALID_PARAMS url"},
	{name: "v0.3: no key", send: over(getV03, legacyTask("tasks/$asked"), "x-other", "y"), want: "Unauthenticated UNAUTHENTICATED"},
	{name: "v0.3: a name that is a path", send: over(getV03, legacyTask("tasks/../tasks/$asked")), want: "NotFound TASK_NOT_FOUND"},
	{name: "v0.3: a name without a task", send: over(getV03, legacyTask("agents/$asked")), want: "InvalidArgument INVALID_PARAMS name"},
	{name: "v0.3: an unknown role", send: over(serviceV03+"SendMessage", plain(encoded(&pb0.SendMessageRequest{Request: &pb0.Message{MessageId: "m", Role: 99}}))), want: "InvalidArgument INVALID_PARAMS message.role"},
	{name: "a deadline in the past", send: func(w *world) *answer {
		conn := w.conn()
		defer conn.Close()
		ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer cancel()
		var out []byte
		return &answer{outcome: grpcErrorOf(conn.Invoke(ctx, list, []byte(nil), &out, grpc.ForceCodec(bytesCodec{})))}
	}, want: "DeadlineExceeded"},
}
