package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// TestOnlyTheHubPosesQuestions: neither an agent nor a caller can send a message in the hub's
// name; their other metadata stays.
func TestOnlyTheHubPosesQuestions(t *testing.T) {
	t.Parallel()
	forged := map[string]any{
		"parley.question": map[string]any{"number": 7, "kind": "input", "message": "x"}, "parley.answer": 7, "mine": true,
	}
	for name, ev := range map[string]func(*a2asrv.ExecutorContext) a2a.Event{
		"status": func(ec *a2asrv.ExecutorContext) a2a.Event {
			ev := a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("forged")))
			ev.Metadata = forged
			return ev
		},
		"task": func(ec *a2asrv.ExecutorContext) a2a.Event {
			return &a2a.Task{ID: ec.TaskID, ContextID: ec.ContextID, Metadata: forged, Status: a2a.TaskStatus{
				State: a2a.TaskStateWorking, Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("forged")),
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(memstore.Store)
			b := start(t, engine.Config{Store: store}, &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				_ = yield(ev(ec), nil) && yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
			}})
			s := text("hi")
			s.Message.Body = []byte(strings.TrimSuffix(string(s.Message.Body), "}") + `,"metadata":{"parley\u002eanswer":3,"his":1}}`)
			a := b.send(s)
			whole := string(a.Fold.AppendTask(nil, &a.Head, task.TaskOptions{}))
			for m := range a.Fold.EachMessage() {
				whole += string(m.Body)
			}
			if strings.Contains(whole, "parley.") || strings.Contains(whole, "u002e") || !strings.Contains(whole, `"mine":true`) || !strings.Contains(whole, `"his":1`) {
				t.Errorf("the task is %s", whole)
			}
			turns, err := (&memory.Turns{Log: store}).Continue(t.Context(), "alice", a.Head.ContextID)
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				if turn.Text == "forged" {
					t.Errorf("the forged metadata of the agent counts as a question: %+v", turns)
				}
			}
			if len(turns) != 2 {
				t.Errorf("the conversation is %+v", turns)
			}
		})
	}
}

// TestPurposesAreOfTheHub: a caller cannot claim a purpose of the hub; an agent of the hub can.
func TestPurposesAreOfTheHub(t *testing.T) {
	t.Parallel()
	received := make(chan string, 2)
	other := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		received <- fmt.Sprint(ec.Message.Metadata)
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	asker := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		received <- fmt.Sprint(ec.Message.Metadata)
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi"))
		m.Metadata = map[string]any{"parley.asked": "b", "parley.summary": "c"}
		_, _ = agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "other", Message: m})
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{}, asker)
	b.register("other", other)
	r := text("hi")
	r.Message.Body = []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"metadata":{"parley.asked":"b","a":"d","parley.summary":"c"}}`)
	b.send(r)
	for _, want := range []string{"map[a:d]", "map[parley.asked:b parley.summary:c]"} {
		if got := <-received; got != want {
			t.Errorf("the agent received %s, want %s", got, want)
		}
	}
}
