package hubtools

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/args"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

// askMinutes is the default wait of ask_human.
const askMinutes = 5

// people returns the tools that reach people.
func (b *Toolbox) people() []tool {
	ask := args.Fields{
		{Name: "question", Required: true, Max: 8000, Description: "What you want to know, with all that is needed to answer it."},
		{Name: "timeout_minutes", Kind: args.Number, Min: 0.001, Max: maxMinutes, Default: askMinutes, Description: "How long to wait for the answer."},
	}
	update := args.Fields{{Name: "text", Required: true, Max: 2000, Description: "What you are doing, in one sentence."}}
	return []tool{
		{fields: ask, run: b.askHuman, Tool: llm.Tool{
			Name: "ask_human", Title: "Ask a person", Output: schemaOf(answerOutput), Repeatable: b.Session != "",
			Description: "Asks a person and waits for the answer. Only for questions that a person alone can answer or decide. The same question again gives the same answer.",
		}},
		{fields: update, run: b.sendUpdate, Tool: llm.Tool{
			Name: "send_update", Title: "Report progress", Output: schemaOf(updateOutput), Idempotent: true,
			Description: "Reports your progress to the waiting user. It is not an answer.",
		}},
	}
}

// answered is the answer of ask_human.
type answered struct {
	Answered bool   `json:"answered"`
	Answer   string `json:"answer,omitempty"`
	Next     string `json:"next,omitempty"`
}

func (b *Toolbox) askHuman(ctx context.Context, c *call) (*llm.Result, error) {
	question := c.args.Text("question")
	answer, err := b.askPerson(ctx, c, question)
	switch {
	case errors.Is(err, hubclient.ErrRefused):
		return structured(&answered{Next: reason(b.Guard, err)})
	case err != nil:
		return nil, err
	case answer == nil || answer.Refused:
		return structured(&answered{Next: "The person does not want to answer. Continue without it, or state the part that you cannot do."})
	}
	return structured(&answered{Answered: true, Answer: b.Guard.Own(guard.Caller, answer.Text).String()})
}

// askPerson asks the user of the call, or otherwise through the inbox.
func (b *Toolbox) askPerson(ctx context.Context, c *call, question string) (*llm.Answer, error) {
	if c.Ask != nil {
		answer, err := c.Ask(ctx, &llm.Question{Parts: []*a2a.Part{a2a.NewTextPart(question)}})
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
	}
	return b.Hub.AskPerson(ctx, &hubclient.PersonQuestion{
		Key: digest(b.SessionID(), "ask_human", question), Text: question, Agent: b.Self,
		Wait: time.Duration(c.args.Number("timeout_minutes", askMinutes) * float64(time.Minute)),
	})
}

func (b *Toolbox) sendUpdate(_ context.Context, c *call) (*llm.Result, error) {
	answer := struct {
		Sent bool   `json:"sent"`
		Note string `json:"note,omitempty"`
	}{Sent: c.Progress != nil}
	if c.Progress != nil {
		c.Progress(llm.Progress{Text: c.args.Text("text")})
	} else {
		answer.Note = "No user is watching. Continue."
	}
	return structured(&answer)
}
