package interop

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// TestRestart stops the hub while clients are connected. Readers are disconnected at once, and
// after the start all tasks are unchanged and continue.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, binding := range []a2a.TransportProtocol{
		a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC,
	} {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			data := t.TempDir()
			hub, stop := startHubIn(t, data)
			c := &caller{TB: t, client: newGoClient(t, hub, binding), ctx: ctx}
			done := c.send("echo", textMessage("to be kept"))
			asked := c.send("interview", textMessage("ask 1"))
			watch(c, asked.ID, stop)

			hub, _ = startHubIn(t, data)
			c.client = newGoClient(t, hub, binding)
			if diff := cmp.Diff(done, c.get("echo", done.ID)); diff != "" {
				t.Errorf("the finished task has changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(asked, c.get("interview", asked.ID)); diff != "" {
				t.Errorf("the open task has changed (-before +after):\n%s", diff)
			}
			c.wantState(c.send("interview", follow(asked.ID, "Ada")), "COMPLETED")
		})
	}
}

// watch subscribes to a task that makes no progress, stops the hub, and returns when the
// subscription has ended.
func watch(c *caller, id string, stop func()) {
	c.Helper()
	for b, err := range c.client.stream(c.ctx, call{Op: "subscribe", Agent: "interview", Params: obj{"id": id}}) {
		var r *refusal
		switch {
		case err == nil && decode[event](c, b).Task != nil:
			stop()
		case err == nil:
			c.Errorf("unexpected event %s", b)
		case !errors.As(err, &r) || c.ctx.Err() != nil:
			c.Errorf("the subscription ends with %v", err)
		}
	}
}
