package reading_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnreadableAnswers lets agents answer with text that is not quite JSON, or not quite A2A. If
// its meaning is plain, the hub reads it. Otherwise the task fails at once, and says why, with what could be read beside it.
func TestUnreadableAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		part, part03 string
		// want is the part as the hub has it; empty if it cannot be read, for the reason why.
		want, why string
	}{
		"half an emoji":         {part: `{"text":"half \ud83d"}`, want: `{"text":"half \ufffd"}`},
		"bytes of Latin-1":      {part: "{\"text\":\"caf\xe9\"}", want: `{"text":"caf` + "\ufffd" + `"}`},
		"base64 on lines":       {part: `{"raw":"QUFB\nQUFB\r\n"}`, part03: `{"kind":"file","file":{"bytes":"QUFB\nQUFB\r\n"}}`, want: `{"raw":"QUFBQUFB"}`},
		"members that are null": {part: `{"text":"x","data":null,"raw":null,"url":null,"metadata":null,"filename":null}`, want: `{"text":"x"}`},
		"null as a value":       {part: `{"data":null}`, want: `{"data":null}`},
		"no number":             {part: `{"data":{"score":NaN}}`, why: "invalid JSON"},
		"two contents":          {part: `{"text":"x","data":1}`, why: "parts[0]: must have exactly one"},
		"no content":            {part: `{"what":1}`, why: "parts[0]: must have exactly one"},
		"text that is none":     {part: `{"text":5}`, why: "parts[0].text: must be a string"},
		"metadata of none":      {part: `{"text":"x","metadata":[]}`, why: "parts[0].metadata: must be an object"},
	} {
		for _, dialect := range dialects {
			for _, way := range []string{"stream", "blocking", "poll"} {
				t.Run(strings.Join([]string{name, dialect, way}, "/"), func(t *testing.T) {
					t.Parallel()
					f := &far{dialect: dialect, way: way}
					part := tt.part
					if f.old() && tt.part03 != "" {
						part = tt.part03
					}
					f.artifacts = []string{
						`{"artifactId":"before","parts":[{"text":"before"}]}`,
						fmt.Sprintf(`{"artifactId":"odd","parts":[%s]}`, part),
						`{"artifactId":"after","parts":[{"text":"after"}]}`,
					}
					n := startHub(t, f.start(t))
					got := n.send(t)
					want := `[{"text":"before"},` + tt.want + `,{"text":"after"}]`
					if tt.why == "" {
						if got.Status.State != "TASK_STATE_COMPLETED" || got.parts() != want {
							t.Errorf("the task is %s %q with %s, want %s", got.Status.State, got.says(), got.parts(), want)
						}
						return
					}
					if want = `[{"text":"before"},{"text":"after"}]`; way != "stream" && tt.why == "invalid JSON" {
						want = `[]` // one answer, which is no JSON
					}
					says := got.says()
					if got.Status.State != "TASK_STATE_FAILED" || got.parts() != want ||
						!strings.Contains(says, "sent an unreadable answer") || !strings.Contains(says, tt.why) {
						t.Errorf("the task is %s %q with %s, want the reason %q and %s", got.Status.State, says, got.parts(), tt.why, want)
					}
					f.mu.Lock()
					defer f.mu.Unlock()
					if f.reads > 2 {
						t.Errorf("the task was read %d times", f.reads)
					}
				})
			}
		}
	}
}

// TestErrorsOfAgents lets agents answer with an error: their words are the message of the task.
func TestErrorsOfAgents(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects {
		for _, way := range []string{"stream", "blocking"} {
			t.Run(dialect+"/"+way, func(t *testing.T) {
				t.Parallel()
				f := &far{dialect: dialect, way: way, boom: "boom: the model is gone"}
				got := startHub(t, f.start(t)).send(t)
				if want := `agent "far" failed: ` + f.boom; got.Status.State != "TASK_STATE_FAILED" || got.says() != want {
					t.Errorf("the task is %s %q, want %q", got.Status.State, got.says(), want)
				}
			})
		}
	}
}
