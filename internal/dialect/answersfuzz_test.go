package dialect_test

import (
	"bytes"
	"testing"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// A peer's frame is refused, or becomes valid v1.0 that reads as the same frame again.
func FuzzReadFrame(f *testing.F) {
	for _, wire := range []string{
		`{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},"artifacts":[{"artifactId":"a","parts":[{"kind":"file","file":{"bytes":"AA=="}}]}]}`,
		`{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":"completed","message":{"kind":"message","role":"agent","parts":[]}}}`,
		`{"taskId":"t","artifact":{"parts":[{"data":{"value":1},"metadata":{"data_part_compat":true}}]},"append":true,"lastChunk":false}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"file":{"fileWithBytes":"QUE9PQ=="}},{"data":{"data":{}}}]}}`,
		`{"statusUpdate":{"task_id":"t","status":{"state":6,"timestamp":"2026-01-02T03:04:05"}}}`,
		`{"taskId":"j","state":"Completed","artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"x","data":null}]}],"message":{"role":"agent","parts":[]}}`,
		`{"id":"","status":{"state":"completed","message":{"messageId":"m","role":"agent","parts":[{"text":"x"}]}}}`, `[]`, `{`, ``,
	} {
		for s := range uint8(6) {
			f.Add(s, []byte(wire))
		}
	}
	f.Fuzz(func(t *testing.T, shape uint8, wire []byte) {
		s := dialect.Shape(shape % 6)
		if job, err := dialect.ReadJobAnswer("j", "j", wire); err == nil && job.Code == "" && rawjson.Check(job.JSON, 200) != nil {
			t.Fatalf("ReadJobAnswer(%q) = %s, which is not JSON", wire, job.JSON)
		}
		for o := dialect.SendMessage; o <= dialect.GetExtendedAgentCard; o++ {
			if out, err := s.ReadResult(o, wire); err == nil && rawjson.Check(out, 200) != nil {
				t.Fatalf("%s: ReadResult(%s, %q) = %q, which is not JSON", s, o, wire, out)
			}
		}
		frame, err := s.ReadFrame(wire)
		if err != nil {
			return
		}
		if rawjson.Check(frame.JSON, 200) != nil || bytes.ContainsAny(frame.JSON, "\r\n") {
			t.Fatalf("%s: ReadFrame(%q) = %q, which is not JSON on one line", s, wire, frame.JSON)
		}
		again, err := dialect.V1.ReadFrame(frame.JSON)
		if err != nil || !bytes.Equal(again.JSON, frame.JSON) {
			t.Fatalf("%s: ReadFrame(%q) = %s, read once more %s, %v", s, wire, frame.JSON, again.JSON, err)
		}
	})
}

// AppendParams writes valid JSON for all valid params.
func FuzzAppendParams(f *testing.F) {
	for _, params := range []string{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":{"skill":"s"}},{"raw":"AA==","filename":"f"}],"metadata":{"skillId":"s"}}}`,
		`{"message":{"parts":[{"data":5}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"u","authentication":{"scheme":"b"}}}}`,
		`{"taskId":"t","id":"c","url":"u","authentication":{"scheme":"Bearer","credentials":"c"}}`, `{}`, `{"message":[]}`,
	} {
		f.Add(uint8(1), uint8(1), []byte(params))
	}
	f.Fuzz(func(t *testing.T, shape, operation uint8, params []byte) {
		if dialect.CheckAsk(params) != nil {
			return
		}
		s, o := dialect.Shape(shape%6), dialect.Operation(operation%11+1)
		out := s.AppendParams(nil, o, params)
		if err := rawjson.Check(out, 200); err != nil {
			t.Fatalf("%s: AppendParams(%s, %q) = %q: %v", s, o, params, out, err)
		}
	})
}
