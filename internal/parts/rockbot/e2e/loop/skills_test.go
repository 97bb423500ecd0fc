package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// secondSkill is the rest of the configuration of an agent with a second skill: the agent of the
// loop under another name, whose questions only the skill of its task decides.
const secondSkill = `
  - name: manyskills
    rockbot: ManySkills
    skills: [{id: extract-structured-data, description: Extracts.}, {id: translate, description: Translates.}, {id: general, description: Anything.}]
`

// interviewer is a model that invokes ManySkills and answers all its questions alone.
func interviewer(r *openaitest.Request) openaitest.Turn {
	last := &r.Messages[len(r.Messages)-1]
	switch text := last.Text(); {
	case last.Role == "user" && strings.HasPrefix(text, "extract it"):
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("invoke_agent", map[string]any{
			"agent_name": "ManySkills", "skill": "extract-structured-data", "message": "begin",
		})}}
	case strings.Contains(text, "the person you work for decides"):
		return openaitest.Turn{Text: "a draft"}
	case last.Role == "user" && strings.Contains(text, "asks back"):
		return openaitest.Turn{Calls: []openaitest.Call{openaitest.CallOf("continue_task", map[string]any{
			"task_id": taskOf(r), "message": fmt.Sprintf("answer %d", len(r.Results("continue_task"))+1),
		})}}
	}
	return primary(r)
}

// TestEveryQuestion: a trusted agent with several skills is answered alone each time. Each answer
// reaches it with the skill of its task, like that of RockBot's InputRequiredHandler.
func TestEveryQuestion(t *testing.T) {
	t.Parallel()
	at := broker(t)
	w := start(t, at, interviewer, options{more: secondSkill})
	var asked int
	many := rockbotpeer.StartAgent(t, at, &rockbotpeer.Agent{Name: "ManySkills", Skills: map[string]func(*rockbotpeer.Task) (*rockbotpeer.Result, error){
		"extract-structured-data": func(task *rockbotpeer.Task) (*rockbotpeer.Result, error) {
			if asked++; asked <= 4 {
				return task.Result(rockbotpeer.InputRequired, fmt.Sprintf("Question %d?", asked)), nil
			}
			return task.Result(rockbotpeer.Completed, "line 00000000 of it"), nil
		},
	}})
	w.parley("trust", "set", "manyskills", "--level", "act", "--approve", "extract-structured-data")
	_, task := w.say(user("extract it", "", ""))
	if got, want := answer(task), "completed: I have read 1 lines."; got != want {
		t.Errorf("the task is %q, want %q", got, want)
	}
	for i := range 5 {
		got := many.Next()
		want := "begin"
		if i > 0 {
			want = fmt.Sprintf("answer %d", i)
		}
		if rockbotpeer.Val(got.Skill) != "extract-structured-data" || got.Message.Text() != want {
			t.Errorf("message %d is %q for the skill %q", i, got.Message.Text(), rockbotpeer.Val(got.Skill))
		}
	}
	if items := open(w); len(items) != 0 {
		t.Errorf("the inbox has %+v", items)
	}
	many.Unread()
}

// TestDataOfMessages: the key of the data in the result of invoke_agent leads to the data, whether
// the agent has put it in its message, the normal place, or in an artifact.
func TestDataOfMessages(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(*rockbotpeer.Result, ...rockbotpeer.Part){
		"message": func(r *rockbotpeer.Result, p ...rockbotpeer.Part) { r.Message.Parts = append(r.Message.Parts, p...) },
		"artifact": func(r *rockbotpeer.Result, p ...rockbotpeer.Part) {
			r.Artifacts = []rockbotpeer.Artifact{{Name: rockbotpeer.Ptr("record"), Parts: p}}
		},
		"message beside text": func(r *rockbotpeer.Result, p ...rockbotpeer.Part) {
			r.Artifacts = []rockbotpeer.Artifact{{Name: rockbotpeer.Ptr("words"), Parts: []rockbotpeer.Part{rockbotpeer.TextPart("line 00000000 of it")}}}
			r.Message.Parts = append(r.Message.Parts, p...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, broker(t), primary, options{handle: func(task *rockbotpeer.Task) (*rockbotpeer.Result, error) {
				r := task.Result(rockbotpeer.Completed, "line 00000000 of it")
				put(r, rockbotpeer.DataPart(map[string]any{"title": "T"}), rockbotpeer.DataPart([]int{1, 2}))
				return r, nil
			}})
			w.say(user("extract it", "", ""))
			requests := w.models.Requests()
			key := keyLine.FindStringSubmatch(requests[len(requests)-1].Last("user"))[1]
			n := w.note(key + ".data")
			var got []any
			if text, _ := n["value"].(string); json.Unmarshal([]byte(text), &got) != nil || fmt.Sprint(got) != "[map[title:T] [1 2]]" || n["category"] != "a2a-result-data" {
				t.Errorf("the note is %v", n)
			}
		})
	}
}
