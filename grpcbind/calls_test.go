package grpcbind_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

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
