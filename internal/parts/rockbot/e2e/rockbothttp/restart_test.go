package rockbothttp_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// Tasks and webhooks outlive a hub that is killed, and only their caller can access them.
func TestGatewayRestarts(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: gatewayConfig})
	alice, bob := at(h, "/", alices), at(h, "/", bobs)
	hook := rockbothttp.StartWebhook(t, "secret")
	var id string
	var begun *rockbothttp.StatusUpdate
	for f, err := range alice.Stream(within(t), "SendStreamingMessage", message("wait", "steady", "")) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Event.Task != nil {
			id = f.Event.Task.ID
		}
		if begun = f.Event.StatusUpdate; begun != nil {
			id = begun.TaskID
			break
		}
	}
	config := `{"taskId":"` + id + `","id":"c","url":"` + hook.URL + `","token":"secret"}`
	if _, err := alice.Call(within(t), "CreateTaskPushNotificationConfig", config); err != nil {
		t.Fatal(err)
	}
	h.Restart()
	t.Run("C11", func(t *testing.T) {
		p, err := alice.List(within(t), `{}`)
		if err != nil || len(p.Tasks) != 1 || p.Tasks[0].ID != id {
			t.Errorf("after the restart there are %+v, %v", p, err)
		}
		if p, err := bob.List(within(t), `{}`); err != nil || len(p.Tasks) != 0 {
			t.Errorf("another caller sees %+v, %v", p, err)
		}
		for method, params := range map[string]string{
			"GetTask": `{"id":"` + id + `"}`, "CancelTask": `{"id":"` + id + `"}`, "SubscribeToTask": `{"id":"` + id + `"}`,
			"GetTaskPushNotificationConfig":    `{"taskId":"` + id + `","id":"c"}`,
			"CreateTaskPushNotificationConfig": config, "ListTaskPushNotificationConfig": `{"taskId":"` + id + `"}`,
		} {
			var refused *rockbothttp.Error
			if _, err := bob.Call(within(t), method, params); !errors.As(err, &refused) || refused.Code != -32001 {
				t.Errorf("%s by another caller: %v", method, err)
			}
		}
	})
	// Events of the continuing task, through the stream and the webhook.
	stream := make(chan []string, 1)
	go func() {
		var raw []string
		defer func() { stream <- raw }()
		for f, err := range alice.Stream(within(t), "SubscribeToTask", `{"id":"`+id+`"}`) {
			if err != nil {
				t.Error(err)
				return
			}
			if f.Event.StatusUpdate != nil {
				raw = append(raw, string(f.Raw))
			}
			if len(raw) == 0 { // the task itself: the reader is connected
				if err := os.WriteFile(filepath.Join(h.Dir(), "go"), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	var states, last []string
	for end := false; !end; {
		f := next(t, hook)
		if s := f.Event.StatusUpdate; s != nil {
			states = append(states, s.Status.State)
			end = s.Status.State == "completed"
			last = []string{string(f.Raw)}
		}
	}
	t.Run("C13", func(t *testing.T) {
		if states[len(states)-1] != "completed" || len(states) < 2 || states[0] != "working" {
			t.Errorf("the webhook was notified of %q, want working and then completed", states)
		}
	})
	seen := <-stream
	t.Run("C14", func(t *testing.T) {
		if len(seen) == 0 {
			t.Fatal("the stream had no status")
		}
		if diff := cmp.Diff(seen[len(seen)-1:], last); diff != "" {
			t.Errorf("the webhook's body is not that of the stream (-stream +webhook):\n%s", diff)
		}
	})
}

// A hub with one key and no other settings is sufficient for calls without a message.
func TestPlainKey(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef"
	h := hubtest.Start(t, hubtest.Options{Config: "auth: {api_keys: {" + key + ": {agent_id: rb}}}\n"})
	caller := at(h, "/", key)
	if p, err := caller.List(within(t), `{}`); err != nil || len(p.Tasks) != 0 || p.PageSize != 20 {
		t.Errorf("ListTasks: %+v, %v", p, err)
	}
	if raw, err := caller.Call(within(t), "GetExtendedAgentCard", `{}`); err != nil {
		t.Errorf("GetExtendedAgentCard: %s, %v", raw, err)
	}
	var refused *rockbothttp.Error
	if _, err := at(h, "/a2a", key).Call(within(t), "ListTasks", `{}`); !errors.As(err, &refused) || refused.Code != -32009 {
		t.Errorf("ListTasks of v1.0 without a version: %v", err)
	}
}
