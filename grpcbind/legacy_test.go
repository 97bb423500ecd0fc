package grpcbind_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// legacy returns a client of v0.3 of the hub.
func (h *hub) legacy() pb0.A2AServiceClient { return pb0.NewA2AServiceClient(h.conn) }

// textRequest0 returns a request of v0.3 with one text part, which blocks.
func textRequest0(text string) *pb0.SendMessageRequest {
	return &pb0.SendMessageRequest{
		Request: &pb0.Message{
			MessageId: "m-" + text, Role: pb0.Role_ROLE_USER,
			Parts: []*pb0.Part{{Part: &pb0.Part_Text{Text: text}}},
		},
		Configuration: &pb0.SendMessageConfiguration{Blocking: true},
	}
}

// send0 returns the task for the message r.
func (h *hub) send0(r *pb0.SendMessageRequest) *pb0.Task {
	h.t.Helper()
	a, err := h.legacy().SendMessage(h.t.Context(), r)
	if err != nil {
		h.t.Fatalf("SendMessage(%v): %v", r, err)
	}
	if a.GetTask() == nil {
		h.t.Fatalf("SendMessage(%v) = %v, want a task", r, a)
	}
	return a.GetTask()
}

func nameOf(id string) string { return "tasks/" + id }

// TestLegacyCancel checks that a call that does not block gets the task in its current state,
// and that the task can be canceled.
func TestLegacyCancel(t *testing.T) {
	t.Parallel()
	x := newHolder()
	h := start(t, grpcbind.Config{}, x, nil)
	r := textRequest0("x")
	r.Configuration.Blocking = false
	task := h.send0(r)
	<-x.began
	got, err := h.legacy().CancelTask(t.Context(), &pb0.CancelTaskRequest{Name: nameOf(task.GetId())})
	if err != nil || got.GetStatus().GetState() != pb0.TaskState_TASK_STATE_CANCELLED {
		t.Errorf("CancelTask = %v, %v; want a canceled task", got, err)
	}
}

// TestLegacyParts sends each kind of content there and back.
func TestLegacyParts(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, mirror, nil)
	data, err := structpb.NewStruct(map[string]any{"n": 1.5, "list": []any{true, nil, "x"}, "o": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	r := textRequest0("parts")
	r.Request.Metadata = data
	r.Request.Parts = []*pb0.Part{
		{Part: &pb0.Part_Text{Text: ""}, Metadata: data},
		{Part: &pb0.Part_File{File: &pb0.FilePart{ // the SDKs put base64 into the field of bytes
			File: &pb0.FilePart_FileWithBytes{FileWithBytes: []byte("AAH/Ig==")}, MimeType: "image/png", Name: "a.png",
		}}},
		{Part: &pb0.Part_File{File: &pb0.FilePart{File: &pb0.FilePart_FileWithUri{FileWithUri: "https://example.com/ä?b=<c>"}}}},
		{Part: &pb0.Part_Data{Data: &pb0.DataPart{Data: data}}},
	}
	got := h.send0(r)
	if diff := cmp.Diff(r.GetRequest().GetParts(), got.GetArtifacts()[0].GetParts(), protocmp.Transform()); diff != "" {
		t.Errorf("parts of the artifact mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.GetRequest().GetParts(), got.GetHistory()[0].GetParts(), protocmp.Transform()); diff != "" {
		t.Errorf("parts of the history mismatch (-want +got):\n%s", diff)
	}
	v1, err := h.client.GetTask(t.Context(), &pb.GetTaskRequest{Id: got.GetId()})
	if raw := v1.GetHistory()[0].GetParts()[1].GetRaw(); err != nil || string(raw) != "\x00\x01\xff\"" {
		t.Errorf("in v1.0 the file is %q, %v", raw, err)
	}
}

// TestLegacyData checks that data other than objects is wrapped for readers of v0.3, which
// support only objects.
func TestLegacyData(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, mirror, nil)
	r := textRequest("list")
	r.Message.Parts = []*pb.Part{{Content: &pb.Part_Data{Data: structpb.NewStringValue("x")}}}
	id := h.send(r).GetId()
	got, err := h.legacy().GetTask(t.Context(), &pb0.GetTaskRequest{Name: nameOf(id)})
	if err != nil {
		t.Fatal(err)
	}
	part := got.GetArtifacts()[0].GetParts()[0]
	if v := part.GetData().GetData().AsMap()["value"]; v != "x" || part.GetMetadata().AsMap()["data_part_compat"] != true {
		t.Errorf("data = %v, want it wrapped", part)
	}
}

// shape0 describes a frame of v0.3 in one word.
func shape0(m *pb0.StreamResponse) string {
	short := func(s pb0.TaskState) string { return strings.TrimPrefix(s.String(), "TASK_STATE_") }
	switch p := m.GetPayload().(type) {
	case *pb0.StreamResponse_Task:
		return "task:" + short(p.Task.GetStatus().GetState())
	case *pb0.StreamResponse_Msg:
		return "message:" + p.Msg.GetParts()[0].GetText()
	case *pb0.StreamResponse_StatusUpdate:
		if p.StatusUpdate.GetFinal() {
			return "final:" + short(p.StatusUpdate.GetStatus().GetState())
		}
		return "status:" + short(p.StatusUpdate.GetStatus().GetState())
	case *pb0.StreamResponse_ArtifactUpdate:
		return "artifact:" + p.ArtifactUpdate.GetArtifact().GetParts()[0].GetText()
	}
	return "nothing"
}

type stream0 = grpc.ServerStreamingClient[pb0.StreamResponse]

// drain0 reads a stream to its end.
func drain0(s stream0, err error) ([]string, error) {
	var all []string
	for err == nil {
		var m *pb0.StreamResponse
		if m, err = s.Recv(); err == nil {
			all = append(all, shape0(m))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// TestLegacySubscription checks that a subscription of v0.3 ends at the question, and resumes
// by the id of an event.
func TestLegacySubscription(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	pause := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		if yield(state(ec, a2a.TaskStateWorking, "busy"), nil) {
			<-gate
			yield(state(ec, a2a.TaskStateInputRequired, "which?"), nil)
		}
	}}
	h := start(t, grpcbind.Config{}, pause, nil)
	first, err := h.legacy().SendStreamingMessage(t.Context(), textRequest0("x"))
	if err != nil {
		t.Fatal(err)
	}
	begin, err := first.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := first.Recv(); err != nil || shape0(m) != "status:WORKING" {
		t.Fatalf("second event = %v, %v", m, err)
	}
	ask := &pb0.TaskSubscriptionRequest{Name: nameOf(begin.GetTask().GetId())}
	whole, err := h.legacy().TaskSubscription(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := whole.Recv(); err != nil || shape0(m) != "task:WORKING" {
		t.Fatalf("the subscription begins with %v, %v", m, err)
	}
	close(gate)
	got, err := drain0(whole, nil)
	if diff := cmp.Diff([]string{"final:INPUT_REQUIRED"}, got); err != nil || diff != "" {
		t.Errorf("error %v, rest of the subscription mismatch (-want +got):\n%s", err, diff)
	}
	got, err = drain0(h.legacy().TaskSubscription(with(t.Context(), "last-event-id", "1"), ask))
	if diff := cmp.Diff([]string{"status:WORKING", "final:INPUT_REQUIRED"}, got); err != nil || diff != "" {
		t.Errorf("error %v, resumed subscription mismatch (-want +got):\n%s", err, diff)
	}
}

// noting records the dialect of each webhook, by its URL.
type noting struct {
	enginetest.Pusher
	mu       sync.Mutex
	dialects map[string]dialect.Shape
}

func (p *noting) Prepare(c *task.HookRequest) (*task.Hook, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialects[c.URL] = dialect.Shape(c.Dialect)
	return p.Pusher.Prepare(c)
}

// TestLegacyIsRemembered checks that tasks and webhooks remember that they were created in
// v0.3, so that notifications use v0.3.
func TestLegacyIsRemembered(t *testing.T) {
	t.Parallel()
	p := &noting{dialects: map[string]dialect.Shape{}}
	h := start(t, grpcbind.Config{Engine: engine.New(engine.Config{Store: new(memstore.Store), Push: p})}, ask, nil)
	r := textRequest0("x")
	r.Configuration.PushNotification = &pb0.PushNotificationConfig{Url: hookURL + "/inline"}
	id := h.send0(r).GetId()
	config := &pb0.TaskPushNotificationConfig{PushNotificationConfig: &pb0.PushNotificationConfig{Url: hookURL}}
	if _, err := h.legacy().CreateTaskPushNotificationConfig(t.Context(), &pb0.CreateTaskPushNotificationConfigRequest{Parent: nameOf(id), Config: config}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.CreateTaskPushNotificationConfig(t.Context(), &pb.TaskPushNotificationConfig{TaskId: id, Url: hookURL + "/v1"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]dialect.Shape{hookURL + "/inline": dialect.V03Proto, hookURL: dialect.V03Proto, hookURL + "/v1": dialect.V1}
	p.mu.Lock()
	defer p.mu.Unlock()
	if diff := cmp.Diff(want, p.dialects); diff != "" {
		t.Errorf("dialects of the webhooks mismatch (-want +got):\n%s", diff)
	}
	caller := &op.Caller{Principal: &auth.Principal{ID: auth.Local}}
	if got, ok := h.engine.Dialect(t.Context(), caller, a2a.TaskID(id)); !ok || dialect.Shape(got) != dialect.V03Proto {
		t.Errorf("Dialect = %v, %v; want %v", dialect.Shape(got), ok, dialect.V03Proto)
	}
}

// TestLegacyCallersAreKnown checks that identity, limits, keys and extensions are those of the
// service of v1.0.
func TestLegacyCallersAreKnown(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Store: new(memstore.Store), Idempotency: engine.Idempotency{Header: true}})
	h := start(t, grpcbind.Config{Engine: e, Auth: byToken}, words, nil)
	card := &a2a.AgentCard{Name: "extensive"}
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: geoURI, Required: true}}
	if err := e.Register(engine.Agent{Name: "extensive", Card: card, Executor: words}); err != nil {
		t.Fatal(err)
	}
	ann, bob := with(t.Context(), "authorization", "Bearer ann"), with(t.Context(), "authorization", "Bearer bob")
	var ids []string
	for range 2 {
		a, err := h.legacy().SendMessage(with(ann, "idempotency-key", "k"), textRequest0("x"))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.GetTask().GetId())
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the repeated message gets the tasks %q, want one", ids)
	}
	_, foreign := h.legacy().GetTask(bob, &pb0.GetTaskRequest{Name: nameOf(ids[0])})
	_, missing := h.legacy().GetTask(bob, &pb0.GetTaskRequest{Name: "tasks/none"})
	if diff := cmp.Diff(failureOf(t, missing), failureOf(t, foreign)); diff != "" {
		t.Errorf("a foreign task differs from a missing one (-missing +foreign):\n%s", diff)
	}
	if _, err := h.legacy().GetTask(t.Context(), &pb0.GetTaskRequest{Name: nameOf(ids[0])}); failureOf(t, err).Code != codes.Unauthenticated {
		t.Errorf("without credentials GetTask = %v", err)
	}
	var header metadata.MD
	at := with(ann, "a2a-tenant", "extensive")
	_, err := h.legacy().SendMessage(at, textRequest0("x"))
	if f := failureOf(t, err); f.Code != codes.Unimplemented || f.Reason != "EXTENSION_SUPPORT_REQUIRED" {
		t.Errorf("without the extension SendMessage = %+v", f)
	}
	_, err = h.legacy().SendMessage(with(at, "x-a2a-extensions", geoURI), textRequest0("x"), grpc.Header(&header))
	if got := header.Get("x-a2a-extensions"); err != nil || len(got) != 1 || got[0] != geoURI {
		t.Errorf("with the extension: %v, active %q", err, got)
	}
}

func TestLegacyExtendedCard(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "https://hub.example"} {
		h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, grpcbind.Config{PublicURL: url})
		ctx := with(t.Context(), "authorization", "Bearer "+cardToken, "a2a-tenant", "insider")
		got, err := h.legacy().GetAgentCard(ctx, &pb0.GetAgentCardRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		for _, i := range got.GetAdditionalInterfaces() {
			at = append(at, i.GetTransport()+" "+i.GetUrl())
		}
		want := []string{"GRPC hub"}
		if url != "" {
			want = []string{"JSONRPC " + url + "/a2a/insider", "HTTP+JSON " + url + "/a2a/insider", "GRPC hub"}
		}
		if diff := cmp.Diff(want, at); diff != "" || got.GetPreferredTransport()+" "+got.GetUrl() != want[0] {
			t.Errorf("the card prefers %s %s, interfaces mismatch (-want +got):\n%s", got.GetPreferredTransport(), got.GetUrl(), diff)
		}
		if got.GetName() != "insider" || len(got.GetSkills()) != 2 || !got.GetCapabilities().GetStreaming() || got.GetProtocolVersion() != "0.3.0" || !got.GetSupportsAuthenticatedExtendedCard() {
			t.Errorf("card = %v", got)
		}
		scheme := got.GetSecuritySchemes()["extendedCardBearer"].GetHttpAuthSecurityScheme()
		if len(got.GetSecuritySchemes()) != 3 || scheme.GetScheme() != "Bearer" {
			t.Errorf("security schemes = %v", got.GetSecuritySchemes())
		}
		if _, err := h.legacy().GetAgentCard(t.Context(), &pb0.GetAgentCardRequest{}); failureOf(t, err).Code != codes.Unauthenticated {
			t.Errorf("without the token GetAgentCard = %v", err)
		}
	}
}

// everyLegacyCall returns a call of each method of v0.3.
func everyLegacyCall(h *hub) map[string]func(context.Context) error {
	c := h.legacy()
	return map[string]func(context.Context) error{
		"v0.3 SendMessage": func(ctx context.Context) error { _, err := c.SendMessage(ctx, textRequest0("x")); return err },
		"v0.3 SendStreamingMessage": func(ctx context.Context) error {
			_, err := drain0(c.SendStreamingMessage(ctx, textRequest0("x")))
			return err
		},
		"v0.3 GetTask": func(ctx context.Context) error {
			_, err := c.GetTask(ctx, &pb0.GetTaskRequest{Name: "tasks/t"})
			return err
		},
		"v0.3 CancelTask": func(ctx context.Context) error {
			_, err := c.CancelTask(ctx, &pb0.CancelTaskRequest{Name: "tasks/t"})
			return err
		},
		"v0.3 TaskSubscription": func(ctx context.Context) error {
			_, err := drain0(c.TaskSubscription(ctx, &pb0.TaskSubscriptionRequest{Name: "tasks/t"}))
			return err
		},
		"v0.3 CreateTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.CreateTaskPushNotificationConfig(ctx, &pb0.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t"})
			return err
		},
		"v0.3 GetTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.GetTaskPushNotificationConfig(ctx, &pb0.GetTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotificationConfigs/c"})
			return err
		},
		"v0.3 ListTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.ListTaskPushNotificationConfig(ctx, &pb0.ListTaskPushNotificationConfigRequest{Parent: "tasks/t"})
			return err
		},
		"v0.3 DeleteTaskPushNotificationConfig": func(ctx context.Context) error {
			_, err := c.DeleteTaskPushNotificationConfig(ctx, &pb0.DeleteTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotificationConfigs/c"})
			return err
		},
		"v0.3 GetAgentCard": func(ctx context.Context) error {
			_, err := c.GetAgentCard(ctx, &pb0.GetAgentCardRequest{})
			return err
		},
	}
}
