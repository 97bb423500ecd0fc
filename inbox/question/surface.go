package question

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Surfaced is a question that a task of the caller asks the caller, and which the owner of the
// hub may answer in the inbox as well. All fields but Skill and Draft are required.
type Surfaced struct {
	Owner task.Owner
	// Task asks the caller, with the message that has the id Message.
	Task    a2a.TaskID
	Message string
	// Agent is the agent whose question it is, Skill what it was asked for.
	Agent task.Agent
	Skill string
	// Text is the question, Draft the answer that is proposed.
	Text, Draft string
}

// item returns the id of the item.
func (s *Surfaced) item() inbox.ID { return surfacedID(s.Owner, s.Task, s.Message) }

// surfacedID returns the id of the item of a question that a message of a task asks its caller.
func surfacedID(owner task.Owner, id a2a.TaskID, message string) inbox.ID {
	return inbox.IDOf(owner, id+"/"+a2a.TaskID(message), 0)
}

// Surface puts a question into the inbox. The item of one that is there stays as it is.
func (d *Desk) Surface(ctx context.Context, s *Surfaced) error {
	_, err := d.Inbox.Put(ctx, &inbox.Item{
		ID: s.item(), Kind: inbox.Question, Owner: s.Owner, Task: s.Task, Agent: s.Agent, Skill: s.Skill,
		Text: fmt.Sprintf("%s asks:\n\n%s", s.Agent, s.Text), Draft: s.Draft,
		Expires: time.Now().Add(orElse(d.AskTime, DefaultAskTime)),
	})
	return err
}

// Withdraw takes a question out of the inbox that the caller has answered.
func (d *Desk) Withdraw(ctx context.Context, s *Surfaced) error {
	return d.Inbox.Withdraw(ctx, s.item(), "the caller has answered")
}

// waiting returns the question of the task of an item; an inbox.ErrOver if the task does not
// wait with it any more.
func waiting(ctx context.Context, e *engine.Engine, it *inbox.Item) (*engine.Question, error) {
	q, err := e.Waiting(ctx, &engine.Question{Owner: it.Owner, Task: it.Task})
	switch {
	case errors.Is(err, a2a.ErrTaskNotFound):
		return nil, inbox.ErrOver
	case err != nil:
		return nil, err
	case q == nil || surfacedID(it.Owner, it.Task, q.Message) != it.ID:
		return nil, inbox.ErrOver
	}
	return q, nil
}

// deliverSurfaced gives the task of an item what settles it, as a message in the name of its
// caller.
func deliverSurfaced(ctx context.Context, e *engine.Engine, it *inbox.Item, s *inbox.Settlement) error {
	q, err := waiting(ctx, e, it)
	if err != nil {
		return err
	}
	text := s.Answer
	if s.State == inbox.Refused {
		text = "The owner of this hub does not answer this question. " + s.Answer
	}
	if err = e.AnswerWaiting(ctx, q, text); errors.Is(err, engine.ErrAnswered) {
		return inbox.ErrOver
	}
	return err
}
