package grpcbind_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
)

func artifactText(t *pb.Task) string {
	var b strings.Builder
	for _, a := range t.GetArtifacts() {
		for _, p := range a.GetParts() {
			b.WriteString(p.GetText())
		}
	}
	return b.String()
}

// TestParts sends each kind of content there and back.
func TestParts(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, mirror, nil)
	data, err := structpb.NewValue(map[string]any{"n": 1.5, "list": []any{true, nil, "x"}, "o": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := structpb.NewStruct(map[string]any{"k": []any{1.0}})
	if err != nil {
		t.Fatal(err)
	}
	r := textRequest("parts")
	r.Message.Metadata = meta
	r.Message.Parts = []*pb.Part{
		{Content: &pb.Part_Text{Text: ""}, Metadata: meta},
		{Content: &pb.Part_Raw{Raw: []byte{0, 1, 0xff, '"'}}, Filename: "a.png", MediaType: "image/png"},
		{Content: &pb.Part_Url{Url: "https://example.com/ä?b=<c>"}},
		{Content: &pb.Part_Data{Data: data}, MediaType: "application/json"},
		{Content: &pb.Part_Data{Data: structpb.NewNullValue()}},
	}
	got := h.send(r)
	if diff := cmp.Diff(r.GetMessage().GetParts(), got.GetArtifacts()[0].GetParts(), protocmp.Transform()); diff != "" {
		t.Errorf("parts of the artifact mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.GetMessage().GetParts(), got.GetHistory()[0].GetParts(), protocmp.Transform()); diff != "" {
		t.Errorf("parts of the history mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(meta, got.GetArtifacts()[0].GetMetadata(), protocmp.Transform()); diff != "" {
		t.Errorf("metadata mismatch (-want +got):\n%s", diff)
	}
}

// TestNothingIsDropped checks data that the SDK's handler loses: tenant and metadata on each
// call.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	x := newHolder()
	h := start(t, grpcbind.Config{}, words, agents{"held": x})
	meta, err := structpb.NewStruct(map[string]any{"why": "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := to("held", textRequest("x"))
	r.Metadata = meta
	r.Configuration = &pb.SendMessageConfiguration{ReturnImmediately: true}
	ctx := with(t.Context(), "a2a-extensions", "urn:a, urn:b", "a2a-extensions", "urn:a", "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "authorization", "secret")
	a, err := h.client.SendMessage(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	ec := <-x.began
	if ec.Tenant != "held" || ec.Metadata["why"] != "test" {
		t.Errorf("executor got tenant %q and metadata %v, want those of the request", ec.Tenant, ec.Metadata)
	}
	if got, _ := ec.ServiceParams.Get("traceparent"); !cmp.Equal(got, []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
		t.Errorf("executor got traceparent %v, want that of the request", got)
	}
	if got, _ := ec.ServiceParams.Get("a2a-extensions"); !cmp.Equal(got, []string{"urn:a", "urn:b"}) {
		t.Errorf("executor got extensions %v, want those of the request", got)
	}
	if got := (<-x.calls).Extensions; got != nil {
		t.Errorf("executor got the active extensions %v, want none: its card declares none", got)
	}
	if got, _ := ec.ServiceParams.Get("authorization"); got != nil {
		t.Errorf("executor got the credentials %v, want none", got)
	}
	id := a.GetTask().GetId()
	for name, call := range map[string]func(tenant string) error{
		"GetTask": func(tenant string) error {
			_, err := h.client.GetTask(t.Context(), &pb.GetTaskRequest{Tenant: tenant, Id: id})
			return err
		},
		"SubscribeToTask": func(tenant string) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := h.client.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Tenant: tenant, Id: id})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"CancelTask": func(tenant string) error {
			if tenant == "held" {
				return nil // tested below
			}
			_, err := h.client.CancelTask(t.Context(), &pb.CancelTaskRequest{Tenant: tenant, Id: id})
			return err
		},
	} {
		if err := call("held"); err != nil {
			t.Errorf("%s with the tenant of the task: %v", name, err)
		}
		if got := failureOf(t, call("main")); got.Reason != "TASK_NOT_FOUND" || got.Code != codes.NotFound {
			t.Errorf("%s with another tenant gives %v, want TASK_NOT_FOUND", name, got)
		}
	}
	got, err := h.client.CancelTask(t.Context(), &pb.CancelTaskRequest{Tenant: "held", Id: id, Metadata: meta})
	if err != nil || got.GetStatus().GetState() != pb.TaskState_TASK_STATE_CANCELED {
		t.Fatalf("CancelTask = %v, %v; want a canceled task", got, err)
	}
	if ec := <-x.canceled; ec.Metadata["why"] != "test" {
		t.Errorf("Cancel got metadata %v, want those of the request", ec.Metadata)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, nil)
	for _, tt := range []struct {
		values []string
		ok     bool
	}{
		{nil, true},
		{[]string{""}, true},
		{[]string{"1.0"}, true},
		{[]string{"1.0.1"}, true},
		{[]string{"1.0,1.0"}, true},
		{[]string{"0.3"}, false},
		{[]string{"99.0"}, false},
		{[]string{"1.0", "2.0"}, false},
		{[]string{"1.0, 2.0"}, false},
	} {
		ctx := t.Context()
		for _, v := range tt.values {
			ctx = with(ctx, "a2a-version", v)
		}
		_, err := h.client.ListTasks(ctx, &pb.ListTasksRequest{})
		if tt.ok {
			if err != nil {
				t.Errorf("a2a-version %q: %v", tt.values, err)
			}
			continue
		}
		want := failure{Code: codes.FailedPrecondition, Reason: "VERSION_NOT_SUPPORTED"}
		if diff := cmp.Diff(want, failureOf(t, err), cmpopts.IgnoreFields(failure{}, "Meta")); diff != "" {
			t.Errorf("a2a-version %q mismatch (-want +got):\n%s", tt.values, diff)
		}
	}
}

// nested returns lists nested to a depth.
func nested(depth int) *structpb.Value {
	v := structpb.NewNullValue()
	for range depth {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return v
}

// TestErrors checks the errors that a caller can cause, on the call that they belong to.
func TestErrors(t *testing.T) {
	t.Parallel()
	refusing := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
		yield(nil, a2a.NewError(a2a.ErrUnsupportedContentType, "no poems"))
	}}
	h := start(t, grpcbind.Config{}, words, agents{"extended": ask, "refusing": refusing})
	done := h.send(textRequest("done")).GetId()
	send := func(change func(*pb.SendMessageRequest)) func(context.Context) error {
		return func(ctx context.Context) error {
			r := textRequest("x")
			change(r)
			_, err := h.client.SendMessage(ctx, r)
			return err
		}
	}
	list := func(r *pb.ListTasksRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := h.client.ListTasks(ctx, r); return err }
	}
	get := func(r *pb.GetTaskRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := h.client.GetTask(ctx, r); return err }
	}
	cancel := func(r *pb.CancelTaskRequest) func(context.Context) error {
		return func(ctx context.Context) error { _, err := h.client.CancelTask(ctx, r); return err }
	}
	subscribe := func(r *pb.SubscribeToTaskRequest) func(context.Context) error {
		return func(ctx context.Context) error {
			s, err := h.client.SubscribeToTask(ctx, r)
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}
	}
	card := func(tenant string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := h.client.GetExtendedAgentCard(ctx, &pb.GetExtendedAgentCardRequest{Tenant: tenant})
			return err
		}
	}
	invalid := func(fields ...string) failure {
		return failure{Code: codes.InvalidArgument, Reason: "INVALID_PARAMS", Fields: fields}
	}
	notFound := failure{Code: codes.NotFound, Reason: "TASK_NOT_FOUND"}
	refused := func(reason string) failure { return failure{Code: codes.FailedPrecondition, Reason: reason} }
	for name, tt := range map[string]struct {
		call func(context.Context) error
		want failure
	}{
		"no message":       {send(func(r *pb.SendMessageRequest) { r.Message = nil }), invalid("message")},
		"no message id":    {send(func(r *pb.SendMessageRequest) { r.Message.MessageId = "" }), invalid("message.messageId")},
		"no role":          {send(func(r *pb.SendMessageRequest) { r.Message.Role = 0 }), invalid("message.role")},
		"role of an agent": {send(func(r *pb.SendMessageRequest) { r.Message.Role = pb.Role_ROLE_AGENT }), invalid("message.role")},
		"unknown role":     {send(func(r *pb.SendMessageRequest) { r.Message.Role = 77 }), invalid("message.role")},
		"no parts":         {send(func(r *pb.SendMessageRequest) { r.Message.Parts = nil }), invalid("message.parts")},
		"empty part":       {send(func(r *pb.SendMessageRequest) { r.Message.Parts = []*pb.Part{{}} }), invalid("message.parts[0]")},
		"empty value":      {send(func(r *pb.SendMessageRequest) { r.Message.Parts[0].Content = &pb.Part_Data{Data: &structpb.Value{}} }), invalid()},
		"infinite value": {send(func(r *pb.SendMessageRequest) {
			r.Message.Parts[0].Content = &pb.Part_Data{Data: structpb.NewNumberValue(math.Inf(1))}
		}), invalid()},
		"deep value": {send(func(r *pb.SendMessageRequest) {
			r.Message.Parts[0].Content = &pb.Part_Data{Data: nested(200)}
		}), failure{Code: codes.InvalidArgument, Reason: "PARSE_ERROR"}},
		"negative history": {send(func(r *pb.SendMessageRequest) {
			r.Configuration = &pb.SendMessageConfiguration{HistoryLength: proto.Int32(-1)}
		}), invalid("configuration.historyLength")},
		"unknown agent":       {send(func(r *pb.SendMessageRequest) { r.Tenant = "unknown" }), notFound},
		"unknown task":        {send(func(r *pb.SendMessageRequest) { r.Message.TaskId = "none" }), notFound},
		"message to finished": {send(func(r *pb.SendMessageRequest) { r.Message.TaskId = done }), refused("UNSUPPORTED_OPERATION")},
		"wrong context":       {send(func(r *pb.SendMessageRequest) { r.Message.TaskId, r.Message.ContextId = done, "other" }), invalid("message.contextId")},
		"inline push": {send(func(r *pb.SendMessageRequest) {
			r.Configuration = &pb.SendMessageConfiguration{TaskPushNotificationConfig: &pb.TaskPushNotificationConfig{Url: "https://example.com"}}
		}), refused("PUSH_NOTIFICATION_NOT_SUPPORTED")},
		"refused by the agent":     {send(func(r *pb.SendMessageRequest) { r.Tenant = "refusing" }), failure{Code: codes.InvalidArgument, Reason: "CONTENT_TYPE_NOT_SUPPORTED"}},
		"get nothing":              {get(&pb.GetTaskRequest{}), invalid("id")},
		"get unknown":              {get(&pb.GetTaskRequest{Id: "none"}), notFound},
		"get negative history":     {get(&pb.GetTaskRequest{Id: done, HistoryLength: proto.Int32(-1)}), invalid("historyLength")},
		"cancel unknown":           {cancel(&pb.CancelTaskRequest{Id: "none"}), notFound},
		"cancel finished":          {cancel(&pb.CancelTaskRequest{Id: done}), refused("TASK_NOT_CANCELABLE")},
		"subscribe to unknown":     {subscribe(&pb.SubscribeToTaskRequest{Id: "none"}), notFound},
		"subscribe to nothing":     {subscribe(&pb.SubscribeToTaskRequest{}), invalid("id")},
		"subscribe to finished":    {subscribe(&pb.SubscribeToTaskRequest{Id: done}), refused("UNSUPPORTED_OPERATION")},
		"page too small":           {list(&pb.ListTasksRequest{PageSize: proto.Int32(-1)}), invalid("pageSize")},
		"page too large":           {list(&pb.ListTasksRequest{PageSize: proto.Int32(101)}), invalid("pageSize")},
		"foreign token":            {list(&pb.ListTasksRequest{PageToken: "x"}), invalid("pageToken")},
		"unknown state":            {list(&pb.ListTasksRequest{Status: 99}), invalid("status")},
		"wild time":                {list(&pb.ListTasksRequest{StatusTimestampAfter: &timestamppb.Timestamp{Nanos: -1}}), invalid()},
		"list of an unknown agent": {list(&pb.ListTasksRequest{Tenant: "unknown"}), notFound},
		"no extended card":         {card(""), refused("UNSUPPORTED_OPERATION")},
		"unset extended card":      {card("extended"), refused("EXTENDED_AGENT_CARD_NOT_CONFIGURED")},
		"card of an unknown agent": {card("unknown"), notFound},
		"push create": {func(ctx context.Context) error {
			_, err := h.client.CreateTaskPushNotificationConfig(ctx, &pb.TaskPushNotificationConfig{TaskId: done})
			return err
		}, refused("PUSH_NOTIFICATION_NOT_SUPPORTED")},
		"push get": {func(ctx context.Context) error {
			_, err := h.client.GetTaskPushNotificationConfig(ctx, &pb.GetTaskPushNotificationConfigRequest{TaskId: done})
			return err
		}, refused("PUSH_NOTIFICATION_NOT_SUPPORTED")},
		"push list": {func(ctx context.Context) error {
			_, err := h.client.ListTaskPushNotificationConfigs(ctx, &pb.ListTaskPushNotificationConfigsRequest{TaskId: done})
			return err
		}, refused("PUSH_NOTIFICATION_NOT_SUPPORTED")},
		"push delete": {func(ctx context.Context) error {
			_, err := h.client.DeleteTaskPushNotificationConfig(ctx, &pb.DeleteTaskPushNotificationConfigRequest{TaskId: done})
			return err
		}, refused("PUSH_NOTIFICATION_NOT_SUPPORTED")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := failureOf(t, tt.call(t.Context()))
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(failure{}, "Meta")); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// byToken authenticates by a token that equals the caller's name.
var byToken = auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
	name, ok := strings.CutPrefix(strings.Join(r.Header("Authorization"), ""), "Bearer ")
	switch {
	case !ok:
		return nil, auth.ErrUnauthenticated
	case name == "broken":
		return nil, errors.New("the secret password of the database is wrong")
	case name == "panic":
		panic("out of luck")
	case name == "unknown":
		return nil, nil
	}
	return &auth.Principal{ID: name}, nil
})

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{Auth: byToken}, words, nil)
	var header metadata.MD
	// An unsupported version must not hide that the caller is unauthenticated.
	_, err := h.client.SendMessage(with(t.Context(), "a2a-version", "9.9"), textRequest("x"), grpc.Header(&header))
	want := failure{Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"}
	if diff := cmp.Diff(want, failureOf(t, err)); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	if got := header.Get("www-authenticate"); !cmp.Equal(got, []string{`Bearer realm="parley"`, `ApiKey realm="parley", header="X-Api-Key"`}) {
		t.Errorf("challenge = %q, want one for Bearer", got)
	}
	s, err := h.client.SendStreamingMessage(t.Context(), textRequest("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); failureOf(t, err).Code != codes.Unauthenticated {
		t.Errorf("SendStreamingMessage: %v, want Unauthenticated", err)
	}
}

// TestInternalErrors checks that the caller of a broken hub gets only a reference, and the log
// has the details.
func TestInternalErrors(t *testing.T) {
	t.Parallel()
	logger, logged := records()
	h := start(t, grpcbind.Config{Auth: byToken, Logger: logger}, words, nil)
	calls := map[string]func(context.Context) error{
		"unary": func(ctx context.Context) error { _, err := h.client.SendMessage(ctx, textRequest("x")); return err },
		"stream": func(ctx context.Context) error {
			s, err := h.client.SendStreamingMessage(ctx, textRequest("x"))
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
	}
	for kind, call := range calls {
		for _, token := range []string{"broken", "panic", "unknown"} {
			err := call(with(t.Context(), "authorization", "Bearer "+token))
			got := failureOf(t, err)
			if got.Code != codes.Internal || got.Reason != "INTERNAL_ERROR" || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s call of %s: %v, want an internal error that says nothing", kind, token, err)
			}
			rec := <-logged
			found := false
			for a := range rec.Attrs {
				found = found || a.Key == "reference" && a.Value.String() == got.Meta["reference"]
			}
			if !found || got.Meta["reference"] == "" {
				t.Errorf("%s call of %s: the log does not have the reference %q", kind, token, got.Meta["reference"])
			}
		}
	}
}

func TestMessageLimit(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{Limits: grpcbind.Limits{Message: 1 << 10}}, words, nil)
	_, err := h.client.SendMessage(t.Context(), textRequest(strings.Repeat("x", 2<<10)))
	if got := failureOf(t, err); got.Code != codes.ResourceExhausted {
		t.Errorf("SendMessage of 2 KiB: %v, want RESOURCE_EXHAUSTED", err)
	}
	if got := h.send(textRequest("short")); artifactText(got) != "short" {
		t.Errorf("SendMessage after it = %v, want an answer", got)
	}
}
