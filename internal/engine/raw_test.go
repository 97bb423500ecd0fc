package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// yielding yields JSON unchanged.
func yielding(events ...string) *executor {
	return &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		for _, ev := range events {
			if !yield(&agent.Raw{JSON: []byte(ev)}, nil) {
				return
			}
		}
	}}
}

const rawDone = `{"statusUpdate":{"taskId":"theirs","contextId":"theirs","status":{"state":"TASK_STATE_COMPLETED"}}}`

func TestRawEvents(t *testing.T) {
	t.Parallel()
	const artifact = `{"artifactId":"a","parts":[{"data":{"n":12345678901234567890,"f":1.10}}],"x":{"y":[9007199254740993]}}`
	const message = `"messageId":"m9","role":"ROLE_AGENT","parts":[{"text":"hi","x":1e400}],"unknown":18446744073709551615`
	tests := []struct {
		name   string
		events []string
		want   []string // of the frames after the first
	}{
		{
			"artifact",
			[]string{
				`{"artifactUpdate":{"taskId":"theirs","contextId":"theirs","artifact":` + artifact + `,"append":false,"metadata":{"k":1.0}}}`,
				`{"artifactUpdate":{"taskId":"theirs","artifact":{"artifactId":"a","parts":[{"text":"b"}]},"append":true,"lastChunk":true}}`, rawDone,
			},
			[]string{
				`{"artifactUpdate":{"taskId":"$T","contextId":"$C","artifact":` + artifact + `,"metadata":{"k":1.0}}}`,
				`{"artifactUpdate":{"taskId":"$T","contextId":"$C","artifact":{"artifactId":"a","parts":[{"text":"b"}]},"append":true,"lastChunk":true}}`,
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_COMPLETED","timestamp":$AT}}}`,
			},
		},
		{
			"status",
			[]string{
				`{"statusUpdate":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`,
				`{"statusUpdate":{"status":{"state":"TASK_STATE_REJECTED","message":{` + message + `,"taskId":"theirs"}},"metadata":{"n":12345678901234567890}}}`,
			},
			[]string{
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_REJECTED",` +
					`"message":{"taskId":"$T","contextId":"$C",` + message + `},"timestamp":$AT},"metadata":{"n":12345678901234567890}}}`,
			},
		},
		{
			"task",
			[]string{`{"task":{"id":"theirs","contextId":"theirs","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[` + artifact +
				`],"history":[{` + message + `}],"metadata":{"n":12345678901234567890}}}`},
			[]string{
				`{"artifactUpdate":{"taskId":"$T","contextId":"$C","artifact":` + artifact + `,"lastChunk":true}}`,
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_COMPLETED","timestamp":$AT},"metadata":{"n":12345678901234567890}}}`,
			},
		},
		{
			"members that the protocol does not have",
			[]string{
				`{"statusUpdate":{"taskId":"theirs","status":{"state":"TASK_STATE_WORKING","elicitations":[{"n":9007199254740993}],"STATE":"x"},"generation":1.50,"Task_ID":"forged","final":true},"beside":{"":null}}`,
				`{"artifactUpdate":{"artifact":` + artifact + `,"index":12345678901234567890}}`,
				`{"task":{"id":"theirs","status":{"state":"TASK_STATE_COMPLETED","x":1},"generation":3,"append":2,"History":[]}}`,
			},
			[]string{
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_WORKING","timestamp":$AT,"elicitations":[{"n":9007199254740993}]},"generation":1.50},"beside":{"":null}}`,
				`{"artifactUpdate":{"taskId":"$T","contextId":"$C","artifact":` + artifact + `,"index":12345678901234567890}}`,
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_COMPLETED","timestamp":$AT,"x":1},"generation":3}}`,
			},
		},
		{
			"kinds that the protocol does not have",
			[]string{
				`{ "messageUpdate":{"taskId":"theirs","contextId":"theirs","message":{"messageId":"m","task_id":"theirs","parts":[{"data":{"taskId":"d"}}]},` +
					`"metadata":{"parley.question":{},"n":1e400}}, "x":1.50 }`,
				`{"pulse":{},"StatusUpdate":{"status":{"state":"TASK_STATE_FAILED"}}}`, rawDone,
			},
			[]string{
				`{"messageUpdate":{"taskId":"$T","contextId":"$C","message":{"messageId":"m","task_id":"$T","parts":[{"data":{"taskId":"d"}}]},"metadata":{"n":1e400}},"x":1.50}`,
				`{"pulse":{}}`,
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_COMPLETED","timestamp":$AT}}}`,
			},
		},
		{
			"message after another event",
			[]string{`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`, `{"message":{` + message + `}}`},
			[]string{
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_WORKING","timestamp":$AT}}}`,
				`{"artifactUpdate":{"taskId":"$T","contextId":"$C","artifact":{"artifactId":"m9","parts":[{"text":"hi","x":1e400}]},"lastChunk":true}}`,
				`{"statusUpdate":{"taskId":"$T","contextId":"$C","status":{"state":"TASK_STATE_COMPLETED",` +
					`"message":{"taskId":"$T","contextId":"$C",` + message + `},"timestamp":$AT}}}`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, engine.Config{}, agent.With(yielding(tt.events...), agent.Traits{NoMessage: true}))
			s, err := b.Stream(t.Context(), alice, text("hi"))
			if err != nil {
				t.Fatal(err)
			}
			h := s.Task
			got := follow(t, s)
			if len(got) != len(tt.want) {
				t.Fatalf("%d events, want %d", len(got), len(tt.want))
			}
			for i, ev := range got {
				want := strings.NewReplacer("$T", string(h.ID), "$C", h.ContextID, "$AT", string(ev.At.AppendJSON(nil))).Replace(tt.want[i])
				if string(ev.Frame) != want {
					t.Errorf("frame %d:\n got %s\nwant %s", i, ev.Frame, want)
				}
			}
		})
	}
}

func TestRawMessageIsAnAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, yielding(`{"message":{"messageId":"m9","taskId":"theirs","contextId":"theirs","role":"ROLE_AGENT","parts":[{"text":"hi"}],"n":12345678901234567890}}`))
	a := b.send(text("hi"))
	want := `{"contextId":"` + a.Head.ContextID + `","messageId":"m9","role":"ROLE_AGENT","parts":[{"text":"hi"}],"n":12345678901234567890}`
	if string(a.Message) != want {
		t.Errorf("answer %s, want %s", a.Message, want)
	}
}

func TestRawEventThatIsNone(t *testing.T) {
	t.Parallel()
	for _, ev := range []string{
		``, `{`, `[]`, `{}`, `{"other":1}`, `{"task":{}}`, `{"statusUpdate":{}}`, `{"statusUpdate":{"status":{}}}`,
		`{"statusUpdate":{"status":{"state":"TASK_STATE_DREAMING"}}}`, `{"statusUpdate":{"status":{"state":4}}}`,
		`{"artifactUpdate":{}}`, `{"artifactUpdate":{"artifact":[]}}`, `{"message":{"parts":7}}`,
		`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}},"task":{"status":{"state":"TASK_STATE_WORKING"}}}`,
		`{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"},"metadata":[]}}`,
		strings.Repeat(`{"task":`, 200) + strings.Repeat(`}`, 200),
	} {
		b := start(t, engine.Config{}, yielding(ev))
		h := b.send(text("hi")).Head
		if h.State != task.Failed || !strings.Contains(string(h.StatusMessage), "has sent an event that cannot be read: ") {
			t.Errorf("after %q the task is %v with %s, want FAILED with the reason", ev, h.State, h.StatusMessage)
		}
	}
}

// TestOthersInTasks: the task has the unknown members of its current status, and the last value
// of those in its events or an agent's task; a list shows the same.
func TestOthersInTasks(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, agent.With(yielding(
		`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","gone":1},"generation":1,"id":"x"},"beside":1}`,
		`{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[]},"generation":2}}`,
		`{"task":{"status":{"state":"TASK_STATE_COMPLETED","elicitations":[1.50]},"owned":{}}}`,
	), agent.Traits{NoMessage: true}))
	h := b.send(text("hi")).Head
	want := `{"id":"` + string(h.ID) + `","contextId":"` + h.ContextID + `","status":{"state":"TASK_STATE_COMPLETED","timestamp":` +
		string(h.StatusAt.AppendJSON(nil)) + `,"elicitations":[1.50]},"generation":2,"owned":{}}`
	page, err := b.List(t.Context(), alice, &op.List{PageSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	none := 0
	for name, a := range map[string]op.Answer{"get": b.get(h.ID).Answer, "list": page.Tasks[0]} {
		if got := string(a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{History: &none})); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}
