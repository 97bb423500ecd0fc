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

// TestHubTellsLegacyWebhooks checks that a webhook that was registered in v0.3 receives the
// task in v0.3, on either binding.
func TestHubTellsLegacyWebhooks(t *testing.T) {
	t.Parallel()
	calls := map[string]string{
		"/a2a/echo": `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user",` +
			`"parts":[{"kind":"text","text":"hello"}]},"configuration":{"blocking":true,"pushNotificationConfig":{"url":%q,"token":"secret"}}}}`,
		"/v1/message:send": `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hello"}]},` +
			`"configuration":{"blocking":true,"pushNotification":{"url":%q,"token":"secret"}}}`,
	}
	for path, body := range calls {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			received := make(chan push.Notification, 10)
			srv := httptest.NewServer(&push.Receiver{
				Token: "secret",
				Handle: func(_ context.Context, n *push.Notification) error {
					received <- *n
					return nil
				},
			})
			defer srv.Close()
			s := serve(t, withBuiltin(&parley.Hub{Push: push.Options{Allow: []string{"loopback"}}}))
			if code, answer := s.call("POST", path, "", fmt.Sprintf(body, srv.URL)); code != 200 {
				t.Fatalf("send = %d %s", code, answer)
			}
			// The webhook receives the one chunk of the answer as a working task.
			for _, want := range []string{"TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"} {
				select {
				case n := <-received:
					if n.Kind != push.KindTask || string(n.State) != want || !n.Old {
						t.Errorf("the webhook was told %v %q (old %v), want the task of v0.3 in state %q", n.Kind, n.State, n.Old, want)
					}
				case <-time.After(time.Minute):
					t.Fatalf("the webhook was not told %q", want)
				}
			}
		})
	}
}
