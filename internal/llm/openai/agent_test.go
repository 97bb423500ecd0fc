package openai_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// look is a tool that returns its arguments.
type look struct{}

func (look) Tools(context.Context) ([]llm.Tool, error) {
	return []llm.Tool{{
		Name: "look", Description: "Looks.", ReadOnly: true, Input: []byte(`{"type":"object","properties":{"at":{"type":"string"}}}`),
		Call: func(_ context.Context, c *llm.Call) (*llm.Result, error) {
			return &llm.Result{Parts: []*a2a.Part{a2a.NewTextPart("seen " + string(c.Arguments))}}, nil
		},
	}}, nil
}

func (look) Changed() <-chan struct{} { return nil }

// TestAgent runs an agent against a server that rejects histories which it has not produced
// itself. It covers parallel calls, an interrupted turn, and an image.
func TestAgent(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Config{}, openaitest.Table(
		openaitest.Case{
			Try: []openaitest.Turn{{Text: "Let me look around.", Fault: openaitest.Fault{Cut: 2}}},
			Reply: openaitest.Turn{Text: "Let me look around.", Calls: []openaitest.Call{
				openaitest.CallOf("look", map[string]string{"at": "the moon"}), openaitest.CallOf("look", map[string]string{"at": "the sün"}),
			}},
		},
		openaitest.Case{Round: 1, Result: "sün", Reply: openaitest.Turn{Text: "Both are there."}},
	))
	a := &model.Agent{Choices: []model.Choice{{Provider: endpoint(t, s.URL), Model: "test"}}, SystemPrompt: "You look.", Tools: look{}}
	ec := &a2asrv.ExecutorContext{
		TaskID: "t", ContextID: "c", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("what is there?"),
			&a2a.Part{Content: a2a.Raw("\x89PNG"), MediaType: "image/png"}),
	}
	var got []string
	answer := ""
	for ev, err := range a.Execute(t.Context(), ec) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			if !ev.Append {
				answer = ""
			}
			answer += ev.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			text := ""
			if ev.Status.Message != nil {
				text = ev.Status.Message.Parts[0].Text()
			}
			got = append(got, fmt.Sprint(ev.Status.State, " ", text))
		}
	}
	want := []string{"TASK_STATE_WORKING ", "TASK_STATE_WORKING calling look", "TASK_STATE_WORKING calling look", "TASK_STATE_COMPLETED Both are there."}
	if diff := cmp.Diff(want, got); diff != "" || answer != "Both are there." {
		t.Errorf("the artifact is %q, statuses mismatch (-want +got):\n%s", answer, diff)
	}
}
