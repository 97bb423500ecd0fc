package question

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/task"
)

// QuestionKey is the metadata key of a message to an answering agent. Its value is an object
// with these members: "agent" is the asking agent, "skill" the skill requested from it, and
// "request" the request. "number" and "text" belong to its question. "draft" is true if a
// person decides on the answer. "said" is the end of the message, which consists of the words
// of others.
const QuestionKey = "parley.asked"

// draftTime limits the time for a draft.
const draftTime = time.Minute

// consult returns the answer of the answering agent, or the reason why there is none. A draft
// is meant for a person.
func (r *PolicyResponder) consult(ctx context.Context, q *Question, draft bool) (text, problem string, err error) {
	output := brief(q)
	words, key := output, fmt.Sprintf("question %d", q.Version)
	if draft {
		words, key = draftBrief+request(q)+"The question:\n\n"+words, fmt.Sprintf("draft %d", q.Version)
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(words))
	m.Metadata = map[string]any{QuestionKey: map[string]any{
		"agent": string(q.Agent), "skill": q.Skill, "number": len(q.Turns) + 1, "text": q.Text, "request": q.Request, "draft": draft, "said": output,
	}}
	got, err := q.Run.Delegate(ctx, &agent.Delegation{Agent: r.Answerer, Message: m, Key: key})
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, task.ErrUnavailable)):
		return "", "", err
	case err != nil:
		return "", "cannot be asked: " + err.Error(), nil
	case got.State != task.Completed:
		return "", "has no answer: its task is " + got.State.String(), nil
	case strings.TrimSpace(got.Text) == "":
		return "", "has no answer in words", nil
	}
	return got.Text, "", nil
}

// draftBrief is the instruction of an answering agent for a draft.
const draftBrief = "Draft the answer to a question that another agent has asked. The owner of this hub reads the draft, " +
	"and sends it, changes it or throws it away; nothing is sent without them. Where only they can know or decide, " +
	"mark in the draft the parts that they have to fill in. "

// request returns the request on which the asking agent works, for a draft.
func request(q *Question) string {
	if q.Request == "" {
		return ""
	}
	return "The agent was asked:\n\n" + q.Request + "\n\n"
}

// draft returns the draft of the answering agent; empty if the agent is missing or gives none
// in time.
func (r *PolicyResponder) draft(ctx context.Context, q *Question) (string, error) {
	if r.Answerer == "" || r.Answerer == q.Agent || strings.TrimSpace(q.Text) == "" {
		return "", nil
	}
	within, cancel := context.WithTimeout(ctx, draftTime)
	defer cancel()
	text, _, err := r.consult(within, q, true)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return "", nil // the draft takes too long
	}
	return text, err
}

// brief returns the question, preceded by the conversation so far.
func brief(q *Question) string {
	if len(q.Turns) == 0 {
		return q.Text + otherParts(q)
	}
	return conversation(q) + q.Text + otherParts(q)
}

// conversation returns the turns before a question, each followed by an empty line.
func conversation(q *Question) string {
	var b strings.Builder
	for _, t := range q.Turns {
		fmt.Fprintf(&b, "Q: %s\nA: %s\n\n", t.Question, t.Answer)
	}
	return b.String()
}
