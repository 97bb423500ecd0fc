package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/task"
)

// answerOf is the JSON of a delegate's answer for the model.
type answerOf struct {
	AgentID  string     `json:"agent_id"`
	Status   string     `json:"status"`
	Response guard.Text `json:"response"`
	Output   any        `json:"output"`
	// Steps counts the messages that the agent received.
	Steps int `json:"steps"`
}

// delegate calls an agent. The agent receives each message only once, even if the call is
// executed several times: the delegation uses the key of the call, and an answer to a question
// that of the caller's message as well.
func (s *session) delegate(ctx, until context.Context, c *call) outcome {
	d := s.tools.delegates[c.Function.Name]
	got, err := s.put(until, c, d)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return outcome{err: context.Cause(ctx)}
	case until.Err() != nil:
		return outcome{err: errLeft}
	default:
		return s.result(c, guard.Words("The agent %q could not be asked: %s", string(d.ID), s.words(d, err)), true)
	}
	if got.State == task.InputRequired || got.State == task.AuthRequired {
		question := got.Text
		if question == "" {
			question = fmt.Sprintf("the agent %q waits for input", d.ID)
		}
		return outcome{record: &record{Asked: &asked{
			Key: c.key, Task: got.TaskID, Auth: got.State == task.AuthRequired, Question: question,
		}}}
	}
	return s.delegated(c, d, got)
}

// put sends the agent the prompt, or the answer to its question.
func (s *session) put(ctx context.Context, c *call, d *Delegate) (*agent.Delegated, error) {
	if c.answered != nil {
		got, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{
			Agent: d.ID, TaskID: c.asked.Task, Key: c.key + "/" + c.answered.By,
			Message: a2a.NewMessage(a2a.MessageRoleUser, c.answered.Parts...),
		})
		if err == nil || !errors.Is(err, a2a.ErrUnsupportedOperation) {
			return got, err
		}
		// The task has ended by itself; its result is available under the first key.
	}
	var arguments struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal([]byte(c.Function.Arguments), &arguments); err != nil || strings.TrimSpace(arguments.Prompt) == "" {
		return nil, &ended{`"prompt" is missing: a text with the work for the agent`}
	}
	return agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{
		Agent: d.ID, Key: c.key, Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(arguments.Prompt)),
	})
}

// words returns the text of an error for the model. An error of the hub may repeat words of the
// agent, or of its card.
func (s *session) words(d *Delegate, err error) guard.Text {
	var public *a2a.Error
	var mine *ended
	g, from := s.agent.guard(), guard.Agent(string(d.ID))
	switch {
	case errors.As(err, &mine):
		return guard.Operator(mine.reason)
	case errors.As(err, &public) && public.Message != "":
		return g.Text(from, public.Message)
	}
	return g.Text(from, err.Error())
}

func (s *session) delegated(c *call, d *Delegate, got *agent.Delegated) outcome {
	from, g := guard.Agent(string(d.ID)), s.agent.guard()
	a := answerOf{AgentID: string(d.ID), Status: stateName(got.State), Steps: c.rounds + 1}
	if got.Text != "" {
		a.Response = g.Text(from, clip.Bytes(got.Text, s.budget.room()/3))
	}
	if data := dataOf(got.JSON); data != "" {
		a.Output = g.Text(from, clip.Bytes(data, s.budget.room()/3))
	} else if got.Text == "" {
		a.Response = guard.Operator(llm.NoReply(a.AgentID, a.Status))
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the brackets of labels are for the model
	if err := e.Encode(&a); err != nil {
		return outcome{err: err}
	}
	return s.result(c, g.Checked(from, strings.TrimSpace(b.String())), got.State != task.Completed)
}

// stateName returns the name of a state in the spelling for models, such as "completed".
func stateName(s task.State) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// dataOf returns the parts of an agent's answer that are no text: data as JSON, and notes about
// the rest.
func dataOf(answer []byte) string {
	var t a2a.Task
	if json.Unmarshal(answer, &t) != nil {
		return ""
	}
	var rest a2a.ContentParts
	for _, p := range llm.Reply(&t) {
		if p.Text() == "" {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		return ""
	}
	text, _ := llm.ToChatText(rest)
	return text.Text()
}
