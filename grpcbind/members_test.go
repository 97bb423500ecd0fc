package grpcbind_test

import (
	"math"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/parley-a2a/parley/grpcbind"
)

// TestOddMessages sends messages with unset oneofs, unset members and values that JSON does not have. Each is
// answered, or refused as the caller's fault, and the next one is served.
func TestOddMessages(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, nil)
	odd := map[string]*structpb.Value{
		"no kind": {}, "NaN": structpb.NewNumberValue(math.NaN()), "infinite": structpb.NewNumberValue(math.Inf(-1)),
		"a list of none": structpb.NewListValue(nil), "a struct of none": structpb.NewStructValue(nil),
		"a list with no kind":   structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{{}}}),
		"a struct with no kind": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"": {}}}),
	}
	for name, change := range map[string]func(*pb.SendMessageRequest, *structpb.Value){
		"no message":       func(r *pb.SendMessageRequest, _ *structpb.Value) { r.Message = nil },
		"an empty message": func(r *pb.SendMessageRequest, _ *structpb.Value) { r.Message = new(pb.Message) },
		"no parts":         func(r *pb.SendMessageRequest, _ *structpb.Value) { r.Message.Parts = nil },
		"an empty part":    func(r *pb.SendMessageRequest, _ *structpb.Value) { r.Message.Parts = []*pb.Part{{}} },
		"an unknown role":  func(r *pb.SendMessageRequest, _ *structpb.Value) { r.Message.Role = 99 },
		"data": func(r *pb.SendMessageRequest, v *structpb.Value) {
			r.Message.Parts = []*pb.Part{{Content: &pb.Part_Data{Data: v}}}
		},
		"metadata":         func(r *pb.SendMessageRequest, v *structpb.Value) { r.Metadata = structOf(v) },
		"message metadata": func(r *pb.SendMessageRequest, v *structpb.Value) { r.Message.Metadata = structOf(v) },
		"part metadata":    func(r *pb.SendMessageRequest, v *structpb.Value) { r.Message.Parts[0].Metadata = structOf(v) },
		"an empty webhook": func(r *pb.SendMessageRequest, _ *structpb.Value) {
			r.Configuration = &pb.SendMessageConfiguration{TaskPushNotificationConfig: new(pb.TaskPushNotificationConfig)}
		},
		"a negative length": func(r *pb.SendMessageRequest, _ *structpb.Value) {
			n := int32(-1)
			r.Configuration = &pb.SendMessageConfiguration{HistoryLength: &n}
		},
	} {
		for what, v := range odd {
			r := textRequest("x")
			change(r, v)
			_, err := h.client.SendMessage(t.Context(), r)
			switch status.Code(err) {
			case codes.OK, codes.InvalidArgument, codes.Unimplemented, codes.FailedPrecondition:
			default:
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
	if got := artifactText(h.send(textRequest("one two"))); got != "one two" {
		t.Errorf("the next message is answered with %q", got)
	}
}

func structOf(v *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"k": v}}
}
