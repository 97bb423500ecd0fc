package push_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-a2a/parley/push"
)

func ExampleReceiver() {
	webhook := &push.Receiver{
		Token: "per-task-token",
		Handle: func(_ context.Context, n *push.Notification) error {
			if n.Repeated {
				return nil
			}
			fmt.Println(n.TaskID, n.Kind, n.State)
			return nil
		},
	}
	server := httptest.NewServer(webhook)
	defer server.Close()

	body := `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
	r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Notification-Token", "per-task-token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// t1 status TASK_STATE_COMPLETED
	// 204 No Content
}
