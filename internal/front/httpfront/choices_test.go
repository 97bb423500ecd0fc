package httpfront_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// TestChosenErrors: the configured function adapts the reports of errors over HTTP+JSON of v1.0, and
// of no others.
func TestChosenErrors(t *testing.T) {
	t.Parallel()
	adapt := func(r *dialect.Report, f *httpfront.Failure) {
		r.Message = fmt.Sprintf("adapted %v %t %t", errors.Is(f.Err, apierror.ErrMediaType), f.Action, f.Subscribe)
	}
	h := startHub(t, httpfront.Config{Choices: httpfront.Choices{Error: adapt, CardVersion: true}}, everyone()...)
	h.do("POST", "/v1/a2a/message:send", strings.Replace(message("x"), `"role"`, `"taskId":"t","role"`, 1))
	for _, tt := range []struct{ method, path, body, header, want string }{
		{"POST", "/v1/a2a/message:send", message("x"), "Content-Type: text/plain", "adapted true false false"},
		{"POST", "/v1/a2a/tasks/t:pause", "", "", "adapted false true false"},
		{"POST", "/v1/a2a/tasks/t:subscribe", "", "", "adapted false false true"},
		{"GET", "/.well-known/agent-card.json", "", "A2A-Version: 0.9", "adapted false false false"},
		{"GET", "/v1/a2a/a/b/c", "", "", "adapted false false false"},
		{"POST", "/a2a", rpc("Nothing", "{}"), v1, ""},
		{"POST", "/v1/tasks/none:cancel", "", "", ""},
	} {
		got := h.do(tt.method, tt.path, tt.body, tt.header)
		if text := got.body; got.code < 400 && !strings.Contains(text, `"error"`) || strings.Contains(text, "adapted") != (tt.want != "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: %d %.300s, want %q", tt.method, tt.path, got.code, text, tt.want)
		}
	}
	if got := startHub(t, httpfront.Config{}, everyone()...).do("GET", "/.well-known/agent-card.json", "", "A2A-Version: 0.9"); got.code != 200 {
		t.Errorf("the card in another version without CardVersion: %d %.300s", got.code, got.body)
	}
}

// TestConfiguredInterfaces checks that cards list the configured bindings in their order, that
// with PlainCard agent-card.json has no key of v0.3 but one capability, and that other cards
// have all of them.
func TestConfiguredInterfaces(t *testing.T) {
	t.Parallel()
	order := []a2a.TransportProtocol{a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolJSONRPC}
	for want, cfg := range map[string]httpfront.Config{
		"JSONRPC HTTP+JSON GRPC": {GRPCAddr: "h:1"},
		"HTTP+JSON JSONRPC":      {GRPCAddr: "h:1", Interfaces: order},
		"HTTP+JSON":              {Interfaces: order[:1], Choices: httpfront.Choices{PlainCard: true}},
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
			if (card.URL == nil) != cfg.Choices.PlainCard || card.ID != nil {
				t.Errorf("with PlainCard %t: %s has the url %v, id %v", cfg.Choices.PlainCard, path, card.URL, card.ID)
			}
		}
		if got := h.do("GET", "/.well-known/agent.json", ""); got.code != 200 {
			t.Errorf("agent.json with %s = %d", want, got.code)
		}
	}
}
