package browser_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPastNotices opens the page of a task that has ended, whose webhook was notified before: the
// deliveries are between the entries.
func TestPastNotices(t *testing.T) {
	t.Parallel()
	need(t)
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(hook.Close)
	h := start(t, "--config", files(t, map[string]string{"parley.yaml": "push: {allow: [loopback]}\n"}))
	body := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]},"configuration":{"taskPushNotificationConfig":{"id":"h1","url":"` + hook.URL + `"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/v1/a2a/echo/message:send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	var sent struct{ Task struct{ ID string } }
	if _, err := text.ReadFrom(resp.Body); err != nil || json.Unmarshal(text.Bytes(), &sent) != nil || sent.Task.ID == "" {
		t.Fatalf("%d %s %v", resp.StatusCode, &text, err)
	}
	// The last delivery comes after the end of the task.
	for seen := ""; !strings.Contains(seen, `"webhook.delivered"`); {
		seen = h.command(t, "watch", "--url", h.url, "--all", "--after", "first", "--no-follow", "--json", "--kind", "webhook")
	}
	b := open(t, h)
	b.run(chromedp.Navigate(h.url + "/console/task?id=" + sent.Task.ID))
	b.shows("#head .badge", "completed")
	b.shows("#timeline .notice", "webhook delivered")
	b.shows("#timeline .notice", "webhook h1")
	b.shot("task-notices")
}
