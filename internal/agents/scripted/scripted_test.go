package scripted_test

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/scripted"
)

const script = `
answers:
  - match: your name
    answer: Ada
  - match: 'question (\d+) of (\d+)'
    answer: $1/$2
otherwise: no idea
`

// runScript returns the answer of a script to a message.
func runScript(t *testing.T, s *scripted.Script, m *a2a.Message) (a2a.TaskState, string) {
	t.Helper()
	for ev, err := range s.Execute(context.Background(), &a2asrv.ExecutorContext{Message: m}) {
		if err != nil {
			t.Fatal(err)
		}
		st := ev.(*a2a.TaskStatusUpdateEvent).Status
		return st.State, agent.Text(st.Message)
	}
	t.Fatal("the script says nothing")
	return "", ""
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse("answers.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"What is YOUR name?": "Ada", "Question 3 of 9: what?": "3/9", "And the weather?": "no idea",
	} {
		if state, got := runScript(t, s, a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question))); got != want || state != a2a.TaskStateCompleted {
			t.Errorf("%q is answered %v %q, want %q", question, state, got, want)
		}
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Q: What is your name?\nA: Ada\n\nQuestion 1 of 2"))
	m.Metadata = map[string]any{"parley.asked": map[string]any{"text": "Question 1 of 2"}}
	if _, got := runScript(t, s, m); got != "1/2" {
		t.Errorf("a question with the conversation before it is answered %q", got)
	}
	if state, _ := runScript(t, new(scripted.Script), m); state != a2a.TaskStateRejected {
		t.Errorf("an empty script says %v, want REJECTED", state)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"answers: [{answer: x}]":             "answers[0].match",
		"answers: [{match: x}]":              "answers[0].answer",
		"answers: [{match: '(', answer: x}]": "regular expression",
		"answer: x":                          "answer",
	} {
		if _, err := scripted.Parse("answers.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want a problem of %q", src, err, want)
		}
	}
	if _, err := scripted.Load("nowhere.yaml"); err == nil {
		t.Error("Load of no file succeeds")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(script), "what is your name")
	f.Fuzz(func(t *testing.T, src []byte, question string) {
		s, err := scripted.Parse("fuzz.yaml", src)
		if err != nil {
			return
		}
		runScript(t, s, a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question)))
	})
}
