package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
)

// everyPart is a v1.0 list of parts of every kind.
const everyPart = `[{"text":"hi","mediaType":"text/markdown","metadata":{"n":12345678901234567890}},` +
	`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain","x-n":1.10},{"metadata":{"k":"v"},"url":"https://a.example/"},` +
	`{"data":{"k":[1]}},{"data":[1,2],"metadata":{"k":"v"}},{"data":null}]`

// v03Parts is everyPart in v0.3.
const v03Parts = `[{"kind":"text","text":"hi","mediaType":"text/markdown","metadata":{"n":12345678901234567890}},` +
	`{"kind":"file","file":{"bytes":"aGk=","name":"a.txt","mimeType":"text/plain"},"x-n":1.10},` +
	`{"kind":"file","file":{"uri":"https://a.example/"},"metadata":{"k":"v"}},` +
	`{"kind":"data","data":{"k":[1]}},{"kind":"data","data":{"value":[1,2]},"metadata":{"k":"v","data_part_compat":true}},` +
	`{"kind":"data","data":{"value":null},"metadata":{"data_part_compat":true}}]`

// protoParts is everyPart in the proto of v0.3, whose readers refuse other members.
const protoParts = `[{"text":"hi","metadata":{"n":12345678901234567890}},` +
	`{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain","name":"a.txt"}},` +
	`{"file":{"fileWithUri":"https://a.example/"},"metadata":{"k":"v"}},` +
	`{"data":{"data":{"k":[1]}}},{"data":{"data":{"value":[1,2]}},"metadata":{"k":"v","data_part_compat":true}},` +
	`{"data":{"data":{"value":null}},"metadata":{"data_part_compat":true}}]`

const v1Task = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
	`"artifacts":[{"artifactId":"a","name":"n","parts":` + everyPart + `}],` +
	`"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}],"referenceTaskIds":["r"],"extensions":["e"]}],"metadata":{"k":1}}`

const v03Task = `{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","message":{"kind":"message","messageId":"m2","role":"agent","parts":[{"kind":"text","text":"?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
	`"artifacts":[{"artifactId":"a","name":"n","parts":` + v03Parts + `}],` +
	`"history":[{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}],"referenceTaskIds":["r"],"extensions":["e"]}],"metadata":{"k":1}}`

const protoTask = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m2","role":"ROLE_AGENT","content":[{"text":"?"}]},"timestamp":"2026-01-31T12:00:00.000Z"},` +
	`"artifacts":[{"artifactId":"a","name":"n","parts":` + protoParts + `}],` +
	`"history":[{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hi"}],"extensions":["e"]}],"metadata":{"k":1}}`

const (
	v1Config    = `{"taskId":"t","id":"p","url":"u","authentication":{"scheme":"Bearer"}}`
	v03Config   = `{"taskId":"t","pushNotificationConfig":{"id":"p","url":"u","authentication":{"schemes":["Bearer"]}}}`
	protoConfig = `{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"u","authentication":{"schemes":["Bearer"]}}}`
)

func TestLegacyResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		o              dialect.Operation
		v1, v03, proto string
	}{
		{"task of a message", dialect.SendMessage, `{"task":` + v1Task + `}`, v03Task, `{"task":` + protoTask + `}`},
		{
			"bare message", dialect.SendMessage, `{"message":{"messageId":"m","contextId":"c","role":"ROLE_AGENT","parts":[{"text":""}]}}`,
			`{"kind":"message","messageId":"m","contextId":"c","role":"agent","parts":[{"kind":"text","text":""}]}`,
			`{"message":{"messageId":"m","contextId":"c","role":"ROLE_AGENT","content":[{"text":""}]}}`,
		},
		{"task", dialect.GetTask, v1Task, v03Task, protoTask},
		{
			"canceled", dialect.CancelTask, `{"id":"t","status":{"state":"TASK_STATE_CANCELED"}}`,
			`{"kind":"task","id":"t","status":{"state":"canceled"},"contextId":""}`, `{"id":"t","status":{"state":"TASK_STATE_CANCELLED"}}`,
		},
		{
			"unknown members that v0.3 needs", dialect.GetTask,
			`{"kind":"x","id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED"},"artifacts":[{"artifactId":"a","parts":[{"kind":"file","file":1,"url":"u"}]}]}`,
			`{"kind":"task","id":"t","contextId":"c","status":{"state":"auth-required"},"artifacts":[{"artifactId":"a","parts":[{"kind":"file","file":{"uri":"u"}}]}]}`,
			`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED"},"artifacts":[{"artifactId":"a","parts":[{"file":{"fileWithUri":"u"}}]}]}`,
		},
		{"set config", dialect.CreatePushConfig, v1Config, v03Config, protoConfig},
		{
			"get config", dialect.GetPushConfig, `{"taskId":"t","id":"p","url":"u"}`, `{"taskId":"t","pushNotificationConfig":{"id":"p","url":"u"}}`,
			`{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"u"}}`,
		},
		{
			"configs", dialect.ListPushConfigs, `{"configs":[` + v1Config + `,` + v1Config + `],"nextPageToken":"n"}`,
			`[` + v03Config + `,` + v03Config + `]`, `{"configs":[` + protoConfig + `,` + protoConfig + `],"nextPageToken":"n"}`,
		},
		{"no configs", dialect.ListPushConfigs, `{"configs":[]}`, `[]`, `{"configs":[]}`},
		{"deleted config", dialect.DeletePushConfig, `{}`, `null`, `{}`},
		{"page", dialect.ListTasks, `{"tasks":[` + v1Task + `],"totalSize":1}`, `{"tasks":[` + v03Task + `],"totalSize":1}`, `{"tasks":[` + v1Task + `],"totalSize":1}`},
		{"card", dialect.GetExtendedAgentCard, `{"name":"n"}`, `{"name":"n"}`, `{"name":"n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantText(t, "V1", tt.v1, string(dialect.V1.AppendResult(nil, tt.o, []byte(tt.v1))))
			wantText(t, "V03", tt.v03, string(dialect.V03.AppendResult(nil, tt.o, []byte(tt.v1))))
			wantText(t, "V03Proto", tt.proto, string(dialect.V03Proto.AppendResult(nil, tt.o, []byte(tt.v1))))
		})
	}
}

// A frame converted alone equals the stream's frame in dialects with stateless streams.
func TestFrameAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, v1, v03 string }{
		{
			"task", `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
			`{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted"}}`,
		},
		{
			"status", `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"role":"ROLE_AGENT","parts":[{"data":1}]}}}}`,
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"auth-required","message":{"kind":"message","role":"agent","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}}]}},"final":false}`,
		},
		{
			"artifact", `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":1}]},"lastChunk":true}}`,
			`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}}]},"lastChunk":true}`,
		},
	} {
		for _, o := range []dialect.Operation{dialect.SendStreamingMessage, dialect.SubscribeToTask} {
			wantText(t, "V03 "+tt.name, tt.v03, string(dialect.V03.AppendResult(nil, o, []byte(tt.v1))))
		}
	}
}

func wantText(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", what, diff)
	}
}

func TestLegacyFrames(t *testing.T) {
	t.Parallel()
	status := func(state, more string) string {
		return `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"` + state + `"}` + more + `}}`
	}
	tests := []struct{ name, v1, v03, proto string }{
		{"task", `{"task":` + v1Task + `}`, v03Task, `{"task":` + protoTask + `}`},
		{
			"working", status("TASK_STATE_WORKING", `,"metadata":{"k":1}`),
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false,"metadata":{"k":1}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"final":false,"metadata":{"k":1}}}`,
		},
		{
			"asked", status("TASK_STATE_INPUT_REQUIRED", ""),
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"final":true}}`,
		},
		{
			"artifact", `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}`,
			`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]},"append":true,"lastChunk":true}`,
			`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for shape, want := range map[dialect.Shape]string{dialect.V1: tt.v1, dialect.V03: tt.v03, dialect.V03Proto: tt.proto} {
				frames := shape.Frames(nil)([]byte(tt.v1))
				if len(frames) != 1 {
					t.Fatalf("%v: %d frames, want 1", shape, len(frames))
				}
				wantText(t, shape.String(), want, string(frames[0]))
			}
		})
	}
}

func TestLegacyFinal(t *testing.T) {
	t.Parallel()
	for state, final := range map[string]string{
		"SUBMITTED": "false", "WORKING": "false", "AUTH_REQUIRED": "false", "INPUT_REQUIRED": "true",
		"COMPLETED": "true", "FAILED": "true", "CANCELED": "true", "REJECTED": "true",
	} {
		v1 := `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
		for _, shape := range []dialect.Shape{dialect.V03, dialect.V03Proto} {
			if got := shape.Frames(nil)([]byte(v1))[0]; !strings.Contains(string(got), `"final":`+final) {
				t.Errorf("%v shows %s as %s, want final %s", shape, state, got, final)
			}
		}
	}
}
