package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Clients of other protocols call the hub of this configuration: its callers need a key, and
// the agent breaker always fails.
const (
	frontConfig = `
auth:
  api_keys:
    key-of-the-clients: {agent_id: client}
agents:
  - name: breaker
    command: ["false"]
`
	frontKey = "key-of-the-clients"
)

func startFrontHub(t *testing.T) (url string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(frontConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ = serveHub(t, dir, "--agents", "builtin", "--data", filepath.Join(dir, "data"))
	return url
}

// saw runs a foreign program against a hub, and returns its output: one JSON object.
func saw(t *testing.T, dir string, command []string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	var stderr syncBuffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, stderr.String())
	}
	var seen map[string]any
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v prints %s: %v", command, out, err)
	}
	return seen
}

type (
	things = map[string]any
	items  = []any
)

// chatted is the expected output of OpenAI's clients, which is the same for both.
func chatted() things {
	answer := func(text, state string) things { return things{"text": text, "finish": "stop", "state": state} }
	refused := func(kind string, status float64, param any, code string) things {
		return things{"error": kind, "status": status, "type": "invalid_request_error", "param": param, "code": code}
	}
	failed := refused("UnprocessableEntityError", 422, nil, "task_failed")
	failed["type"] = "agent_error"
	return things{
		"models": items{
			"breaker", "breaker/breaker", "echo", "echo/echo", "clock", "clock/clock", "interview", "interview/interview",
			"slow", "slow/slow", "report", "report/report",
		},
		"model":    "parley",
		"whole":    answer("good day", "completed"),
		"streamed": things{"text": items{"good ", "day"}, "finish": "stop", "state": "completed", "usage": 0.0},
		"odd":      items{true, true, "completed"},
		"large":    items{true, true, "completed"},
		"image":    answer("look", "completed"),
		"question": answer("What is your name?", "input-required"),
		"answered": answer("What would you like to get done?", "input-required"),
		"done":     "completed",
		"kept":     items{"input-required", "input-required", "completed"},
		"unknown":  refused("NotFoundError", 404, "model", "model_not_found"),
		"two":      refused("BadRequestError", 400, "n", "invalid_params"),
		"failed":   failed,
		"broken":   things{"error": "APIError", "code": "task_failed"},
		"stranger": refused("AuthenticationError", 401, nil, "invalid_api_key"),
	}
}

// The official clients of OpenAI list agents as models, and chat with them.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]func(*testing.T, string) []string{"python": python("chat.py"), "js": node("chat.mjs")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("openai", name)
			command := program(t, dir)
			seen := saw(t, dir, append(command, startFrontHub(t)+"/v1", frontKey))
			joined(seen["streamed"])
			want := chatted()
			joined(want["streamed"])
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("the client sees (-want +got):\n%s", diff)
			}
		})
	}
}

// joined joins the pieces of a text, because their boundaries depend on timing.
func joined(streamed any) {
	s, ok := streamed.(things)
	if !ok {
		return
	}
	text := ""
	for _, piece := range s["text"].(items) {
		text += piece.(string)
	}
	s["text"] = text
}

// The official client of AG-UI runs agents, answers interrupts and declines them.
func TestAGUI(t *testing.T) {
	t.Parallel()
	command := node("run.mjs")(t, "agui")
	seen := saw(t, "agui", append(command, startFrontHub(t), frontKey))
	received := items{"RUN_STARTED", "ACTIVITY_SNAPSHOT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"}
	withParts := items{"RUN_STARTED", "ACTIVITY_SNAPSHOT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "CUSTOM", "TEXT_MESSAGE_END", "RUN_FINISHED"}
	want := things{
		"echo":     things{"events": received, "outcome": "success", "said": items{"good day to you"}},
		"again":    items{"and again"},
		"question": things{"events": received, "outcome": "interrupt", "said": items{"What is your name?"}},
		"second":   "interrupt",
		"done": things{
			"events": withParts, "outcome": "success", "said": items{"What is your name?\none\nWhat would you like to get done?\ntwo\n"},
		},
		"declined": "cancelled",
		"report":   withParts,
		"recalled": items{"user: good day to you", "assistant: good day to you", "user: and again", "assistant: and again"},
		"failed":   "task_failed",
		"nobody":   "HTTP 404",
		"stranger": "HTTP 401",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the client sees (-want +got):\n%s", diff)
	}
}
