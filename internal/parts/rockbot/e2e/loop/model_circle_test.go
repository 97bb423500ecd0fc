package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// tireless is a model that answers each question of an agent alone, with the n-th of its answers.
func tireless(answer func(n int) string) openaitest.Script {
	return func(r *openaitest.Request) openaitest.Turn {
		last := &r.Messages[len(r.Messages)-1]
		switch text, answers := last.Text(), len(r.Results("continue_task")); {
		case last.Role == "user" && text == "go":
			return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("invoke_agent", map[string]any{
				"agent_name": "ManySkills", "skill": "extract-structured-data", "message": "start",
			})}}
		case last.Role == "user" && strings.Contains(text, "asks back"):
			return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("continue_task", map[string]any{
				"task_id": taskOf(r), "message": answer(answers),
			})}}
		case last.Role == "tool" && !strings.Contains(text, "dispatched"):
			return openaitest.Turn{Text: "I stop: " + text}
		}
		return openaitest.Turn{Text: "I wait."}
	}
}

// TestModelCircles: the limits of questions apply to a model that answers a trusted agent with several
// skills alone. Each answer reaches the skill of the task. The task of the agent fails
// with the reason, the model learns it, and its own task continues.
func TestModelCircles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id, reason, result string
		question, answer   func(n int) string
		requests           int
	}{
		{
			"B20", "has asked more than 20 questions in a row, the last one: question 21?", "has asked more than 20 questions in a row",
			func(n int) string { return fmt.Sprintf("question %d?", n) }, func(n int) string { return fmt.Sprint("answer ", n) }, 21,
		},
		{
			"B21", "3 times in a row; put all that it needs into the request, or split the request up", "Put all that it needs into one request",
			func(int) string { return "Which  COLOUR?" }, func(n int) string { return []string{"blue", "Blue.", "BLUE"}[n%3] }, 3,
		},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			at, asked := broker(t), 0 // the agent handles one request after the other
			w := start(t, at, tireless(tt.answer), options{more: secondSkill})
			many := rockbotpeer.StartAgent(t, at, &rockbotpeer.Agent{Name: "ManySkills", Skills: map[string]func(*rockbotpeer.Task) (*rockbotpeer.Result, error){
				"extract-structured-data": func(t *rockbotpeer.Task) (*rockbotpeer.Result, error) {
					asked++
					return t.Result(rockbotpeer.InputRequired, tt.question(asked)), nil
				},
			}})
			w.parley("trust", "set", "manyskills", "--level", "act", "--approve", "extract-structured-data")
			_, task := w.say(user("go", "", ""))
			if got := answer(task); !strings.HasPrefix(got, "completed: I stop: ") || !strings.Contains(got, tt.result) {
				t.Errorf("the model's task is %q, want %q", got, tt.result)
			}
			if n := len(many.Tasks); n != tt.requests {
				t.Fatalf("the agent got %d requests, want %d", n, tt.requests)
			}
			all := w.models.Requests()
			var child a2a.Task
			err := hubtest.Call(w.ctx, hubtest.Request{URL: w.hub.URL() + "/v1/a2a/tasks/" + taskOf(all[len(all)-1])}, &child)
			if got := answer(&child); err != nil || !strings.HasPrefix(got, "failed: ") || !strings.Contains(got, tt.reason) {
				t.Errorf("the agent's task is %q, %v, want %q", got, err, tt.reason)
			}
			context := ""
			for i := range tt.requests {
				got, want := many.Next(), "start"
				if i > 0 {
					want = tt.answer(i - 1)
				}
				if i == 1 {
					context = rockbotpeer.Val(got.ContextID)
				}
				if i > 0 && (context == "" || rockbotpeer.Val(got.ContextID) != context) {
					t.Errorf("message %d is in the context %q, want %q", i, rockbotpeer.Val(got.ContextID), context)
				}
				if rockbotpeer.Val(got.Skill) != "extract-structured-data" || got.Message.Text() != want {
					t.Errorf("message %d is %q for the skill %q, want %q", i, got.Message.Text(), rockbotpeer.Val(got.Skill), want)
				}
			}
			if items := open(w); len(items) != 0 {
				t.Errorf("the inbox has %+v", items)
			}
			many.Unread()
		})
	}
}
