package dialect_test

import (
	"bytes"
	"encoding/json"

	"pgregory.net/rapid"
)

// The functions of this file draw v1.0 objects as the log contains them.

// anyState draws the name of a state.
func anyState(t *rapid.T) string {
	return "TASK_STATE_" + rapid.SampledFrom([]string{
		"SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED",
	}).Draw(t, "state")
}

// anyTask draws a task. Without room, objects have no unknown members, and only files have a
// media type and a name.
func anyTask(t *rapid.T, room bool) []byte {
	out := append([]byte(`{"id":"t","contextId":"c","status":`), anyStatus(t, room)...)
	if n := rapid.IntRange(0, 2).Draw(t, "artifacts"); n > 0 {
		out = append(out, `,"artifacts":[`...)
		for i := range n {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, anyArtifact(t, room)...)
		}
		out = append(out, ']')
	}
	if rapid.Bool().Draw(t, "history") {
		out = append(append(append(out, `,"history":[`...), anyMessage(t, room)...), ']')
	}
	return append(anyMeta(t, out), '}')
}

func anyStatus(t *rapid.T, room bool) []byte {
	out := append(append([]byte(`{"state":"`), anyState(t)...), '"')
	if rapid.Bool().Draw(t, "says") {
		out = append(append(out, `,"message":`...), anyMessage(t, room)...)
	}
	return append(out, `,"timestamp":"2026-01-31T12:00:00.000Z"}`...)
}

func anyArtifact(t *rapid.T, room bool) []byte {
	out := append([]byte(`{"artifactId":"a","name":"n","description":"d","parts":`), anyParts(t, room)...)
	if room && rapid.Bool().Draw(t, "more") {
		out = append(append(out, `,"x-own":`...), anyValue(t)...)
	}
	return append(anyMeta(t, out), '}')
}

// anyUpdate draws a StreamResponse with an event.
func anyUpdate(t *rapid.T, room bool) []byte {
	out := []byte(`{"statusUpdate":{"taskId":"t","contextId":"c","status":`)
	if rapid.Bool().Draw(t, "artifact") {
		out = []byte(`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":`)
		out = append(out, anyArtifact(t, room)...)
		out = append(out, rapid.SampledFrom([]string{"", `,"append":true`, `,"lastChunk":true`, `,"append":true,"lastChunk":true`}).Draw(t, "chunk")...)
	} else {
		out = append(out, anyStatus(t, room)...)
	}
	return append(anyMeta(t, out), "}}"...)
}

func anyMessage(t *rapid.T, room bool) []byte {
	return anyMessageOf(t, rapid.SampledFrom([]string{"ROLE_USER", "ROLE_AGENT"}).Draw(t, "role"), anyParts(t, room), room)
}

func anyMessageOf(t *rapid.T, role string, parts []byte, room bool) []byte {
	out := append([]byte(`{"messageId":"m","role":"`), role...)
	out = append(append(out, `","parts":`...), parts...)
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
		`9223372036854775807`, `-9223372036854775808`, `18446744073709551615`, `1.10`, `1e400`, `"\u2028\"é"`, `null`, `true`,
		`[]`, `[{"value":1}]`, `{}`, `{"value":2}`, `{"data":3}`, `{"data":{"data":4},"kind":"text"}`, `""`,
	}).Draw(t, "value")
}

func anyParts(t *rapid.T, room bool) []byte {
	var all [][]byte
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		all = append(all, anyPart(t, room))
	}
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')
}

func anyPart(t *rapid.T, room bool) []byte {
	out := []byte{'{'}
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
	return append(out, '}')
}

// anyConfig draws the public view of a push notification config.
func anyConfig(t *rapid.T) []byte {
	id := rapid.SampledFrom([]string{"p", "a/b", "é\u2028", "pushNotificationConfigs"}).Draw(t, "id")
	quoted, _ := json.Marshal(id) // encoding a string never fails
	out := append(append([]byte(`{"taskId":"t","id":`), quoted...), `,"url":"https://a.example/?a=b&c"`...)
	if scheme := rapid.SampledFrom([]string{"", "Bearer", "x y"}).Draw(t, "scheme"); scheme != "" {
		out = append(append(append(out, `,"authentication":{"scheme":"`...), scheme...), `"}`...)
	}
	return append(out, '}')
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
