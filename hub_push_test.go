package parley_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/push"
)

// TestHubTellsWebhooks checks that a hub that keeps everything in memory notifies webhooks.
func TestHubTellsWebhooks(t *testing.T) {
	t.Parallel()
	states := make(chan string, 10)
	srv := httptest.NewServer(&push.Receiver{
		Authorization: "Bearer abc",
		Handle: func(_ context.Context, n *push.Notification) error {
			states <- string(n.State)
			return nil
		},
	})
	defer srv.Close()
	s := serve(t, withBuiltin(&parley.Hub{Push: push.Options{Allow: []string{"loopback"}}}))
	s.send("/v1/a2a/echo/message:send", "", "hello", fmt.Sprintf(
		`},"configuration":{"taskPushNotificationConfig":{"url":%q,"authentication":{"scheme":"Bearer","credentials":"abc"}}`, srv.URL))
	for _, want := range []string{"TASK_STATE_WORKING", "", "TASK_STATE_COMPLETED"} {
		select {
		case got := <-states:
			if got != want {
				t.Errorf("the webhook was told %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the webhook was not told %q", want)
		}
	}
}

func TestHubWithoutWebhooks(t *testing.T) {
	t.Parallel()
	s := serve(t, withBuiltin(&parley.Hub{Push: push.Options{Off: true}}))
	code, body := s.call("POST", "/v1/a2a/echo/message:send", "",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{"url":"https://a.example/"}}}`)
	if code != 400 {
		t.Errorf("send with a webhook = %d %s, want it refused", code, body)
	}
}
