package model_test

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestFrames checks the prompt of a model that answers for the owner: the asking agent, the
// approved actions, and how to involve a person. The model may have no answer.
func TestFrames(t *testing.T) {
	t.Parallel()
	asked := func(draft bool) map[string]any {
		return map[string]any{"parley.asked": map[string]any{"agent": "caterer", "skill": "dinner", "number": 2, "draft": draft}}
	}
	for name, tt := range map[string]struct {
		meta map[string]any
		ask  bool
		want []string
	}{
		"a question": {asked(false), true, []string{`"caterer"`, `"dinner"`, "question 2", `"alice"`, "approved that you answer this agent alone", "call ask_human", "NO ANSWER"}},
		"a draft":    {asked(true), true, []string{"Nothing is approved", "draft", "NO ANSWER"}},
		"nobody":     {asked(false), false, []string{"Do nothing that is not approved"}},
		"a summary": {map[string]any{"parley.summary": map[string]any{"caller": "mallory", "level": "observe"}}, true, []string{
			`"mallory", trusted to observe only`, "nothing of it is approved", "call ask_human",
		}},
		"anything else": {map[string]any{"mine": true}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := scriptedAgent(t, "turns: [{text: NO ANSWER}]")
			a.SystemPrompt = "You help."
			if tt.ask {
				a.Tools = toolset{{Name: "ask_human", Call: func(context.Context, *llm.Call) (*llm.Result, error) { return textResult("yes"), nil }}}
			}
			var received []*llm.Request
			a.Choices[0].Provider = recordingProvider{a.Choices[0].Provider, &received}
			main := agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("how many guests?"))
				m.Metadata = tt.meta
				got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "clerk", Message: m})
				text := "failed"
				if err == nil {
					text = got.State.String()
				}
				yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))), nil)
			})
			h := start(t, new(memstore.Store), agents{"main": main, "clerk": a})
			state, _ := statusAndText(h.send(text("go")))
			prompt := received[0].Messages[0].Content.Text()
			for _, want := range tt.want {
				if !strings.Contains(prompt, want) {
					t.Errorf("the model receives %q, want %q in it", prompt, want)
				}
			}
			want := "TASK_STATE_REJECTED"
			if tt.want == nil {
				want = "TASK_STATE_COMPLETED"
				if strings.Contains(prompt, "owner") {
					t.Errorf("the model receives %q, want nothing of an owner", prompt)
				}
			}
			if state != want {
				t.Errorf("a model without an answer leaves the task %s, want %s", state, want)
			}
		})
	}
}
