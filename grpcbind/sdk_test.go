package grpcbind_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/grpcbind"
)

// sdkClient returns the SDK's client of the hub.
func (h *hub) sdkClient() *a2aclient.Client {
	h.t.Helper()
	dial := a2aclient.TransportFactoryFn(func(_ context.Context, _ *a2a.AgentCard, _ *a2a.AgentInterface) (a2aclient.Transport, error) {
		return a2agrpc.NewGRPCTransportFromClient(h.client), nil
	})
	c, err := a2aclient.NewFromEndpoints(h.t.Context(),
		[]*a2a.AgentInterface{a2a.NewAgentInterface("hub", a2a.TransportProtocolGRPC)},
		a2aclient.WithTransport(a2a.TransportProtocolGRPC, dial))
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func user(parts ...*a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
}

func TestSDKClient(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, agents{"mirror": mirror, "ask": ask})
	c := h.sdkClient()
	image := a2a.NewRawPart([]byte{0x89, 'P', 'N', 'G', 0, 0xff})
	image.MediaType = "image/png"
	req := user(image)
	req.Tenant = "mirror"
	got, err := c.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := got.(*a2a.Task)
	if !ok || task.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("SendMessage = %v, want a completed task", got)
	}
	if back := task.Artifacts[0].Parts[0]; !bytes.Equal(back.Raw(), image.Raw()) || back.MediaType != "image/png" {
		t.Errorf("the image came back as %v", back)
	}
	again, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if diff := cmp.Diff(task, again); err != nil || diff != "" {
		t.Errorf("GetTask: %v, mismatch with the answer of SendMessage (-want +got):\n%s", err, diff)
	}
	page, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: task.ContextID})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].ID != task.ID || page.TotalSize != 1 {
		t.Errorf("ListTasks = %v, %v; want the task", page, err)
	}
}

func TestSDKClientStreams(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, nil)
	c := h.sdkClient()
	var got []string
	for ev, err := range c.SendStreamingMessage(t.Context(), user(a2a.NewTextPart("one two"))) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case *a2a.Task:
			got = append(got, string(ev.Status.State))
		case *a2a.TaskStatusUpdateEvent:
			got = append(got, string(ev.Status.State))
		case *a2a.TaskArtifactUpdateEvent:
			got = append(got, ev.Artifact.Parts[0].Text())
		}
	}
	want := []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "one ", "two", "TASK_STATE_COMPLETED"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream mismatch (-want +got):\n%s", diff)
	}
}

func TestSDKClientCancelsAndSubscribes(t *testing.T) {
	t.Parallel()
	x := newHolder()
	h := start(t, grpcbind.Config{}, x, nil)
	c := h.sdkClient()
	id := a2a.TaskID(h.begin(x, textRequest("x")).GetId())
	var states []a2a.TaskState
	for ev, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case *a2a.Task:
			states = append(states, ev.Status.State)
			if task, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); err != nil || task.Status.State != a2a.TaskStateCanceled {
				t.Fatalf("CancelTask = %v, %v; want a canceled task", task, err)
			}
		case *a2a.TaskStatusUpdateEvent:
			states = append(states, ev.Status.State)
		}
	}
	if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCanceled}, states); diff != "" {
		t.Errorf("subscription mismatch (-want +got):\n%s", diff)
	}
}

// TestSDKClientErrors checks that the SDK converts the errors back into its own.
func TestSDKClientErrors(t *testing.T) {
	t.Parallel()
	h := start(t, grpcbind.Config{}, words, nil)
	c := h.sdkClient()
	done := a2a.TaskID(h.send(textRequest("x")).GetId())
	size := -1
	for name, tt := range map[string]struct {
		call func() error
		want error
	}{
		"unknown task": {func() error { _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"}); return err }, a2a.ErrTaskNotFound},
		"history": {func() error {
			_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: done, HistoryLength: &size})
			return err
		}, a2a.ErrInvalidParams},
		"cancel": {func() error { _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: done}); return err }, a2a.ErrTaskNotCancelable},
		"finished": {func() error {
			r := user(a2a.NewTextPart("x"))
			r.Message.TaskID = done
			_, err := c.SendMessage(t.Context(), r)
			return err
		}, a2a.ErrUnsupportedOperation},
		"push": {func() error {
			_, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: done, ID: "x"})
			return err
		}, a2a.ErrPushNotificationNotSupported},
		"card": {func() error {
			_, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
			return err
		}, a2a.ErrUnsupportedOperation},
	} {
		if err := tt.call(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}
