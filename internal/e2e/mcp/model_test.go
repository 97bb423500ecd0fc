package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// askForecast is a model that asks the weather server and repeats the result.
const askForecast = `turns:
  - when: {role: user, offers: mcp__weather__forecast}
    calls: [{name: mcp__weather__forecast}]
  - when: {role: tool, tool: mcp__weather__forecast, last: '<quoted[^>]*from="[^"]*weather[^>]*>[\s\S]*rain'}
    text: Take an umbrella.
  - text: I know nothing of the weather.
`

// TestModelUsesServers makes a model agent call a tool of an MCP server that the hub runs. An
// agent without permission does not have the tool.
func TestModelUsesServers(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "talk.yaml")
	if err := os.WriteFile(script, []byte(askForecast), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`mcp_servers:
  - {name: weather, command: [%q], env: {TEST_SERVER: "1"}}
model_providers:
  - {name: talk, script: %q}
agents:
  - {name: guide, model: {system_prompt: You advise.}}
  - {name: hermit, model: {system_prompt: You advise., excluded_tools: ["mcp__*"]}}
  - {name: bare, model: {system_prompt: You advise., allowed_tools: []}}
`, self, script)})
	servers(t, hub, func(all []server) bool { return all[0].State == "ready" })
	for agent, want := range map[string]string{"guide": "Take an umbrella.", "hermit": "I know nothing of the weather.", "bare": "I know nothing of the weather."} {
		var answer any
		err := hubtest.Call(t.Context(), hubtest.Request{
			Method: "POST", URL: hub.URL() + "/v1/a2a/" + agent + "/message:send",
			Body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Shall I go out?"}]}}`,
		}, &answer)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(answer); !strings.Contains(got, want) {
			t.Errorf("%s says %s, want %q", agent, got, want)
		}
	}
}
