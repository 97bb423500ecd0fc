package mock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/testing/mocktest"
)

// A further binding gets replacements for answers that only HTTP can carry.
func TestRequestHandler(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, `
a2a_agents:
  - name: a
    responses:
      - {match: {equals: garbage}, fault: garbage}
      - {match: {equals: http}, http: 502}
      - {match: {equals: hang}, fault: hang}
      - {match: {equals: mid}, steps: [{say: one}, {fault: truncated}, {say: two}]}
      - {match: {equals: close}, steps: [{say: one}, {fault: close}, {say: two}]}
      - {match: {equals: ask}, steps: [{ask: what}, {complete: thanks}]}
      - {match: {equals: message}, message: hi}
      - {match: {equals: wait}, steps: [{wait: 24h}]}
    operations:
      CancelTask: {times: 1, protocol_error: Unavailable}
`)
	h := s.RequestHandler("a")
	for _, text := range []string{"garbage", "http", "mid", "close"} {
		if r, err := h.SendMessage(t.Context(), request(text, "")); err == nil {
			t.Errorf("SendMessage(%s) = %+v, want an error", text, r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"hang", "wait"} {
		if r, err := h.SendMessage(ctx, request(text, "")); !errors.Is(err, context.Canceled) {
			t.Errorf("SendMessage(%s) = %+v, %v, want the context's error", text, r, err)
		}
	}
	for text, want := range map[string]bool{"mid": true, "close": false, "garbage": true, "ask": false, "message": false} {
		var failed error
		for _, err := range h.SendStreamingMessage(t.Context(), request(text, "")) {
			failed = err
		}
		if (failed != nil) != want {
			t.Errorf("SendStreamingMessage(%s) ends with %v, want an error to be %v", text, failed, want)
		}
	}
	for _, err := range h.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "mock-task-1"}) {
		if !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("SubscribeToTask of a finished task: %v", err)
		}
	}
	r, err := h.SendMessage(t.Context(), request("ask", ""))
	if err != nil {
		t.Fatal(err)
	}
	testSubscription(t, s, r.(*a2a.Task).ID)
}

// testSubscription cancels a task while a client follows it.
func testSubscription(t *testing.T, s *mocktest.Server, id a2a.TaskID) {
	t.Helper()
	h := s.RequestHandler("")
	var last a2a.TaskState
	for e, err := range h.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok {
			last = u.Status.State
			continue
		}
		if _, err := h.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); err == nil {
			t.Error("the first CancelTask: no error")
		}
		if _, err := h.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); err != nil {
			t.Errorf("the second CancelTask: %v", err)
		}
	}
	if last != a2a.TaskStateCanceled {
		t.Errorf("the subscription ends with %q, want canceled", last)
	}
	if n := len(s.Calls("SubscribeToTask")); n != 2 {
		t.Errorf("%d calls of SubscribeToTask recorded, want 2", n)
	}
}

func TestRequestHandlerLacksThese(t *testing.T) {
	t.Parallel()
	h := mocktest.Start(t, "a2a_agents: [{name: a, card: {capabilities: {streaming: false}}, responses: [{response: ok}]}]").RequestHandler("")
	ctx := t.Context()
	_, err1 := h.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{})
	_, err2 := h.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{})
	_, err3 := h.CreateTaskPushConfig(ctx, &a2a.PushConfig{})
	err4 := h.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{})
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
			t.Errorf("push call %d: %v, want %v", i, err, a2a.ErrPushNotificationNotSupported)
		}
	}
	if _, err := h.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("GetExtendedAgentCard() = %v, want %v", err, a2a.ErrUnsupportedOperation)
	}
	for _, err := range h.SendStreamingMessage(ctx, request("x", "")) {
		if !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("SendStreamingMessage() = %v, want %v", err, a2a.ErrUnsupportedOperation)
		}
	}
}
