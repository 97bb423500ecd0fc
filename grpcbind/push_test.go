package grpcbind_test

import (
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

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
