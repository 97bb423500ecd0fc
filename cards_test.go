package parley_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/task"
)

// TestExtendedCards checks the access to extended cards, and their additions to public cards.
func TestExtendedCards(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-extended-cards"
	more := map[task.Agent]*a2a.AgentCard{
		"echo":  {Skills: []a2a.AgentSkill{{ID: "whisper"}}},
		"clock": {Description: "Knows more than the time."},
	}
	hub := withBuiltin(&parley.Hub{Auth: who, Cards: parley.Cards{Extended: parley.ExtendedCards{Token: token, Authenticated: true, Cards: more}}})
	s := serve(t, hub)
	hub.Handle(&a2a.AgentCard{Name: "later"}, builtin.Agents()[0].Executor)
	for _, tt := range []struct{ path, who, want string }{
		{"/v1/a2a/extendedAgentCard", "alice", `"id":"whisper"`},
		{"/v1/a2a/echo/extendedAgentCard", "alice", `"id":"echo"`},
		{"/v1/a2a/clock/extendedAgentCard", "alice", "Knows more than the time."},
		{"/v1/a2a/slow/extendedAgentCard", "alice", `"name":"slow"`},
		{"/v1/a2a/later/extendedAgentCard", "alice", `"name":"later"`},
	} {
		if code, body := s.call(http.MethodGet, tt.path, tt.who, ""); code != http.StatusOK || !strings.Contains(body, tt.want) {
			t.Errorf("GET %s = %d %s, want %s in it", tt.path, code, body, tt.want)
		}
	}
	if code, body := s.call(http.MethodGet, "/v1/a2a/extendedAgentCard", "", ""); code != http.StatusUnauthorized {
		t.Errorf("without credentials: %d %s, want 401", code, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/a2a/extendedAgentCard", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "whisper") {
		t.Errorf("with the token: %d %s, %v; want the card", resp.StatusCode, body, err)
	}
	if _, body := s.call(http.MethodGet, "/.well-known/agent-card.json", "", ""); strings.Contains(body, "whisper") || !strings.Contains(body, `"extendedAgentCard":true`) {
		t.Errorf("the public card is %s", body)
	}
}

// TestLimitsOfCallers checks that the limits of a caller apply to HTTP.
func TestLimitsOfCallers(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]parley.Limits{
		"requests": {RequestsPerSecond: 0.001, Burst: 1},
		"bytes":    {BytesPerSecond: 1},
		"tasks":    {TasksPerCaller: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, withBuiltin(&parley.Hub{Auth: who, Limits: parley.Limits{
				RequestsPerSecond: limits.RequestsPerSecond, Burst: limits.Burst, BytesPerSecond: limits.BytesPerSecond,
				TasksPerCaller: limits.TasksPerCaller, DrainTimeout: -1,
			}}))
			const path, body = "/v1/a2a/slow/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"600"}]},` +
				`"configuration":{"returnImmediately":true}}`
			if code, answer := s.call(http.MethodPost, path, "alice", body); code != http.StatusOK {
				t.Fatalf("the first request: %d %s", code, answer)
			}
			code, answer := s.call(http.MethodPost, path, "alice", body)
			if code != http.StatusTooManyRequests || !strings.Contains(answer, "RESOURCE_EXHAUSTED") {
				t.Errorf("the second request: %d %s, want 429", code, answer)
			}
			if code, answer := s.call(http.MethodPost, path, "bob", body); code != http.StatusOK {
				t.Errorf("another caller: %d %s", code, answer)
			}
		})
	}
}
