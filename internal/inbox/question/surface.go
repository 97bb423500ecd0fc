package question

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/task"
)

// Surfaced is a question of a task to its caller that the owner of the hub may answer in the
// inbox as well. All fields except Skill and Draft are required.
type Surfaced struct {
	Owner task.Owner
	// Task asks the caller, in the message with the id Message.
	Task    a2a.TaskID
	Message string
	// Agent is the asking agent, Skill the skill requested from it.
	Agent task.Agent
	Skill string
	// Text is the question, Draft a proposed answer.
	Text, Draft string
}

func (s *Surfaced) item() inbox.ID { return surfacedID(s.Owner, s.Task, s.Message) }

// surfacedID returns the id of the item for a question in a message of a task.
func surfacedID(owner task.Owner, id a2a.TaskID, message string) inbox.ID {
	return inbox.IDOf(owner, id+"/"+a2a.TaskID(message), 0)
}

// Surface puts a question into the inbox. An existing item is unchanged.
func (r *PolicyResponder) Surface(ctx context.Context, s *Surfaced) error {
	_, err := r.Inbox.Put(ctx, &inbox.Item{
		ID: s.item(), Kind: inbox.Question, Owner: s.Owner, Task: s.Task, Agent: s.Agent, Skill: s.Skill,
		Text: fmt.Sprintf("%s asks:\n\n%s", s.Agent, s.Text), Draft: s.Draft,
		Expires: time.Now().Add(cmp.Or(r.AskTime, DefaultAskTime)),
	})
	return err
}

// Withdraw removes a question from the inbox after the caller has answered.
func (r *PolicyResponder) Withdraw(ctx context.Context, s *Surfaced) error {
	return r.Inbox.Withdraw(ctx, s.item(), "the caller has answered")
}

// waiting returns the open question of an item's task; inbox.ErrObsolete if the task does not wait
// for its answer any more.
func waiting(ctx context.Context, tasks Tasks, it *inbox.Item) (*Question, error) {
	q, err := tasks.Waiting(ctx, &Question{Owner: it.Owner, Task: it.Task})
	switch {
	case errors.Is(err, a2a.ErrTaskNotFound):
		return nil, inbox.ErrObsolete
	case err != nil:
		return nil, err
	case q == nil || surfacedID(it.Owner, it.Task, q.Message) != it.ID:
		return nil, inbox.ErrObsolete
	}
	return q, nil
}

// deliverSurfaced sends a settlement to the task of an item, as a message of its caller.
func deliverSurfaced(ctx context.Context, tasks Tasks, it *inbox.Item, s *inbox.Settlement) error {
	q, err := waiting(ctx, tasks, it)
	if err != nil {
		return err
	}
	text := s.Answer
	if s.State == inbox.Refused {
		text = "The owner of this hub does not answer this question. " + s.Answer
	}
	if err = tasks.Answer(ctx, q, &Reply{Text: text}); errors.Is(err, ErrAnswered) {
		return inbox.ErrObsolete
	}
	return err
}
