package dialect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/rawjson"
)

// everyPart is a v1.0 list of parts of every kind.
const everyPart = `[{"text":"hi","mediaType":"text/markdown","metadata":{"n":12345678901234567890}},` +
	`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain","x-n":1.10},{"metadata":{"k":"v"},"url":"https://a.example/"},` +
	`{"data":{"k":[1]}},{"data":[1,2],"metadata":{"k":"v"}},{"data":null}]`

// v03Parts is what everyPart is in v0.3.
const v03Parts = `[{"kind":"text","text":"hi","mediaType":"text/markdown","metadata":{"n":12345678901234567890}},` +
	`{"kind":"file","file":{"bytes":"aGk=","name":"a.txt","mimeType":"text/plain"},"x-n":1.10},` +
	`{"kind":"file","file":{"uri":"https://a.example/"},"metadata":{"k":"v"}},` +
	`{"kind":"data","data":{"k":[1]}},{"kind":"data","data":{"value":[1,2]},"metadata":{"k":"v","data_part_compat":true}},` +
	`{"kind":"data","data":{"value":null},"metadata":{"data_part_compat":true}}]`

// protoParts is what it is in the proto of v0.3, whose readers refuse other members.
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
				frames := dialect.Shape.Frames(shape)([]byte(tt.v1))
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
			if got := shape.Frames()([]byte(v1))[0]; !strings.Contains(string(got), `"final":`+final) {
				t.Errorf("%v shows %s as %s, want final %s", shape, state, got, final)
			}
		}
	}
}

// legacyReader reads what the writers of a shape wrote, as a client would.
type legacyReader struct {
	parts string
	part  func(dst, part []byte) ([]byte, error)
}

// v1 returns an object of v0.3 as one of v1.0.
func (r *legacyReader) v1(t *rapid.T, obj []byte) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(obj) {
		switch name {
		case "kind", "final":
			continue
		case r.parts, "parts":
			name = "parts"
			v = r.each(v, func(v []byte) []byte {
				got, err := r.part(nil, v)
				if err != nil {
					t.Fatalf("part %s: %v", v, err)
				}
				return got
			})
		case "status", "message":
			v = r.v1(t, v)
		case "history", "artifacts":
			v = r.each(v, func(v []byte) []byte { return r.v1(t, v) })
		case "role":
			v = []byte(`"ROLE_` + strings.TrimPrefix(strings.ToUpper(string(v[1:])), "ROLE_"))
		case "state":
			s := strings.ReplaceAll(strings.ToUpper(string(v[1:])), "-", "_")
			s = strings.ReplaceAll(strings.TrimPrefix(s, "TASK_STATE_"), "CANCELLED", "CANCELED")
			v = []byte(`"TASK_STATE_` + s)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, name), ':'), v...)
	}
	return append(out, '}')
}

func (*legacyReader) each(list []byte, one func(v []byte) []byte) []byte {
	var all [][]byte
	for v := range rawjson.Elements(list) {
		all = append(all, one(v))
	}
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')
}

// TestLegacyRoundTrip writes tasks, reads them back and writes them again: nothing is
// lost, and not a byte differs.
func TestLegacyRoundTrip(t *testing.T) {
	t.Parallel()
	readers := map[dialect.Shape]*legacyReader{
		dialect.V03:      {"parts", dialect.ReadV03Part},
		dialect.V03Proto: {"content", dialect.ReadProtoPart},
	}
	for shape, reader := range readers {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				v1 := anyTask(t, shape == dialect.V03)
				once := shape.AppendResult(nil, dialect.GetTask, v1)
				if err := rawjson.Check(once, 100); err != nil {
					t.Fatalf("%s is not JSON: %v", once, err)
				}
				read := reader.v1(t, once)
				if diff := cmp.Diff(decoded(t, v1), decoded(t, read)); diff != "" {
					t.Fatalf("%s lost something (-want +got):\n%s", once, diff)
				}
				if twice := shape.AppendResult(nil, dialect.GetTask, read); !bytes.Equal(once, twice) {
					t.Fatalf("written again as %s, want %s", twice, once)
				}
			})
		})
	}
}

// decoded returns a value whose numbers have all their digits.
func decoded(t *rapid.T, b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

// anyTask draws a v1.0 task. Only JSON-RPC has room for members that nobody knows, and
// for the media type and the name of what is not a file.
func anyTask(t *rapid.T, room bool) []byte {
	states := []string{"SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED"}
	out := append([]byte(`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_`), rapid.SampledFrom(states).Draw(t, "state")...)
	out = append(out, '"')
	if rapid.Bool().Draw(t, "says") {
		out = append(append(out, `,"message":`...), anyMessage(t, room)...)
	}
	out = append(out, `,"timestamp":"2026-01-31T12:00:00.000Z"}`...)
	if n := rapid.IntRange(0, 2).Draw(t, "artifacts"); n > 0 {
		out = append(out, `,"artifacts":[`...)
		for i := range n {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, `{"artifactId":"a","name":"n","description":"d","parts":`...), anyParts(t, room)...)
			out = append(out, '}')
		}
		out = append(out, ']')
	}
	if rapid.Bool().Draw(t, "history") {
		out = append(append(append(out, `,"history":[`...), anyMessage(t, room)...), ']')
	}
	return append(anyMeta(t, out), '}')
}

func anyMessage(t *rapid.T, room bool) []byte {
	role := rapid.SampledFrom([]string{"ROLE_USER", "ROLE_AGENT"}).Draw(t, "role")
	out := append([]byte(`{"messageId":"m","role":"`), role...)
	out = append(append(out, `","parts":`...), anyParts(t, room)...)
	if room {
		out = append(out, `,"referenceTaskIds":["r"],"x-own":{"n":18446744073709551615}`...)
	}
	return append(anyMeta(t, out), '}')
}

func anyMeta(t *rapid.T, out []byte) []byte {
	if !rapid.Bool().Draw(t, "meta") {
		return out
	}
	return append(append(append(out, `,"metadata":{"k":`...), anyValue(t)...), '}')
}

// anyValue draws a JSON value, often a number that a double cannot hold.
func anyValue(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		`9223372036854775807`, `-9223372036854775808`, `1.10`, `"\u2028\"é"`, `null`, `true`, `[]`, `[{"value":1}]`,
		`{}`, `{"value":2}`, `{"data":3}`, `{"data":{"data":4},"kind":"text"}`, `""`,
	}).Draw(t, "value")
}

func anyParts(t *rapid.T, room bool) []byte {
	out := []byte{'['}
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		file := false
		switch rapid.IntRange(0, 3).Draw(t, "content") {
		case 0:
			out = append(append(out, `"text":`...), rapid.SampledFrom([]string{`""`, `"a"`, `"\\\"\n"`}).Draw(t, "text")...)
		case 1:
			out = append(append(out, `"raw":`...), rapid.SampledFrom([]string{`"aGk="`, `"AAECAw=="`, `"YUdrPQ=="`, `"/+8="`}).Draw(t, "raw")...)
			file = true
		case 2:
			out = append(out, `"url":"https://a.example/?a=b&c"`...)
			file = true
		default:
			out = append(append(out, `"data":`...), anyValue(t)...)
		}
		if (file || room) && rapid.Bool().Draw(t, "named") {
			out = append(out, `,"filename":"f","mediaType":"text/plain"`...)
		}
		out = anyMeta(t, out)
		if room && rapid.Bool().Draw(t, "more") {
			out = append(append(out, `,"x-own":`...), anyValue(t)...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}
