package httpfront_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// firstDetail returns the status of an answer with the reason, or the field, that comes first
// in the details of its error.
func firstDetail(t *testing.T, a *answer) string {
	t.Helper()
	var body struct {
		Error struct {
			Status  string
			Details []struct {
				Reason          string
				FieldViolations []struct{ Field string }
			}
		}
	}
	if a.code >= 400 {
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(err)
		}
	}
	detail := ""
	if d := body.Error.Details; len(d) > 0 {
		detail = d[0].Reason
		if v := d[0].FieldViolations; len(v) > 0 {
			detail = v[0].Field
		}
	}
	return strings.Join(strings.Fields(fmt.Sprint(a.code, " ", body.Error.Status, " ", detail)), " ")
}

// TestAwakenProfile checks that hubs with the profile answer like Awaken's server where the
// protocol leaves the answer open, and that other hubs do not.
func TestAwakenProfile(t *testing.T) {
	t.Parallel()
	hubs := map[string]*hub{
		"plain":  startHub(t, httpfront.Config{}, everyone()...),
		"awaken": startHub(t, httpfront.Config{Awaken: true}, everyone()...),
	}
	ended := strings.Replace(message("x"), `"role"`, `"taskId":"t","role"`, 1)
	badRole := strings.Replace(message("x"), "ROLE_USER", "ROLE_AGENT", 1)
	for _, h := range hubs {
		h.do("POST", "/v1/a2a/message:send", ended)
	}
	for _, tt := range []struct {
		name, method, path, body, header string
		plain, awaken                    string
	}{
		{"card of another version", "GET", "/.well-known/agent-card.json", "", "A2A-Version: 0.9", "200", "400 FAILED_PRECONDITION VERSION_NOT_SUPPORTED"},
		{"bad role", "POST", "/v1/a2a/message:send", badRole, "", "400 INVALID_ARGUMENT INVALID_PARAMS", "400 INVALID_ARGUMENT message.role"},
		{"unknown path", "GET", "/v1/a2a/a/b/c", "", "", "404 NOT_FOUND METHOD_NOT_FOUND", "404 NOT_FOUND METHOD_NOT_FOUND"},
		{"unknown action", "POST", "/v1/a2a/tasks/t:pause", "", "", "405 UNIMPLEMENTED METHOD_NOT_FOUND", "404 NOT_FOUND METHOD_NOT_FOUND"},
		{"body of another type", "POST", "/v1/a2a/message:send", message("x"), "Content-Type: text/plain", "415 INVALID_ARGUMENT CONTENT_TYPE_NOT_SUPPORTED", "400 INVALID_ARGUMENT contentType"},
		{"subscription to an ended task", "POST", "/v1/a2a/tasks/t:subscribe", "", "", "400 FAILED_PRECONDITION UNSUPPORTED_OPERATION", "409 FAILED_PRECONDITION UNSUPPORTED_OPERATION"},
		{"cancel of an ended task", "POST", "/v1/a2a/tasks/t:cancel", "", "", "409 FAILED_PRECONDITION TASK_NOT_CANCELABLE", "409 FAILED_PRECONDITION TASK_NOT_CANCELABLE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, want := range map[string]string{"plain": tt.plain, "awaken": tt.awaken} {
				got := hubs[name].do(tt.method, tt.path, tt.body, tt.header)
				if s := firstDetail(t, got); s != want {
					t.Errorf("%s hub: %s, want %s: %.300s", name, s, want, got.body)
				}
				if got.code == 404 && strings.Contains(got.body, "allowed") {
					t.Errorf("%s hub: 404 with the words of 405: %.300s", name, got.body)
				}
			}
		})
	}
}

// TestConfiguredInterfaces checks that cards list the configured bindings in their order, that
// with the profile agent-card.json has no key of v0.3 but one capability, and that other cards
// have all of them.
func TestConfiguredInterfaces(t *testing.T) {
	t.Parallel()
	order := []a2a.TransportProtocol{a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolJSONRPC}
	for want, cfg := range map[string]httpfront.Config{
		"JSONRPC HTTP+JSON GRPC": {GRPCAddr: "h:1"},
		"HTTP+JSON JSONRPC":      {GRPCAddr: "h:1", Interfaces: order},
		"HTTP+JSON":              {Interfaces: order[:1], Awaken: true},
	} {
		h := startHub(t, cfg, everyone()...)
		for _, path := range []string{"/.well-known/agent-card.json", "/v1/a2a/ask/.well-known/agent-card.json"} {
			var card struct {
				SupportedInterfaces []struct{ ProtocolBinding string }
				Capabilities        map[string]any
				URL, ID             *string
			}
			got := h.do("GET", path, "")
			if err := json.Unmarshal([]byte(got.body), &card); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, i := range card.SupportedInterfaces {
				names = append(names, i.ProtocolBinding)
			}
			if s := strings.Join(names, " "); s != want {
				t.Errorf("%s lists %s, want %s", path, s, want)
			}
			if history, ok := card.Capabilities["stateTransitionHistory"]; !ok || history == true {
				t.Errorf("stateTransitionHistory = %v, there %t, want false", history, ok)
			}
			if (card.URL == nil) != cfg.Awaken || card.ID != nil {
				t.Errorf("with the profile %t: %s has the url %v, id %v", cfg.Awaken, path, card.URL, card.ID)
			}
		}
		if got := h.do("GET", "/.well-known/agent.json", ""); got.code != 200 {
			t.Errorf("agent.json with %s = %d", want, got.code)
		}
	}
}
