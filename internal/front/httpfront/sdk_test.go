package httpfront_test

import (
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// TestSDKClientPush checks that the SDK's client creates, reads, lists and deletes push
// notification configs on both bindings, also with a message.
func TestSDKClientPush(t *testing.T) {
	t.Parallel()
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			e := startEngineWith(t, engine.Config{Push: new(enginetest.Pusher)}, everyone()...)
			c := sdkClient(t, startHub(t, httpfront.Config{Engine: e}), "/a2a/ask", binding)
			result, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{
				Message: userText("weather", ""),
				Config:  &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{ID: "inline", URL: "https://hooks.example/1"}},
			})
			asked, ok := result.(*a2a.Task)
			if err != nil || !ok {
				t.Fatalf("SendMessage = %+v, %v", result, err)
			}
			sdkPushes(t, c, asked.ID)
		})
	}
}

func sdkPushes(t *testing.T, c *a2aclient.Client, id a2a.TaskID) {
	t.Helper()
	want := &a2a.PushConfig{TaskID: id, ID: "z", URL: "https://hooks.example/2", Auth: &a2a.PushAuthInfo{Scheme: "Bearer"}}
	got, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{
		TaskID: id, ID: "z", URL: want.URL, Token: "token", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "credentials"},
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("CreateTaskPushConfig: %v, mismatch (-want +got):\n%s", err, diff)
	}
	got, err = c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "z"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("GetTaskPushConfig: %v, mismatch (-want +got):\n%s", err, diff)
	}
	list, err := c.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: id})
	wantList := []*a2a.PushConfig{{TaskID: id, ID: "inline", URL: "https://hooks.example/1"}, want}
	if diff := cmp.Diff(wantList, list); err != nil || diff != "" {
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
	bad := &a2a.PushConfig{TaskID: id, URL: "nonsense"}
	if _, err := c.CreateTaskPushConfig(t.Context(), bad); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("CreateTaskPushConfig with a bad URL = %v, want ErrInvalidParams", err)
	}
}

func sdkClient(t *testing.T, h *hub, path string, binding a2a.TransportProtocol) *a2aclient.Client {
	t.Helper()
	resolver := agentcard.Resolver{Client: h.client}
	card, err := resolver.Resolve(t.Context(), h.url+path)
	if err != nil {
		t.Fatalf("resolve card: %v", err)
	}
	c, err := a2aclient.NewFromCard(t.Context(), card,
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
		a2aclient.WithJSONRPCTransport(h.client), a2aclient.WithRESTTransport(h.client))
	if err != nil {
		t.Fatalf("new client: %v", err)
	}
	return c
}

func userText(text string, task a2a.TaskID) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.TaskID = task
	return m
}
