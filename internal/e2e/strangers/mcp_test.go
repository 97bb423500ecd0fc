package strangers

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestMCPClient lets the client of MCP use a hub: over HTTP and over pipes, by the handshake of 2025, which
// is its default, and with the discovery of 2026.
func TestMCPClient(t *testing.T) {
	t.Parallel()
	judge := node(t, "mcp")
	for mode, version := range map[string]string{"legacy": "2025-11-25", "auto": "2026-07-28"} {
		for _, wire := range []string{"http", "stdio"} {
			t.Run(mode+"/"+wire, func(t *testing.T) {
				t.Parallel()
				h := hubtest.Start(t, hubtest.Options{Config: "agents_builtin: true\nagents:\n  - {name: breaker, command: [\"false\"]}\n"})
				args := []string{mode, wire, h.URL()}
				if wire == "stdio" {
					args = []string{mode, wire, hubtest.Binary(t), h.URL()}
				}
				var seen map[string]any
				if err := json.Unmarshal(run(t, "mcp", judge, args...), &seen); err != nil {
					t.Fatal(err)
				}
				want := seenOverMCP(version)
				if wire == "stdio" { // over pipes the client drops progress that arrives together with the answer of its call
					delete(want, "progress")
					delete(seen, "progress")
				}
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Errorf("the client sees (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func seenOverMCP(version string) map[string]any {
	type list = []any
	return map[string]any{
		"version": version, "server": "parley",
		"tools": list{
			"ask_human", "cancel_task", "chat_with_agent", "continue_task", "delete_from_working_memory", "get_agent_details",
			"get_from_working_memory", "get_task", "invoke_agent", "list_known_agents", "list_tasks", "refresh_agent_card",
			"register_agent", "save_to_working_memory", "search_known_services", "search_working_memory", "send_update", "unregister_agent",
		},
		"odd":      true,
		"progress": map[string]any{"progress": 1.0, "message": "echo submitted"},
		"task":     list{"TASK_STATE_COMPLETED", true, true},
		"data":     map[string]any{"n": 1.5, "large": 9007199254740991.0, "list": list{nil, true, map[string]any{"é🎉": ""}}},
		"resource": true, "pieces": 20.0, "long": true,
		"file":  list{"image/png", "PNG"},
		"asked": list{"interview asks: What is your name?"}, "interview": list{"completed", "What is your name?\nAda 🎉"},
		"many":    30.0,
		"updated": list{true, true}, "note": "buy roses 🌹",
		"nobody":     list{true, `There is no agent "nobody"`},
		"large":      list{true, "arguments have 1048605 bytes"},
		"wrong":      list{true, `The arguments are not right: "agent" must be a string, not a number`},
		"failed":     list{"failed", `program "false" ended with exit status 1`},
		"noTool":     list{-32602.0, `unknown tool "no_such_tool"`},
		"noResource": list{-32602.0, "Resource not found"},
		"given":      list{"REQUEST_TIMEOUT", "enough"},
		"slow":       list{"canceled"},
	}
}
