package gateway_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
)

const askingTask = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"which?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
	`"artifacts":[{"artifactId":"a","parts":[{"data":[1,12345678901234567890],"mediaType":"application/json"},{"data":{"x":1}},{"raw":"aGk="}],"x":1.50}],` +
	`"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"data":null,"metadata":{"k":"v"}}]}],"metadata":{"z":1e2}}`

func TestRockBotResult(t *testing.T) {
	t.Parallel()
	const (
		ended = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"},{"data":[1]}]}}}`
		told  = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"no"}]}}}`
		bare  = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}`
		asks  = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}`
	)
	tests := []struct {
		name      string
		operation dialect.Operation
		in, want  string
	}{
		{"ended", dialect.SendMessage, `{"task":` + ended + `}`, `{"message":{"messageId":"m","role":"agent","parts":[{"text":"x"},{"data":{"value":[1]},"metadata":{"data_part_compat":true}}]}}`},
		{"ended with a message", dialect.SendMessage, `{"task":` + told + `}`, `{"message":{"messageId":"m","role":"agent","parts":[{"text":"no"}]}}`},
		{"ended without a word", dialect.SendMessage, `{"task":` + bare + `}`, `{"message":{"messageId":"ID","contextId":"c","taskId":"t","role":"agent","parts":[{"text":"canceled"}]}}`},
		{"open", dialect.SendMessage, `{"task":` + asks + `}`, `{"task":{"id":"t","contextId":"c","status":{"state":"inputRequired"}}}`},
		{"message", dialect.SendMessage, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`, `{"message":{"messageId":"m","role":"agent","parts":[{"text":"x"}]}}`},
		{"get", dialect.GetTask, askingTask, `{"id":"t","contextId":"c","status":{"state":"inputRequired","message":{"messageId":"m2","role":"agent","parts":[{"text":"which?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
			`"artifacts":[{"artifactId":"a","parts":[{"data":{"value":[1,12345678901234567890]},"mediaType":"application/json","metadata":{"data_part_compat":true}},{"data":{"x":1}},{"raw":"aGk="}],"x":1.50}],` +
			`"history":[{"messageId":"m1","role":"user","parts":[{"data":{"value":null},"metadata":{"k":"v","data_part_compat":true}}]}],"metadata":{"z":1e2}}`},
		{"list", dialect.ListTasks, `{"tasks":[` + asks + `],"nextPageToken":""}`, `{"tasks":[{"id":"t","contextId":"c","status":{"state":"inputRequired"}}],"nextPageToken":""}`},
	}
	for _, tt := range tests {
		got := string(gateway.Shape.AppendResult(nil, tt.operation, []byte(tt.in)))
		got = anyID.ReplaceAllString(got, `"messageId":"ID"`)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

var anyID = regexp.MustCompile(`"messageId":"[0-9a-f-]{36}"`)

func TestRockBotFrames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"snapshot", `{"task":{"id":"t","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}`, []string{`{"task":{"id":"t","status":{"state":"authRequired"}}}`}},
		{"working", `{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","message":{"role":"ROLE_AGENT","parts":[]}}}}`, []string{`{"statusUpdate":{"taskId":"t","status":{"state":"working","message":{"role":"agent","parts":[]}}}}`}},
		{"artifact", `{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"data":1}]},"append":true}}`, []string{`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]},"append":true}}`}},
		{"ended", `{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`, []string{`{"statusUpdate":{"taskId":"t","status":{"state":"completed"}}}`}},
		{"ended with a message", `{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED","message":{"role":"ROLE_AGENT","parts":[{"text":"x"}]}}}}`, []string{
			`{"statusUpdate":{"taskId":"t","status":{"state":"completed","message":{"role":"agent","parts":[{"text":"x"}]}}}}`,
			`{"message":{"role":"agent","parts":[{"text":"x"}]}}`,
		}},
	}
	for _, tt := range tests {
		var got []string
		for _, ev := range gateway.Shape.Frames(nil)([]byte(tt.in)) {
			got = append(got, string(ev))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRockBotRequest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"pageSize":3}`:                    `{"pageSize":3}`,
		`{"status":"inputRequired"}`:        `{"status":"inputRequired","pageSize":20}`,
		`{"status":"working","pageSize":0}`: `{"status":"working","pageSize":20}`,
	} {
		got, err := gateway.Shape.Request(dialect.ListTasks, []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

// A stream ends with the message of the whole task, unless its status has a message.
func TestRockBotStreamsEndWithTheAnswer(t *testing.T) {
	t.Parallel()
	const ended = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
	for task, want := range map[string]string{
		`{"id":"t","status":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"1"}]}}}`: `{"message":{"messageId":"m","role":"agent","parts":[{"text":"1"}]}}`,
		`{"id":"t","status":{}}`: "",
		"":                       "",
	} {
		frames := gateway.Shape.Frames(func() []byte { return []byte(task) })
		if got := frames([]byte(`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"1"}]}}}`)); len(got) != 1 {
			t.Errorf("%s: %d events for one", task, len(got))
		}
		got := ""
		if events := frames([]byte(ended)); len(events) == 2 {
			got = string(events[1])
		}
		if got != want {
			t.Errorf("%s: %s, want %s", task, got, want)
		}
	}
}
