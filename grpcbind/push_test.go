package grpcbind_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

const hookURL = "https://hooks.example/a"

// pushing returns a config whose hub sends push notifications.
func pushing(cfg grpcbind.Config) grpcbind.Config {
	cfg.Engine = engine.New(engine.Config{Store: new(memstore.Store), Push: new(enginetest.Pusher)})
	return cfg
}

func TestPushConfigs(t *testing.T) {
	t.Parallel()
	h := start(t, pushing(grpcbind.Config{}), words, agents{"ask": ask})
	r := to("ask", textRequest("x"))
	r.Configuration = &pb.SendMessageConfiguration{TaskPushNotificationConfig: &pb.TaskPushNotificationConfig{
		Tenant: "ask", Id: "inline", Url: hookURL, Token: "token",
		Authentication: &pb.AuthenticationInfo{Scheme: "Basic", Credentials: "credentials"},
	}}
	id := h.send(r).GetId()
	inline := &pb.TaskPushNotificationConfig{TaskId: id, Id: "inline", Url: hookURL, Authentication: &pb.AuthenticationInfo{Scheme: "Basic"}}
	want := &pb.TaskPushNotificationConfig{TaskId: id, Id: "z", Url: hookURL}
	got, err := h.client.CreateTaskPushNotificationConfig(t.Context(),
		&pb.TaskPushNotificationConfig{Tenant: "ask", TaskId: id, Id: "z", Url: hookURL, Token: "token"})
	if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("create: %v, mismatch (-want +got):\n%s", err, diff)
	}
	got, err = h.client.GetTaskPushNotificationConfig(t.Context(), &pb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: "inline"})
	if diff := cmp.Diff(inline, got, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("get: %v, mismatch (-want +got):\n%s", err, diff)
	}
	var all []*pb.TaskPushNotificationConfig
	for page := (&pb.ListTaskPushNotificationConfigsRequest{TaskId: id, PageSize: 1}); ; {
		got, err := h.client.ListTaskPushNotificationConfigs(t.Context(), page)
		if err != nil || len(got.GetConfigs()) != 1 {
			t.Fatalf("list: %v, %v; want a page of one", got, err)
		}
		all = append(all, got.GetConfigs()...)
		if page.PageToken = got.GetNextPageToken(); page.PageToken == "" {
			break
		}
	}
	if diff := cmp.Diff([]*pb.TaskPushNotificationConfig{inline, want}, all, protocmp.Transform()); diff != "" {
		t.Errorf("list mismatch (-want +got):\n%s", diff)
	}
	for range 2 {
		if _, err := h.client.DeleteTaskPushNotificationConfig(t.Context(), &pb.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: "z"}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	_, err = h.client.GetTaskPushNotificationConfig(t.Context(), &pb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: "z"})
	if f := failureOf(t, err); f.Code != codes.NotFound || f.Reason != "TASK_NOT_FOUND" {
		t.Errorf("get of a deleted config: %+v, want NOT_FOUND", f)
	}
}

// pushCalls makes the four calls about the task with this id, for an agent, and returns their
// errors.
func (h *hub) pushCalls(ctx context.Context, tenant, id string) map[string]error {
	_, create := h.client.CreateTaskPushNotificationConfig(ctx, &pb.TaskPushNotificationConfig{Tenant: tenant, TaskId: id, Id: "a", Url: hookURL})
	_, get := h.client.GetTaskPushNotificationConfig(ctx, &pb.GetTaskPushNotificationConfigRequest{Tenant: tenant, TaskId: id, Id: "a"})
	_, list := h.client.ListTaskPushNotificationConfigs(ctx, &pb.ListTaskPushNotificationConfigsRequest{Tenant: tenant, TaskId: id})
	_, del := h.client.DeleteTaskPushNotificationConfig(ctx, &pb.DeleteTaskPushNotificationConfigRequest{Tenant: tenant, TaskId: id, Id: "a"})
	return map[string]error{"create": create, "get": get, "list": list, "delete": del}
}

// TestPushConfigsOfOthers checks that configs of another caller or another agent give the same
// error as missing ones.
func TestPushConfigsOfOthers(t *testing.T) {
	t.Parallel()
	h := start(t, pushing(grpcbind.Config{Auth: byToken}), words, agents{"ask": ask})
	ann, bob := with(t.Context(), "authorization", "Bearer ann"), with(t.Context(), "authorization", "Bearer bob")
	sent, err := h.client.SendMessage(ann, textRequest("x"))
	if err != nil {
		t.Fatal(err)
	}
	id := sent.GetTask().GetId()
	if _, err := h.client.CreateTaskPushNotificationConfig(ann, &pb.TaskPushNotificationConfig{TaskId: id, Id: "a", Url: hookURL}); err != nil {
		t.Fatal(err)
	}
	missing := h.pushCalls(ann, "", "none")
	for name, got := range map[string]map[string]error{
		"another caller": h.pushCalls(bob, "", id),
		"another agent":  h.pushCalls(ann, "ask", id),
	} {
		for call, err := range got {
			st, want := status.Convert(err).Proto(), status.Convert(missing[call]).Proto()
			if diff := cmp.Diff(want, st, protocmp.Transform()); diff != "" || st.GetCode() != int32(codes.NotFound) {
				t.Errorf("%s, %s: mismatch with a missing task (-missing +got):\n%s", name, call, diff)
			}
		}
	}
	if got, err := h.client.ListTaskPushNotificationConfigs(ann, &pb.ListTaskPushNotificationConfigsRequest{TaskId: id}); err != nil || len(got.GetConfigs()) != 1 {
		t.Errorf("after foreign calls: %v, %v; want the one config", got, err)
	}
}

func TestPushErrors(t *testing.T) {
	t.Parallel()
	h := start(t, pushing(grpcbind.Config{}), words, nil)
	id := h.send(textRequest("x")).GetId()
	create := func(c *pb.TaskPushNotificationConfig) error {
		_, err := h.client.CreateTaskPushNotificationConfig(t.Context(), c)
		return err
	}
	for i := range engine.MaxPushConfigs {
		if err := create(&pb.TaskPushNotificationConfig{TaskId: id, Id: fmt.Sprint(i), Url: hookURL}); err != nil {
			t.Fatalf("config %d: %v", i, err)
		}
	}
	_, sent := h.client.SendMessage(t.Context(), &pb.SendMessageRequest{
		Message:       textRequest("y").GetMessage(),
		Configuration: &pb.SendMessageConfiguration{TaskPushNotificationConfig: &pb.TaskPushNotificationConfig{Url: "nonsense"}},
	})
	_, listed := h.client.ListTaskPushNotificationConfigs(t.Context(), &pb.ListTaskPushNotificationConfigsRequest{TaskId: id, PageToken: "x"})
	_, negative := h.client.ListTaskPushNotificationConfigs(t.Context(), &pb.ListTaskPushNotificationConfigsRequest{TaskId: id, PageSize: -1})
	invalid := func(field string) failure {
		return failure{Code: codes.InvalidArgument, Reason: "INVALID_PARAMS", Fields: []string{field}}
	}
	for name, tt := range map[string]struct {
		err  error
		want failure
	}{
		"one too many":   {create(&pb.TaskPushNotificationConfig{TaskId: id, Url: hookURL}), failure{Code: codes.ResourceExhausted, Reason: "RESOURCE_EXHAUSTED"}},
		"no task":        {create(&pb.TaskPushNotificationConfig{Url: hookURL}), invalid("taskId")},
		"no url":         {create(&pb.TaskPushNotificationConfig{TaskId: id}), invalid("url")},
		"bad url":        {create(&pb.TaskPushNotificationConfig{TaskId: id, Url: "nonsense"}), invalid("url")},
		"no scheme":      {create(&pb.TaskPushNotificationConfig{TaskId: id, Url: hookURL, Authentication: &pb.AuthenticationInfo{}}), invalid("authentication.scheme")},
		"huge id":        {create(&pb.TaskPushNotificationConfig{TaskId: id, Id: strings.Repeat("x", 1<<20), Url: hookURL}), invalid("id")},
		"inline":         {sent, invalid("configuration.taskPushNotificationConfig.url")},
		"foreign token":  {listed, invalid("pageToken")},
		"negative pages": {negative, invalid("pageSize")},
	} {
		if diff := cmp.Diff(tt.want, failureOf(t, tt.err), cmpopts.IgnoreFields(failure{}, "Meta")); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
		}
	}
}

// TestSDKClientPush checks that the SDK's client creates, reads, lists and deletes configs.
func TestSDKClientPush(t *testing.T) {
	t.Parallel()
	h := start(t, pushing(grpcbind.Config{}), words, nil)
	c := h.sdkClient()
	req := user(a2a.NewTextPart("x"))
	req.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{ID: "inline", URL: hookURL}}
	sent, err := c.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	id := sent.(*a2a.Task).ID
	want := &a2a.PushConfig{TaskID: id, ID: "z", URL: hookURL, Auth: &a2a.PushAuthInfo{Scheme: "Bearer"}}
	made, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{
		TaskID: id, ID: "z", URL: hookURL, Token: "token", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "credentials"},
	})
	if diff := cmp.Diff(want, made); err != nil || diff != "" {
		t.Errorf("CreateTaskPushConfig: %v, mismatch (-want +got):\n%s", err, diff)
	}
	got, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "z"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("GetTaskPushConfig: %v, mismatch (-want +got):\n%s", err, diff)
	}
	list, err := c.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: id})
	if diff := cmp.Diff([]*a2a.PushConfig{{TaskID: id, ID: "inline", URL: hookURL}, want}, list); err != nil || diff != "" {
		t.Errorf("ListTaskPushConfigs: %v, mismatch (-want +got):\n%s", err, diff)
	}
	for range 2 {
		if err := c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigRequest{TaskID: id, ID: "z"}); err != nil {
			t.Errorf("DeleteTaskPushConfig = %v", err)
		}
	}
	if _, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "z"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("GetTaskPushConfig of a deleted one = %v, want ErrTaskNotFound", err)
	}
}
