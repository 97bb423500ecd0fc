package rockbothttp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// literal is the document's example, byte for byte.
const literal = `{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "SendMessage",
    "params": {
      "message": { "role": "user", "parts": [{ "text": "What is the weather?" }] },
      "metadata": { "skill": "notify-user" }
    }
  }`

// TestLiteralRequest: the document's request is for the hub's own skill, although Bob of the
// document's file and a configured agent have the skill as well. Without approval no agent performs it.
func TestLiteralRequest(t *testing.T) {
	t.Parallel()
	card := rockbothttp.SampleCard()
	for _, id := range []string{"notify-user", "dig"} {
		card.Skills = append(card.Skills, rb.Skill{ID: rb.Ptr(id), Name: rb.Ptr(id)})
	}
	bob, carol := rockbothttp.StartAgent(t, &rockbothttp.Agent{Card: card}), rockbothttp.StartAgent(t, &rockbothttp.Agent{Card: card})
	h := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf(`
auth: {min_key_length: 6}
ApiKeys:
  my-key: {AgentId: caller, DisplayName: The Caller}
  strangers-key: {AgentId: stranger, DisplayName: A Stranger}
  admin-key: {AgentId: boss, DisplayName: Boss, roles: [admin]}
front_desk: {serve: true}
trust: {file: agent-trust.json, unapproved: observe}
default_agent: echo
agents:
  - {name: carol, url: %q, skills: [{id: notify-user}]}
`, carol.URL())})
	if err := os.MkdirAll(h.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(h.Data(), "well-known-agents.json"): fmt.Sprintf(`[{"agentName": "Bob", "url": %q}]`, bob.URL()),
		filepath.Join(h.Dir(), "agent-trust.json"):        `[{"agentId": "caller", "level": 4, "approvedSkills": ["Notify-User"]}]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	trusted, stranger := at(h, "/", bobs), at(h, "/", "strangers-key")
	for _, name := range []string{"bob", "carol"} { // their skills are known
		if out, err := h.Parley(within(t), "agents", "refresh", name, "--api-key", admins); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if e, err := trusted.Send(within(t), message("a hole, and one more", "dig", "")); err != nil || e.Message == nil || e.Message.Text() != "Echo: a hole, and one more" {
		t.Fatalf("a skill that only others have: %+v, %v", e, err)
	}
	const times = 10
	asked := len(bob.Jobs()) + len(carol.Jobs())
	for range times {
		for _, tt := range []struct {
			caller *rockbothttp.Caller
			want   string
		}{
			{trusted, "It is in the inbox of the person."},
			{stranger, "This agent does not accept this request from you. Its owner was notified of your request. Nothing was done."},
		} {
			raw, err := tt.caller.Raw(within(t), literal)
			if err != nil {
				t.Fatal(err)
			}
			e, err := rockbothttp.ReadEvent(raw)
			if err != nil || e.Task != nil || e.Message == nil || e.Message.Role != "agent" || e.Message.Text() != tt.want {
				t.Errorf("the answer is %s, %v, want the message %q", raw, err, tt.want)
			}
		}
	}
	if n := len(bob.Jobs()) + len(carol.Jobs()) - asked; n > 0 {
		t.Errorf("others were sent %d of the %d requests", n, 2*times)
	}
	var items struct {
		Items []struct{ Kind, Caller, Skill, Text string }
	}
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/api/v1/inbox?limit=100", Header: []string{"X-API-Key", admins}}, &items); err != nil {
		t.Fatal(err)
	}
	notices := make(map[string]int)
	for _, it := range items.Items {
		if it.Skill == "notify-user" && strings.Contains(it.Text, "What is the weather?") {
			notices[it.Kind+" of "+it.Caller]++
		}
	}
	if notices["notice of caller"] != times || notices["notice of stranger"] != times {
		t.Errorf("the owner has %v, want %d notices of each caller: %+v", notices, times, items.Items)
	}
}
