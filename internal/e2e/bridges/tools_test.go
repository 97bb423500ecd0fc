package bridges

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/testing/dialecttest"
)

// needy asks its caller to execute a tool, as some agents do, and returns the caller's
// result.
type needy struct{ ask }

func (needy) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			part := a2a.NewTextPart("May I?")
			part.Metadata = map[string]any{
				"tool_call_id": "call-1", "tool_name": "read_file", "tool_args": map[string]any{"path": "a.txt", "lines": 3}, "consent_message": "May I?",
			}
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, a2a.NewMessage(a2a.MessageRoleAgent, part)), nil)
			return
		}
		result, err := json.Marshal(ec.Message.Parts[0].Metadata)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("got "+string(result)))), nil)
	}
}

// toolResults are the answers of a caller: a result and a refusal.
var toolResults = []string{
	`{"tool_call_id":"call-1","tool_result":{"n":1.5,"text":"hello"}}`,
	`{"reason":"it is private","rejected":true,"tool_call_id":"call-1"}`,
}

// A caller of each dialect can execute a tool for an agent: the call and its result pass
// through unchanged, in every combination of dialects. A job has no metadata at its
// parts.
func TestClientTools(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.register("ask-tool", needy{})
	n := 0
	for _, from := range dialecttest.All() {
		for _, to := range dialecttest.All() {
			for _, result := range toolResults {
				if from.Name == dialecttest.Jobs || to.Name == dialecttest.Jobs {
					continue
				}
				n++
				h.clientTool(&from, &to, fmt.Sprint("tool-context-", n), result)
			}
		}
	}
	if n != 128 {
		t.Errorf("%d pairs, want those of eight dialects, twice", n)
	}
}

// clientTool makes a caller begin a task in one dialect, and answer in another.
func (h *hub) clientTool(from, to *dialecttest.Tongue, talk, result string) {
	h.t.Helper()
	ask := strings.NewReplacer("$CTX", talk, `"tenant":"ask"`, `"tenant":"ask-tool"`, "a2a/ask", "a2a/ask-tool", `"skill":"ask"`, `"skill":"ask-tool"`)
	asked := h.say(from, ask.Replace(from.Make.Request), false)
	for _, want := range []string{`"tool_call_id":"call-1"`, `"tool_name":"read_file"`, `"tool_args":{"lines":3,"path":"a.txt"}`, `"consent_message":"May I?"`} {
		if !strings.Contains(asked, want) {
			h.t.Errorf("%s is asked %s, want it to have %s", from.Name, asked, want)
		}
	}
	found := h.say(&dialecttest.Tongue{Name: "finder"}, "GET /v1/a2a/tasks?contextId="+talk, false)
	_, rest, _ := strings.Cut(found, `"tasks":[{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	answer := strings.NewReplacer(
		"$ID", id, `"tenant":"ask"`, `"tenant":"ask-tool"`, "a2a/ask", "a2a/ask-tool", `"skill":"ask"`, `"skill":"ask-tool"`,
		`"text":"Oslo"}`, `"text":"","metadata":`+result+`}`,
	)
	request := answer.Replace(to.Has["next"].Request)
	if to.Name == dialecttest.Derived {
		request = strings.Replace(request, `"text":"",`, "", 1) // the part may be metadata alone
	}
	quoted, err := json.Marshal("got " + result)
	if err != nil {
		h.t.Fatal(err)
	}
	if got := h.say(to, request, false); !strings.Contains(got, string(quoted)) {
		h.t.Errorf("asked in %s, answered in %s with %s: %s, want %s", from.Name, to.Name, request, got, quoted)
	}
}
