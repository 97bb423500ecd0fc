package awaken

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// TestAwakenProfile checks that hubs with the profile answer like Awaken's server where the protocol
// leaves the answer open, and that other hubs do not.
func TestAwakenProfile(t *testing.T) {
	t.Parallel()
	const (
		message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
		ended   = `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"t","parts":[{"text":"hello"}]}}`
	)
	hubs := map[string]*hubtest.Hub{
		"plain":  hubtest.Start(t, hubtest.Options{Config: "bus: {url: \"off\"}\n"}),
		"awaken": hubtest.Start(t, hubtest.Options{Config: "bus: {url: \"off\"}\nprofile: awaken\n"}),
	}
	for name, h := range hubs {
		if got, body := do(t, h, "POST", "/v1/a2a/message:send", ended, ""); got != "200" {
			t.Fatalf("%s hub: %s %s", name, got, body)
		}
	}
	badRole := strings.Replace(message, "ROLE_USER", "ROLE_AGENT", 1)
	for _, tt := range []struct {
		name, method, path, body, header string
		plain, awaken                    string
	}{
		{"card of another version", "GET", "/.well-known/agent-card.json", "", "A2A-Version: 0.9", "200", "400 FAILED_PRECONDITION VERSION_NOT_SUPPORTED"},
		{"bad role", "POST", "/v1/a2a/message:send", badRole, "", "400 INVALID_ARGUMENT INVALID_PARAMS", "400 INVALID_ARGUMENT message.role"},
		{"unknown path", "GET", "/v1/a2a/a/b/c", "", "", "404 NOT_FOUND METHOD_NOT_FOUND", "404 NOT_FOUND METHOD_NOT_FOUND"},
		{"unknown action", "POST", "/v1/a2a/tasks/t:pause", "", "", "405 UNIMPLEMENTED METHOD_NOT_FOUND", "404 NOT_FOUND METHOD_NOT_FOUND"},
		{"body of another type", "POST", "/v1/a2a/message:send", message, "Content-Type: text/plain", "415 INVALID_ARGUMENT CONTENT_TYPE_NOT_SUPPORTED", "400 INVALID_ARGUMENT contentType"},
		{"subscription to an ended task", "POST", "/v1/a2a/tasks/t:subscribe", "", "", "400 FAILED_PRECONDITION UNSUPPORTED_OPERATION", "409 FAILED_PRECONDITION UNSUPPORTED_OPERATION"},
		{"cancel of an ended task", "POST", "/v1/a2a/tasks/t:cancel", "", "", "409 FAILED_PRECONDITION TASK_NOT_CANCELABLE", "409 FAILED_PRECONDITION TASK_NOT_CANCELABLE"},
	} {
		for name, want := range map[string]string{"plain": tt.plain, "awaken": tt.awaken} {
			got, body := do(t, hubs[name], tt.method, tt.path, tt.body, tt.header)
			if got != want {
				t.Errorf("%s, %s hub: %s, want %s: %.300s", tt.name, name, got, want, body)
			}
			if strings.HasPrefix(got, "404") && strings.Contains(body, "allowed") {
				t.Errorf("%s, %s hub: 404 with the text of 405: %.300s", tt.name, name, body)
			}
		}
	}
	_, body := do(t, hubs["awaken"], "GET", "/.well-known/agent-card.json", "", "")
	var card struct {
		SupportedInterfaces []struct{ ProtocolBinding string }
	}
	if err := json.Unmarshal([]byte(body), &card); err != nil || len(card.SupportedInterfaces) == 0 || card.SupportedInterfaces[0].ProtocolBinding != "HTTP+JSON" {
		t.Errorf("%v: the first binding of the card is not HTTP+JSON: %.500s", err, body)
	}
}

// do sends a request and returns the status of the answer with the reason, or the field, that comes
// first in the details of its error.
func do(t *testing.T, h *hubtest.Hub, method, path, body, header string) (got, text string) {
	t.Helper()
	r := hubtest.Request{Method: method, URL: h.URL() + path, Body: body}
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header = []string{name, value}
	}
	answer, err := hubtest.Do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		Error struct {
			Status  string
			Details []struct {
				Reason          string
				FieldViolations []struct{ Field string }
			}
		}
	}
	if answer.StatusCode >= 400 {
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
	}
	detail := ""
	if d := e.Error.Details; len(d) > 0 {
		detail = d[0].Reason
		if v := d[0].FieldViolations; len(v) > 0 {
			detail = v[0].Field
		}
	}
	return strings.Join(strings.Fields(fmt.Sprint(answer.StatusCode, " ", e.Error.Status, " ", detail)), " "), string(b)
}
