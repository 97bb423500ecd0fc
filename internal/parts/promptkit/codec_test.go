package promptkit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/parts/promptkit"
)

const askingTask = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"which?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
	`"artifacts":[{"artifactId":"a","parts":[{"data":[1,12345678901234567890],"mediaType":"application/json"},{"data":{"x":1}},{"raw":"aGk="}],"x":1.50}],` +
	`"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"data":null,"metadata":{"k":"v"}}]}],"metadata":{"z":1e2}}`

func TestPromptKitRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		operation dialect.Operation
		in, want  string
	}{
		{"as it is", dialect.SendMessage, `{"message":{"role":"user","parts":[{"text":"a\u0041"}]},"x":1.50}`, `{"message":{"role":"user","parts":[{"text":"a\u0041"}]},"x":1.50}`},
		{"blocking", dialect.SendMessage, `{"configuration":{"blocking":true,"historyLength":2}}`, `{"configuration":{"returnImmediately":false,"historyLength":2}}`},
		{"not blocking", dialect.SendStreamingMessage, `{"configuration":{"historyLength":2,"blocking":false}}`, `{"configuration":{"historyLength":2,"returnImmediately":true}}`},
		{"blocking is null", dialect.SendMessage, `{"configuration":{"blocking":null}}`, `{"configuration":{"returnImmediately":false}}`},
		{"wrapped data", dialect.SendMessage, `{"message":{"parts":[{"data":{"value":[1]},"metadata":{"data_part_compat":true,"k":1}}]}}`, `{"message":{"parts":[{"data":[1],"metadata":{"k":1}}]}}`},
		{"data with a value", dialect.SendMessage, `{"message":{"parts":[{"data":{"value":[1]},"metadata":{"data_part_compat":false}}]}}`, `{"message":{"parts":[{"data":{"value":[1]},"metadata":{"data_part_compat":false}}]}}`},
		{"no page size", dialect.ListTasks, `{"contextId":"c"}`, `{"contextId":"c","pageSize":100,"includeArtifacts":true}`},
		{"no params", dialect.ListTasks, ``, `{"pageSize":100,"includeArtifacts":true}`},
		{"large page", dialect.ListTasks, `{"pageSize":1000}`, `{"pageSize":100,"includeArtifacts":true}`},
		{"page of none", dialect.ListTasks, `{"pageSize":0}`, `{"pageSize":100,"includeArtifacts":true}`},
		{"null page", dialect.ListTasks, `{"pageSize":null}`, `{"pageSize":100,"includeArtifacts":true}`},
		{"small page", dialect.ListTasks, `{"pageSize":7,"x":{}}`, `{"pageSize":7,"x":{},"includeArtifacts":true}`},
		{"without artifacts", dialect.ListTasks, `{"pageSize":7,"includeArtifacts":false}`, `{"pageSize":7,"includeArtifacts":false}`},
		{"get", dialect.GetTask, `{"id":"t"}`, `{"id":"t"}`},
	}
	for _, tt := range tests {
		got, err := promptkit.Shape.Request(tt.operation, []byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	_, err := promptkit.Shape.Request(dialect.SendMessage, []byte(`{"configuration":{"blocking":"no"}}`))
	if err == nil || !strings.Contains(err.Error(), "configuration.blocking") {
		t.Errorf("blocking that is no bool: %v", err)
	}
}

func TestPromptKitResult(t *testing.T) {
	t.Parallel()
	const want = `{"id":"t","contextId":"c","status":{"state":"input_required","message":{"messageId":"m2","role":"agent","parts":[{"text":"which?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
		`"artifacts":[{"artifactId":"a","parts":[{"data":{"value":[1,12345678901234567890]},"mediaType":"application/json","metadata":{"data_part_compat":true}},{"data":{"x":1}},{"raw":"aGk="}],"x":1.50}],` +
		`"history":[{"messageId":"m1","role":"user","parts":[{"data":{"value":null},"metadata":{"k":"v","data_part_compat":true}}]}],"metadata":{"z":1e2}}`
	tests := []struct {
		name      string
		operation dialect.Operation
		in, want  string
	}{
		{"send", dialect.SendMessage, `{"task":` + askingTask + `}`, want},
		{"get", dialect.GetTask, askingTask, want},
		{"cancel", dialect.CancelTask, askingTask, want},
		{"list", dialect.ListTasks, `{"tasks":[` + askingTask + `,` + askingTask + `],"nextPageToken":"","pageSize":2,"totalSize":2}`, `{"tasks":[` + want + `,` + want + `],"nextPageToken":"","pageSize":2,"totalSize":2}`},
		{"message", dialect.SendMessage, `{"message":{"messageId":"m","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`, `{"id":"","contextId":"c","status":{"state":"completed","message":{"messageId":"m","contextId":"c","role":"agent","parts":[{"text":"x"}]}}}`},
	}
	for _, tt := range tests {
		got := string(promptkit.Shape.AppendResult([]byte("x"), tt.operation, []byte(tt.in)))
		if diff := cmp.Diff("x"+tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A reader of PromptKit's stream sees only transitions that PromptKit defines.
func TestPromptKitTransitions(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"working":        "working completed failed canceled input_required auth_required rejected",
		"input_required": "input_required working canceled",
		"auth_required":  "auth_required working canceled",
	}
	states := []string{"SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED"}
	for _, from := range states {
		for _, to := range states[1:] {
			if from != "SUBMITTED" && allowed[strings.ToLower(from)] == "" {
				continue
			}
			frames := promptkit.Shape.Frames(nil)
			events := frames([]byte(`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_` + from + `"}}}`))
			events = append(events, frames([]byte(`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_`+to+`","timestamp":"T"}}}`))...)
			last := ""
			for i, ev := range events {
				state := stateOf(t, ev)
				if i > 0 && !strings.Contains(" "+allowed[last]+" ", " "+state+" ") {
					t.Errorf("%s to %s: %s after %s", from, to, state, last)
				}
				last = state
			}
			if last != strings.ToLower(to) {
				t.Errorf("%s to %s ends with %s", from, to, last)
			}
		}
	}
}

func stateOf(t *testing.T, event []byte) string {
	t.Helper()
	var ev struct {
		TaskID, ContextID string
		Status            struct{ State string }
	}
	if err := json.Unmarshal(event, &ev); err != nil || ev.TaskID != "t" || ev.ContextID != "c" {
		t.Fatalf("event %s: %v", event, err)
	}
	return ev.Status.State
}

func TestPromptKitFrames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"snapshot", `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","timestamp":"T"},"artifacts":[{"artifactId":"a","parts":[{"data":1}]}],"history":[]}}`, []string{
			`{"taskId":"t","contextId":"c","status":{"state":"working","timestamp":"T"}}`,
			`{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]}}`,
		}},
		{"ended", `{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]}}`, []string{
			`{"taskId":"t","contextId":"","status":{"state":"completed"}}`,
		}},
		{"artifact", `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true,"metadata":{"k":1}}}`, []string{
			`{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true,"metadata":{"k":1}}`,
		}},
		{"submitted", `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"T"}}}`, []string{
			`{"taskId":"t","contextId":"c","status":{"state":"working","timestamp":"T"}}`,
		}},
		{"first chunk", `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`, []string{
			`{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true}`,
		}},
		{"status", `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}},"metadata":{"k":1}}}`, []string{
			`{"taskId":"t","contextId":"c","status":{"state":"working","message":{"messageId":"m","role":"agent","parts":[]}},"metadata":{"k":1}}`,
		}},
		{"a status with an unknown artifact", `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifact":"a"}}`, []string{
			`{"taskId":"t","contextId":"c","status":{"state":"working"},"artifact":"a"}`,
		}},
	}
	for _, tt := range tests {
		var got []string
		for _, ev := range promptkit.Shape.Frames(nil)([]byte(tt.in)) {
			got = append(got, string(ev))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestPromptKitKeepsUnknownMembers: a member that another object of v1.0 defines is unknown in an artifact
// update, and does not change.
func TestPromptKitKeepsUnknownMembers(t *testing.T) {
	t.Parallel()
	const in = `{"artifactUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"},"artifact":{"artifactId":"a","parts":[]}}}`
	const want = `{"taskId":"t","status":{"state":"TASK_STATE_WORKING"},"artifact":{"artifactId":"a","parts":[]}}`
	if got := string(promptkit.Shape.AppendResult(nil, dialect.SubscribeToTask, []byte(in))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPromptKitStream(t *testing.T) {
	t.Parallel()
	status := func(state string) string {
		return `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
	}
	chunk := func(id, rest string) string {
		return `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"` + id + `","parts":[{"text":"x"}]}` + rest + `}}`
	}
	shown := func(id, rest string) string {
		return `{"taskId":"t","contextId":"c","artifact":{"artifactId":"` + id + `","parts":[{"text":"x"}]}` + rest + `}`
	}
	now := func(state string) string {
		return `{"taskId":"t","contextId":"c","status":{"state":"` + state + `"}}`
	}
	snapshot := func(state string) string {
		return `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
	}
	tests := []struct {
		name     string
		in, want []string
	}{
		{
			"working comes once",
			[]string{snapshot("SUBMITTED"), status("WORKING"), chunk("a", ""), chunk("a", `,"append":true`), status("COMPLETED")},
			[]string{now("working"), shown("a", `,"append":true`), shown("a", `,"append":true`), now("completed")},
		},
		{
			"an artifact takes another's place",
			[]string{snapshot("WORKING"), chunk("a", ""), chunk("a", "")},
			[]string{now("working"), shown("a", `,"append":true`), shown("a", "")},
		},
		{
			"an answered question",
			[]string{snapshot("INPUT_REQUIRED"), chunk("a", ""), status("WORKING"), status("COMPLETED")},
			[]string{now("input_required"), now("working"), shown("a", `,"append":true`), now("completed")},
		},
	}
	for _, tt := range tests {
		frames := promptkit.Shape.Frames(nil)
		var got []string
		for _, in := range tt.in {
			for _, ev := range frames([]byte(in)) {
				got = append(got, string(ev))
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A frame converted alone has no working event before it.
func TestPromptKitFrameAlone(t *testing.T) {
	t.Parallel()
	for v1, want := range map[string]string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}`:                                                                      `{"id":"t","contextId":"c","status":{"state":"submitted"}}`,
		`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"role":"ROLE_AGENT","parts":[{"data":1}]}}}}`: `{"taskId":"t","contextId":"c","status":{"state":"auth_required","message":{"role":"agent","parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]}}}`,
		`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":1}]},"lastChunk":true}}`:                              `{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]},"lastChunk":true}`,
	} {
		for _, o := range []dialect.Operation{dialect.SendStreamingMessage, dialect.SubscribeToTask} {
			if got := string(promptkit.Shape.AppendResult(nil, o, []byte(v1))); got != want {
				t.Errorf("%v: %s\nwant %s", o, got, want)
			}
		}
	}
}
