package hubtools

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

type askArgs struct {
	Question string  `json:"question" max:"8000" jsonschema:"What you want to know, with all that is needed to answer it."`
	Minutes  float64 `json:"timeout_minutes,omitempty" min:"0.001" max:"1440" default:"5" jsonschema:"How long to wait for the answer."`
}

type updateArgs struct {
	Text string `json:"text" max:"2000" jsonschema:"What you are doing, in one sentence."`
}

// people returns the tools that reach people.
func (b *Toolbox) people() []llm.Tool {
	return []llm.Tool{
		offer(b, llm.Tool{
			Name: "ask_human", Title: "Ask a person", Output: resultOf[answered](), Repeatable: b.Session != "",
			Description: "Asks a person and waits for the answer. Only for questions that a person alone can answer or decide. The same question again gives the same answer.",
		}, b.askHuman),
		offer(b, llm.Tool{
			Name: "send_update", Title: "Report progress", Output: resultOf[updated](), Idempotent: true,
			Description: "Reports your progress to the waiting user. It is not an answer.",
		}, b.sendUpdate),
	}
}

// answered is the answer of ask_human.
type answered struct {
	Answered bool   `json:"answered"`
	Answer   string `json:"answer,omitempty"`
	Next     string `json:"next,omitempty"`
}

func (b *Toolbox) askHuman(ctx context.Context, c *call, args *askArgs) (*llm.Result, error) {
	answer, err := b.askPerson(ctx, c, args)
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
func (b *Toolbox) askPerson(ctx context.Context, c *call, args *askArgs) (*llm.Answer, error) {
	if c.Ask != nil {
		answer, err := c.Ask(ctx, &llm.Question{Parts: []*a2a.Part{a2a.NewTextPart(args.Question)}})
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
	}
	return b.Hub.AskPerson(ctx, &hubclient.PersonQuestion{
		Key: digest(b.SessionID(), "ask_human", args.Question), Text: args.Question, Agent: b.Self,
		Wait: time.Duration(args.Minutes * float64(time.Minute)),
	})
}

// updated is the answer of send_update.
type updated struct {
	Sent bool   `json:"sent"`
	Note string `json:"note,omitempty"`
}

func (b *Toolbox) sendUpdate(_ context.Context, c *call, args *updateArgs) (*llm.Result, error) {
	answer := updated{Sent: c.Progress != nil}
	if c.Progress != nil {
		c.Progress(llm.Progress{Text: args.Text})
	} else {
		answer.Note = "No user is watching. Continue."
	}
	return structured(&answer)
}
