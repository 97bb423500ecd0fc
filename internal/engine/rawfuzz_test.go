package engine

import (
	"encoding/json"
	"testing"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/task"
)

// FuzzRaw passes arbitrary raw events to an engine. Every resulting entry has a frame that is
// JSON.
func FuzzRaw(f *testing.F) {
	for _, s := range []string{
		`{"task":{"id":"x","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"t"}]}],"metadata":{"k":1e400}}}`,
		`{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"t"}]}},"metadata":{}}}`,
		`{"artifactUpdate":{"artifact":{"artifact_id":"a","parts":[{"raw":"eA=="}]},"append":true,"last_chunk":true}}`,
		`{"message":{"role":"agent","parts":[]}}`, `{}`, `[]`, `{"task":{}}`,
	} {
		f.Add([]byte(s))
	}
	l := &live{ref: ref{"ann", "t"}, contextID: "c"}
	h := &task.Head{ID: "t", ContextID: "c"}
	f.Fuzz(func(t *testing.T, b []byte) {
		ev, err := opened(&agent.Raw{JSON: b})
		if err != nil {
			return
		}
		if m, ok := bareOf(ev); ok {
			if body, err := l.answerMessage(m); err == nil && !json.Valid(body) {
				t.Errorf("the message of %q becomes %q", b, body)
			}
			return
		}
		entries, err := l.entries(nil, ev, 1)
		if err != nil {
			return
		}
		for i := range entries {
			if frame := task.AppendFrame(nil, h, &entries[i]); !json.Valid(frame) {
				t.Errorf("%q becomes %q", b, frame)
			}
		}
	})
}
