package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/dialect"
)

// drawer draws v1.0 events that the hub could send.
type drawer struct{ *rapid.T }

func (d drawer) word(label string) string {
	return rapid.StringMatching(`[a-zA-Z0-9ä€ "\\/<-]{1,12}`).Draw(d.T, label)
}

func (d drawer) maybe(label string) bool { return rapid.Bool().Draw(d.T, label) }

func (d drawer) metadata() map[string]any {
	return map[string]any{"k-" + d.word("key"): rapid.SampledFrom([]any{
		"v", true, json.Number("12345678901234567890"), json.Number("0.10"), []any{"a"}, map[string]any{"x": nil},
	}).Draw(d.T, "value")}
}

func (d drawer) part() map[string]any {
	p := map[string]any{}
	switch rapid.IntRange(0, 4).Draw(d.T, "content") {
	case 0:
		p["text"] = d.word("text")
	case 1:
		p["data"] = d.metadata()
	case 2:
		p["data"] = rapid.SampledFrom([]any{json.Number("7"), "s", []any{}, nil, false}).Draw(d.T, "data")
	case 3:
		p["raw"] = rapid.SampledFrom([]string{"aGVsbG8=", "", "AAEC"}).Draw(d.T, "raw")
	case 4:
		p["url"] = "https://x/" + d.word("url")
	}
	if p["raw"] != nil || p["url"] != nil {
		if d.maybe("named") {
			p["filename"] = d.word("filename")
		}
		if d.maybe("typed") {
			p["mediaType"] = "image/png"
		}
	}
	if d.maybe("part metadata") {
		p["metadata"] = d.metadata()
	}
	return p
}

func (d drawer) parts() []any {
	var list []any
	for range rapid.IntRange(1, 3).Draw(d.T, "parts") {
		list = append(list, d.part())
	}
	return list
}

func (d drawer) message() map[string]any {
	m := map[string]any{
		"messageId": d.word("messageId"), "parts": d.parts(),
		"role": rapid.SampledFrom([]string{"ROLE_USER", "ROLE_AGENT"}).Draw(d.T, "role"),
	}
	if d.maybe("message ids") {
		m["taskId"], m["contextId"] = "t", "c"
	}
	if d.maybe("message metadata") {
		m["metadata"] = d.metadata()
	}
	return m
}

func (d drawer) status() map[string]any {
	s := map[string]any{"state": rapid.SampledFrom([]string{
		"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED",
		"TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED",
	}).Draw(d.T, "state")}
	if d.maybe("status message") {
		s["message"] = d.message()
	}
	if d.maybe("timestamp") {
		s["timestamp"] = "2026-01-02T03:04:05.678Z"
	}
	return s
}

func (d drawer) artifact() map[string]any {
	a := map[string]any{"artifactId": d.word("artifactId"), "parts": d.parts()}
	if d.maybe("artifact names") {
		a["name"], a["description"] = d.word("name"), d.word("description")
	}
	return a
}

func (d drawer) event() map[string]any {
	ids := map[string]any{"taskId": "t", "contextId": "c"}
	switch rapid.IntRange(0, 3).Draw(d.T, "event") {
	case 0:
		task := map[string]any{"id": "t", "contextId": "c", "status": d.status()}
		if d.maybe("artifacts") {
			task["artifacts"] = []any{d.artifact(), d.artifact()}
		}
		if d.maybe("history") {
			task["history"] = []any{d.message()}
		}
		if d.maybe("task metadata") {
			task["metadata"] = d.metadata()
		}
		return map[string]any{"task": task}
	case 1:
		return map[string]any{"message": d.message()}
	case 2:
		ids["status"] = d.status()
		return map[string]any{"statusUpdate": ids}
	}
	ids["artifact"] = d.artifact()
	if d.maybe("append") {
		ids["append"] = true
	}
	if d.maybe("lastChunk") {
		ids["lastChunk"] = true
	}
	return map[string]any{"artifactUpdate": ids}
}

// generic reads JSON without losing digits.
func generic(t interface{ Fatalf(string, ...any) }, b []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s is not JSON: %v", b, err)
	}
	return v
}

// The client side reads the output of the hub's encoders back unchanged, as far as the dialect
// can carry it.
func TestAnswersAreReadBack(t *testing.T) {
	t.Parallel()
	for _, s := range withAdded(dialect.V1, dialect.V03, dialect.V03Proto) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				want := drawer{rt}.event()
				v1, _ := json.Marshal(want)
				frames := s.Frames(nil)(v1)
				if len(frames) == 0 {
					rt.Fatalf("%s shows %s as nothing", s, v1)
				}
				got, err := s.ReadFrame(frames[0])
				if err != nil {
					rt.Fatalf("%s: ReadFrame(%s) = %v", s, frames[0], err)
				}
				if diff := cmp.Diff(carried(s, generic(rt, v1)), carried(s, generic(rt, got.JSON))); diff != "" {
					rt.Fatalf("%s: %s (-want +got):\n%s", s, frames[0], diff)
				}
			})
		})
	}
}

// withAdded returns shapes and those of all parts.
func withAdded(shapes ...dialect.Shape) []dialect.Shape {
	for _, d := range dialect.Added() {
		shapes = append(shapes, d.Shape)
	}
	return shapes
}

// carried returns the part of an event that a dialect can carry.
func carried(s dialect.Shape, event any) any {
	e := event.(map[string]any)
	if !dialect.Of(s).Serving.Tasks {
		return e
	}
	// The first chunk of an artifact appends like all others.
	if chunk, ok := e["artifactUpdate"].(map[string]any); ok {
		chunk["append"] = true
	}
	if task, ok := e["task"].(map[string]any); ok {
		// A snapshot is sent as its status, and a task is working from its first event on.
		if status := task["status"].(map[string]any); status["state"] == "TASK_STATE_SUBMITTED" {
			status["state"] = "TASK_STATE_WORKING"
		}
		return map[string]any{"statusUpdate": map[string]any{"taskId": task["id"], "contextId": task["contextId"], "status": task["status"]}}
	}
	return e
}

// The answer to a send is read back as well.
func TestSendResultsAreReadBack(t *testing.T) {
	t.Parallel()
	for _, s := range withAdded(dialect.V1, dialect.V03, dialect.V03Proto) {
		if dialect.Of(s).Serving.Messages {
			continue // it answers with a message alone
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				var event map[string]any
				for event["task"] == nil && event["message"] == nil {
					event = drawer{rt}.event()
				}
				v1, _ := json.Marshal(event)
				wire := s.AppendResult(nil, dialect.SendMessage, v1)
				got, err := s.ReadResult(dialect.SendMessage, wire)
				if err != nil {
					rt.Fatalf("ReadResult(%s) = %v", wire, err)
				}
				if diff := cmp.Diff(generic(rt, v1), generic(rt, got)); diff != "" {
					rt.Fatalf("%s (-want +got):\n%s", wire, diff)
				}
			})
		})
	}
}

// The hub's own reader accepts the params that the client side writes.
func TestAsksAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, s := range withAdded(dialect.V1, dialect.V03, dialect.V03Proto) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				d := drawer{rt}
				msg := d.message()
				msg["role"] = "ROLE_USER"
				v1, _ := json.Marshal(map[string]any{"message": msg, "configuration": map[string]any{"returnImmediately": d.maybe("at once")}})
				wire := s.AppendParams(nil, dialect.SendMessage, v1)
				back, err := s.Request(dialect.SendMessage, wire)
				if err != nil {
					rt.Fatalf("Request(%s) = %v", wire, err)
				}
				dec := dialect.Decoder{Fill: true}
				want, err := dec.Send(v1)
				if err != nil {
					rt.Fatalf("Send(%s) = %v", v1, err)
				}
				got, err := dec.Send(back)
				if err != nil {
					rt.Fatalf("Send(%s) = %v", back, err)
				}
				if diff := cmp.Diff(generic(rt, want.Message.Body), generic(rt, got.Message.Body)); diff != "" {
					rt.Fatalf("%s (-want +got):\n%s", wire, diff)
				}
				if want.ReturnImmediately != got.ReturnImmediately {
					rt.Fatalf("%s waits otherwise than %s", wire, v1)
				}
			})
		})
	}
}

func TestReadStates(t *testing.T) {
	t.Parallel()
	for state, spellings := range map[a2a.TaskState][]string{
		a2a.TaskStateInputRequired: {
			`"TASK_STATE_INPUT_REQUIRED"`, `"input-required"`, `"input_required"`, `"inputRequired"`, `"InputRequired"`, `6`, `"INPUT_REQUIRED"`,
		},
		a2a.TaskStateCanceled:  {`"TASK_STATE_CANCELED"`, `"TASK_STATE_CANCELLED"`, `"canceled"`, `"cancelled"`, `"Canceled"`, `5`},
		a2a.TaskStateCompleted: {`"completed"`, `"Completed"`, `3`},
	} {
		for _, v := range spellings {
			if got, err := dialect.ReadState([]byte(v)); got != state || err != nil {
				t.Errorf("ReadState(%s) = %q, %v, want %s", v, got, err, state)
			}
		}
	}
	for _, v := range []string{`"unknown"`, `"TASK_STATE_UNSPECIFIED"`, `0`, `9`, `""`, `"done"`, `null`, `{}`} {
		if got, err := dialect.ReadState([]byte(v)); err == nil {
			t.Errorf("ReadState(%s) = %q, want an error", v, got)
		}
	}
}

func TestReadFrameOfOthers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, wire, want string
		final            bool
	}{
		{
			"kinds of v0.3", `{"kind":"task","id":"t","contextId":"","status":{"state":"working","timestamp":"2026-01-02T03:04:05+02:00"},"x":1e400}`,
			`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T01:04:05Z"},"x":1e400}}`, false,
		},
		{
			"final", `{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":"completed","timestamp":"soon"}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`, true,
		},
		{
			"a status of v0.3 with a member like the name around it",
			`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"statusUpdate":{"x":1}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"statusUpdate":{"x":1}}}`, false,
		},
		{
			"a task of v0.3 with a member like the name around it",
			`{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},"task":{"x":1}}`,
			`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"task":{"x":1}}}`, false,
		},
		{
			"beside an event in snake case", `{"status_update":{"task_id":"t","context_id":"c","status":{"state":2}},"x":1}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}},"x":1}`, false,
		},
		{
			"snake case", `{"status_update":{"task_id":"t","context_id":"c","status":{"state":2}}}`,
			`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`, false,
		},
		{
			"an artifact without a wrapper", `{"taskId":"t","artifact":{"artifact_id":"a","parts":[{"text":"x","media_type":"text/plain"}]},"append":true}`,
			`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"x","mediaType":"text/plain"}]},"append":true}}`, false,
		},
		{
			"kinds in v1.0", `{"message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}}`,
			`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`, false,
		},
		{
			"the reply beside the status", `{"id":"t","status":{"state":"completed"},"message":{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}}`,
			`{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}}}`, false,
		},
		{
			"a status with a message of its own", `{"id":"t","status":{"message":{"messageId":"m","role":"agent","parts":[{"text":"y"}]},"state":"completed"},"message":"words"}`,
			`{"task":{"id":"t","status":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"y"}]},"state":"TASK_STATE_COMPLETED"},"message":"words"}}`, false,
		},
		{
			"naive time", `{"id":"t","status":{"state":"working","timestamp":"2026-01-02T03:04:05.5"}}`,
			`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.5Z"}}}`, false,
		},
	}
	for _, tt := range tests {
		for _, s := range withAdded(dialect.V1, dialect.V03) {
			f, err := s.ReadFrame([]byte(tt.wire))
			if err != nil || string(f.JSON) != tt.want || f.Final != tt.final {
				t.Errorf("%s, read as %s: %s, final %t, %v\nwant %s", tt.name, s, f.JSON, f.Final, err, tt.want)
			}
		}
	}
}

func TestReadFrameRefuses(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		`{"id":"t","status":{"state":"exploded"}}`:                     `task.status.state: "exploded" is not a state`,
		`{"kind":"task","id":"t","status":{"state":"unknown"}}`:        "task.status.state",
		`{"task":{"id":"t"}}`:                                          "task.status: is required",
		`{"task":{"status":{"state":"working"}}}`:                      "task.id: is required",
		`{"taskId":"t","artifact":{"parts":[{"kind":"x","text":""}]}}`: "artifactUpdate.artifact.parts[0]",
		`{"statusUpdate":{"status":{"state":"working"}}}`:              "statusUpdate.taskId: is required",
		`{"statusUpdate":{"taskId":"t"}}`:                              "statusUpdate.status: is required",
		`{"id":"t","id":"u","status":{"state":"working"}}`:             "appears twice",
		`{"hello":"world"}`:                                            "is not a task, a message or an event",
		`[]`:                                                           "must be an object",
		`{"id":"t"`:                                                    "unexpected end",
	} {
		_, err := dialect.V03.ReadFrame([]byte(wire))
		if !errors.Is(err, a2a.ErrInvalidAgentResponse) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("ReadFrame(%s) = %v, want ErrInvalidAgentResponse that says %q", wire, err, want)
		}
	}
}

// TestOtherEventsGoRound: events and members that the protocol does not define survive a round
// trip in v1.0 and v0.3. The shapes with a closed set of members omit them.
func TestOtherEventsGoRound(t *testing.T) {
	t.Parallel()
	const (
		other  = `{"messageUpdate":{"taskId":"t","message":{"messageId":"m"},"n":9007199254740993}}`
		status = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","x":1.50},"generation":1e400}}`
	)
	for _, v1 := range []string{other, status, `{"ping":{},"n":1}`} {
		for _, s := range []dialect.Shape{dialect.V1, dialect.V03} {
			if s == dialect.V03 && v1[2] == 'p' {
				continue // v0.3 has no members beside the event
			}
			frames := s.Frames(nil)([]byte(v1))
			if len(frames) != 1 {
				t.Fatalf("%v shows %s as %q, want one event", s, v1, frames)
			}
			got, err := s.ReadFrame(frames[0])
			if err != nil || string(got.JSON) != v1 {
				t.Errorf("%v shows %s as %s, which is read as %s, %v", s, v1, frames[0], got.JSON, err)
			}
		}
	}
	for _, s := range withAdded(dialect.V03Proto) {
		if frames := s.Frames(nil)([]byte(other)); len(frames) != 0 {
			t.Errorf("%v shows %q, want nothing", s, frames)
		}
	}
	beside := strings.TrimSuffix(status, "}") + `,"beside":[1.0]}`
	if got, err := dialect.V1.ReadFrame([]byte(beside)); err != nil || string(got.JSON) != beside {
		t.Errorf("ReadFrame(%s) = %s, %v", beside, got.JSON, err)
	}
	want := `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","x":1.50},"final":false,"generation":1e400,"beside":[1.0]}`
	if got := dialect.V03.Frames(nil)([]byte(beside)); len(got) != 1 || string(got[0]) != want {
		t.Errorf("v0.3 shows %s as %s, want %s", beside, got, want)
	}
	for _, s := range withAdded(dialect.V03Proto) {
		if got := s.Frames(nil)([]byte(beside)); len(got) != 1 || strings.Contains(string(got[0]), "beside") {
			t.Errorf("%v shows %s as %s, want one event without what stands beside it", s, beside, got)
		}
	}
}
