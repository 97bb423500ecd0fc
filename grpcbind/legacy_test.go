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

func TestLegacySendMessage(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, ask, agents{"brief": brief})
	r := textRequest0("begin")
	r.Request.ContextId = "ctx: 1/ä"
	first := h.send0(r)
	if first.GetStatus().GetState() != pb0.TaskState_TASK_STATE_INPUT_REQUIRED || first.GetContextId() != "ctx: 1/ä" {
		t.Fatalf("SendMessage = %v, want a task that asks", first)
	}
	question := first.GetStatus().GetUpdate()
	if question.GetRole() != pb0.Role_ROLE_AGENT || question.GetParts()[0].GetText() != "which?" || !first.GetStatus().GetTimestamp().IsValid() {
		t.Errorf("status = %v, want the question of the agent", first.GetStatus())
	}
	next := textRequest0("seven")
	next.Request.TaskId = first.GetId()
	second := h.send0(next)
	if got := second.GetStatus(); got.GetState() != pb0.TaskState_TASK_STATE_COMPLETED || got.GetUpdate().GetParts()[0].GetText() != "thanks for seven" {
		t.Errorf("the answer gets %v", second)
	}
	for n, want := range map[int32]int{0: 3, 1: 1, 100: 3} {
		got, err := h.legacy().GetTask(t.Context(), &pb0.GetTaskRequest{Name: nameOf(first.GetId()), HistoryLength: n})
		if err != nil || len(got.GetHistory()) != want || got.GetId() != first.GetId() {
			t.Errorf("GetTask with historyLength %d = %v, %v; want %d messages", n, got, err, want)
		}
	}
	message, err := h.legacy().SendMessage(with(t.Context(), "a2a-tenant", "brief"), textRequest0("x"))
	if m := message.GetMsg(); err != nil || m.GetParts()[0].GetText() != "hi" || m.GetRole() != pb0.Role_ROLE_AGENT || m.GetTaskId() != "" {
		t.Errorf("SendMessage = %v, %v; want the message of the agent brief", message, err)
	}
}

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

func TestLegacyStreams(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, agents{"brief": brief, "ask": ask})
	s, err := h.legacy().SendStreamingMessage(t.Context(), textRequest0("one two"))
	got, err := drain0(s, err)
	want := []string{"task:SUBMITTED", "status:WORKING", "artifact:one ", "artifact:two", "final:COMPLETED"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, stream mismatch (-want +got):\n%s", err, diff)
	}
	if id := s.Trailer().Get("last-event-id"); len(id) != 1 || id[0] != "5" {
		t.Errorf("trailer last-event-id = %q, want 5", id)
	}
	for agent, want := range map[string][]string{
		"brief": {"message:hi"}, "ask": {"task:SUBMITTED", "final:INPUT_REQUIRED"},
	} {
		s, err := h.legacy().SendStreamingMessage(with(t.Context(), "a2a-tenant", agent), textRequest0("x"))
		got, err := drain0(s, err)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, stream mismatch (-want +got):\n%s", agent, err, diff)
		}
	}
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

// TestLegacyBadInput checks that errors of bad input use the field names of the message, and
// that nothing is stored.
func TestLegacyBadInput(t *testing.T) {
	t.Parallel()
	h := start(t, pushing(grpcbind.Config{}), words, nil)
	c, ctx := h.legacy(), t.Context()
	id := h.send0(textRequest0("x")).GetId()
	send := func(change func(*pb0.SendMessageRequest)) error {
		r := textRequest0("bad")
		change(r)
		_, err := c.SendMessage(ctx, r)
		return err
	}
	push := func(r *pb0.CreateTaskPushNotificationConfigRequest) error {
		_, err := c.CreateTaskPushNotificationConfig(ctx, r)
		return err
	}
	hook := func(c *pb0.PushNotificationConfig) *pb0.TaskPushNotificationConfig {
		return &pb0.TaskPushNotificationConfig{PushNotificationConfig: c}
	}
	_, noName := c.GetTask(ctx, &pb0.GetTaskRequest{})
	_, noTask := c.GetTask(ctx, &pb0.GetTaskRequest{Name: id})
	_, negative := c.GetTask(ctx, &pb0.GetTaskRequest{Name: nameOf(id), HistoryLength: -1})
	_, cancel := c.CancelTask(ctx, &pb0.CancelTaskRequest{Name: "tasks/"})
	_, get := c.GetTaskPushNotificationConfig(ctx, &pb0.GetTaskPushNotificationConfigRequest{Name: nameOf(id)})
	_, del := c.DeleteTaskPushNotificationConfig(ctx, &pb0.DeleteTaskPushNotificationConfigRequest{Name: nameOf(id) + "/pushNotificationConfigs/"})
	_, list := c.ListTaskPushNotificationConfig(ctx, &pb0.ListTaskPushNotificationConfigRequest{})
	_, token := c.ListTaskPushNotificationConfig(ctx, &pb0.ListTaskPushNotificationConfigRequest{Parent: nameOf(id), PageToken: "?"})
	_, tenants := c.GetTask(with(ctx, "a2a-tenant", "a", "a2a-tenant", "b"), &pb0.GetTaskRequest{Name: nameOf(id)})
	_, createForTwo := c.CreateTaskPushNotificationConfig(with(ctx, "a2a-tenant", "a", "a2a-tenant", "b"), &pb0.CreateTaskPushNotificationConfigRequest{Parent: nameOf(id)})
	_, subscribe := drain0(c.TaskSubscription(ctx, &pb0.TaskSubscriptionRequest{Name: "task/1"}))
	for _, tt := range []struct {
		field string
		err   error
	}{
		{"name", noName},
		{"name", noTask},
		{"historyLength", negative},
		{"name", cancel},
		{"name", get},
		{"name", del},
		{"parent", list},
		{"pageToken", token},
		{"a2a-tenant", tenants},
		{"a2a-tenant", createForTwo},
		{"name", subscribe},
		{"message", send(func(r *pb0.SendMessageRequest) { r.Request = nil })},
		{"message.content", send(func(r *pb0.SendMessageRequest) { r.Request.Parts = nil })},
		{"message.content[0]", send(func(r *pb0.SendMessageRequest) { r.Request.Parts[0].Part = nil })},
		{"message.role", send(func(r *pb0.SendMessageRequest) { r.Request.Role = pb0.Role_ROLE_AGENT })},
		{"message.role", send(func(r *pb0.SendMessageRequest) { r.Request.Role = pb0.Role_ROLE_UNSPECIFIED })},
		{"configuration.historyLength", send(func(r *pb0.SendMessageRequest) { r.Configuration.HistoryLength = -1 })},
		{"configuration.pushNotification.url", send(func(r *pb0.SendMessageRequest) {
			r.Configuration.PushNotification = &pb0.PushNotificationConfig{Url: "nowhere"}
		})},
		{"parent", push(&pb0.CreateTaskPushNotificationConfigRequest{Config: hook(&pb0.PushNotificationConfig{Url: hookURL})})},
		{"config.pushNotificationConfig.url", push(&pb0.CreateTaskPushNotificationConfigRequest{Parent: nameOf(id)})},
		{"config.pushNotificationConfig.url", push(&pb0.CreateTaskPushNotificationConfigRequest{Parent: nameOf(id), Config: hook(&pb0.PushNotificationConfig{Url: "nowhere"})})},
	} {
		want := failure{Code: codes.InvalidArgument, Reason: "INVALID_PARAMS", Fields: []string{tt.field}}
		if diff := cmp.Diff(want, failureOf(t, tt.err)); diff != "" {
			t.Errorf("%v: mismatch (-want +got):\n%s", tt.err, diff)
		}
	}
	page, err := h.client.ListTasks(ctx, &pb.ListTasksRequest{})
	if err != nil || len(page.GetTasks()) != 1 || len(page.GetTasks()[0].GetHistory()) > 1 {
		t.Errorf("after bad input there is %v, %v; want one task as it was", page, err)
	}
	configs, err := c.ListTaskPushNotificationConfig(ctx, &pb0.ListTaskPushNotificationConfigRequest{Parent: nameOf(id)})
	if err != nil || len(configs.GetConfigs()) != 0 {
		t.Errorf("after bad input there are the configs %v, %v", configs, err)
	}
}

// TestLegacyStatuses checks the statuses that clients of v0.3 expect: NOT_FOUND is a missing
// task, FAILED_PRECONDITION one that cannot be canceled, UNIMPLEMENTED any other unsupported
// operation.
func TestLegacyStatuses(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, agents{"extended": words})
	c, ctx := h.legacy(), t.Context()
	id := h.send0(textRequest0("x")).GetId()
	_, missing := c.GetTask(ctx, &pb0.GetTaskRequest{Name: "tasks/none"})
	_, agent := c.SendMessage(with(ctx, "a2a-tenant", "unknown"), textRequest0("x"))
	_, cancel := c.CancelTask(ctx, &pb0.CancelTaskRequest{Name: nameOf(id)})
	_, ended := drain0(c.TaskSubscription(ctx, &pb0.TaskSubscriptionRequest{Name: nameOf(id)}))
	_, push := c.ListTaskPushNotificationConfig(ctx, &pb0.ListTaskPushNotificationConfigRequest{Parent: nameOf(id)})
	_, version := c.GetTask(with(ctx, "a2a-version", "1.0"), &pb0.GetTaskRequest{Name: nameOf(id)})
	_, undeclared := c.GetAgentCard(ctx, &pb0.GetAgentCardRequest{})
	_, unmade := c.GetAgentCard(with(ctx, "a2a-tenant", "extended"), &pb0.GetAgentCardRequest{})
	_, patch := c.GetTask(with(ctx, "a2a-version", "0.3.0"), &pb0.GetTaskRequest{Name: nameOf(id)})
	if patch != nil {
		t.Errorf("version 0.3.0 is refused: %v", patch)
	}
	for _, tt := range []struct {
		err    error
		code   codes.Code
		reason string
	}{
		{missing, codes.NotFound, "TASK_NOT_FOUND"},
		{agent, codes.NotFound, "TASK_NOT_FOUND"},
		{cancel, codes.FailedPrecondition, "TASK_NOT_CANCELABLE"},
		{ended, codes.Unimplemented, "UNSUPPORTED_OPERATION"},
		{push, codes.Unimplemented, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{version, codes.Unimplemented, "VERSION_NOT_SUPPORTED"},
		{undeclared, codes.Unimplemented, "UNSUPPORTED_OPERATION"},
		{unmade, codes.NotFound, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	} {
		if got := failureOf(t, tt.err); got.Code != tt.code || got.Reason != tt.reason {
			t.Errorf("%v = %+v, want %v %s", tt.err, got, tt.code, tt.reason)
		}
	}
	if _, err := c.ListTasks(ctx, &pb0.ListTasksRequest{}); err == nil || failureOf(t, err).Code != codes.Unimplemented {
		t.Errorf("ListTasks = %v, want UNIMPLEMENTED", err)
	}
}

func TestLegacyPushConfigs(t *testing.T) {
	t.Parallel()
	h := start(t, pushing(grpcbind.Config{}), ask, nil)
	c, ctx := h.legacy(), t.Context()
	r := textRequest0("x")
	r.Configuration.PushNotification = &pb0.PushNotificationConfig{
		Id: "inline", Url: hookURL, Token: "token",
		Authentication: &pb0.AuthenticationInfo{Schemes: []string{"Basic"}, Credentials: "credentials"},
	}
	id := h.send0(r).GetId()
	named := func(config *pb0.PushNotificationConfig) *pb0.TaskPushNotificationConfig {
		return &pb0.TaskPushNotificationConfig{
			Name: nameOf(id) + "/pushNotificationConfigs/" + config.GetId(), PushNotificationConfig: config,
		}
	}
	// Secrets are accepted and never returned.
	inline := named(&pb0.PushNotificationConfig{Id: "inline", Url: hookURL, Authentication: &pb0.AuthenticationInfo{Schemes: []string{"Basic"}}})
	want := named(&pb0.PushNotificationConfig{Id: "z/1", Url: hookURL})
	made, err := c.CreateTaskPushNotificationConfig(ctx, &pb0.CreateTaskPushNotificationConfigRequest{
		Parent: nameOf(id), ConfigId: "z/1", Config: named(&pb0.PushNotificationConfig{Url: hookURL, Token: "token"}),
	})
	if diff := cmp.Diff(want, made, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("create: %v, mismatch (-want +got):\n%s", err, diff)
	}
	got, err := c.GetTaskPushNotificationConfig(ctx, &pb0.GetTaskPushNotificationConfigRequest{Name: want.GetName()})
	if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("get: %v, mismatch (-want +got):\n%s", err, diff)
	}
	var all []*pb0.TaskPushNotificationConfig
	for page := (&pb0.ListTaskPushNotificationConfigRequest{Parent: nameOf(id), PageSize: 1}); ; {
		got, err := c.ListTaskPushNotificationConfig(ctx, page)
		if err != nil || len(got.GetConfigs()) != 1 {
			t.Fatalf("list: %v, %v; want a page of one", got, err)
		}
		all = append(all, got.GetConfigs()...)
		if page.PageToken = got.GetNextPageToken(); page.PageToken == "" {
			break
		}
	}
	if diff := cmp.Diff([]*pb0.TaskPushNotificationConfig{inline, want}, all, protocmp.Transform()); diff != "" {
		t.Errorf("list mismatch (-want +got):\n%s", diff)
	}
	for range 2 {
		if _, err := c.DeleteTaskPushNotificationConfig(ctx, &pb0.DeleteTaskPushNotificationConfigRequest{Name: want.GetName()}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	_, err = c.GetTaskPushNotificationConfig(ctx, &pb0.GetTaskPushNotificationConfigRequest{Name: want.GetName()})
	if f := failureOf(t, err); f.Code != codes.NotFound || f.Reason != "TASK_NOT_FOUND" {
		t.Errorf("get of a deleted config: %+v, want NOT_FOUND", f)
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
