package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// statusBus is a bus with a given state of the connection to its broker.
type statusBus struct {
	*bus.Memory
	is *bus.Connection
}

func (b statusBus) Connection() bus.Connection { return *b.is }

// TestStatusOfBus checks that an unreachable broker is reported, and that the hub stays ready.
func TestStatusOfBus(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := new(bus.Memory)
	is := bus.Connection{Up: true, Since: since}
	h := serveOn(t, b, t.TempDir(), func(c *config.Config) {
		c.Agents = []config.Agent{{Name: "greeter", Queue: "Greeter"}}
		c.AllowAnonymous = true // for the caller behind a proxy
		c.OpenBus = func(context.Context) (bus.Bus, error) { return statusBus{b.Peer(), &is}, nil }
	})
	if code, answer := h.call("POST /a2a/greeter", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"you"}]},"configuration":{"returnImmediately":true}}}`, "A2A-Version: 1.0"); code != 200 {
		t.Fatalf("%d %s", code, answer)
	}
	status := func() *adminapi.BusStatus {
		t.Helper()
		code, answer := h.call("GET /api/v1/status", "")
		var s adminapi.Status
		if err := json.Unmarshal([]byte(answer), &s); err != nil || code != 200 || s.Bus == nil || !s.Ready {
			t.Fatalf("%d %s: %v", code, answer, err)
		}
		return s.Bus
	}
	await := func(waiting int) {
		t.Helper()
		for { // the queue changes after the call and the cancel are answered
			if s := status(); len(s.Queues) == 1 && s.Queues[0].Waiting == waiting {
				return
			}
			if t.Context().Err() != nil {
				t.Fatalf("%d messages never wait", waiting)
			}
		}
	}
	await(1)
	want := &adminapi.BusStatus{
		Kind: "test", Connected: true, Since: &since,
		Queues: []adminapi.QueueStatus{{Agent: "greeter", Queue: "Greeter", Waiting: 1}},
	}
	got := status()
	if at := got.Queues[0].Oldest; at == nil || time.Since(*at) > time.Hour {
		t.Errorf("the oldest task waits since %v", at)
	}
	got.Queues[0].Oldest = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	// A task that is canceled, or failed by the operator, does not wait for a worker any more.
	list := struct{ Tasks []struct{ ID string } }{}
	if code, answer := h.call("GET /v1/a2a/tasks", "", "A2A-Version: 1.0"); code != 200 || json.Unmarshal([]byte(answer), &list) != nil || len(list.Tasks) != 1 {
		t.Fatalf("%d %s", code, answer)
	}
	if code, answer := h.call("POST /v1/a2a/tasks/"+list.Tasks[0].ID+":cancel", "", "A2A-Version: 1.0"); code != 200 {
		t.Fatalf("%d %s", code, answer)
	}
	await(0)
	want.Queues[0].Waiting = 0
	if diff := cmp.Diff(want, status()); diff != "" {
		t.Errorf("status after the end of the task (-want +got):\n%s", diff)
	}
	is = bus.Connection{Since: since, Reason: "RabbitMQ is not reachable"}
	want.Connected, want.Reason = false, is.Reason
	if diff := cmp.Diff(want, status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	const detail = "not connected since 2026-01-02T03:04:05Z: RabbitMQ is not reachable; messages for agents at queues wait in the hub"
	if code, answer := h.call("GET /readyz", ""); code != 200 || !strings.Contains(answer, detail) {
		t.Errorf("/readyz = %d %s, want 200 and %q", code, answer, detail)
	}
	// Only administrators see the address of the broker and the queues.
	if _, answer := h.call("GET /api/v1/status", "", "X-Forwarded-For: 192.0.2.1"); strings.Contains(answer, "Greeter") || !strings.Contains(answer, `"bus":{"kind":"test"`) {
		t.Errorf("another caller gets %s", answer)
	}
}
