package question

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/inbox"
)

// replyFromInbox puts a question into the inbox and waits until it is settled there, by a
// message of the caller, or by the end of the task.
func (r *PolicyResponder) replyFromInbox(ctx context.Context, q *Question) (Reply, error) {
	if n := countRepeats(q, lastAnswer(q)); n >= cmp.Or(r.Repetition, DefaultRepetition) {
		return repeated(q, n), nil
	}
	it, err := r.put(ctx, q)
	if err == nil && it.State == inbox.Open {
		err = q.Run.AddStatus(ctx, q, waitingNotice(q))
	}
	if err == nil {
		it, err = r.await(ctx, it)
	}
	if errors.Is(err, ErrAnswered) || errors.Is(context.Cause(ctx), ErrAnswered) {
		return Reply{}, errors.Join(context.Cause(ctx), r.withdraw(ctx, q))
	}
	if err != nil {
		return Reply{}, err
	}
	return replyOf(q, &it), nil
}

// lastAnswer returns the last answer that the agent got.
func lastAnswer(q *Question) string {
	if len(q.Turns) == 0 {
		return ""
	}
	return q.Turns[len(q.Turns)-1].Answer
}

// put returns the item of a question and creates it if necessary.
func (r *PolicyResponder) put(ctx context.Context, q *Question) (inbox.Item, error) {
	it, err := r.Inbox.Get(ctx, itemID(q))
	if !errors.Is(err, inbox.ErrNotFound) {
		return it, err
	}
	draft, err := r.draft(ctx, q)
	if err != nil {
		return it, err
	}
	return r.Inbox.Put(ctx, &inbox.Item{
		ID: itemID(q), Kind: inbox.Question, Owner: q.Owner, Task: q.Task, Version: q.Version, Agent: q.Agent,
		Caller: q.Caller.ID, CallerName: q.Caller.DisplayName, Skill: q.Skill, Text: itemText(q), Draft: draft,
		Expires: time.Now().Add(cmp.Or(r.AskTime, DefaultAskTime)),
	})
}

// itemText returns the text for the person.
func itemText(q *Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s asks", q.Agent)
	if q.Skill != "" && q.Skill != string(q.Agent) {
		fmt.Fprintf(&b, ", at work on %s", q.Skill)
	}
	fmt.Fprintf(&b, " for %s:\n\n%s\n", callerName(q), strings.TrimSpace(q.Text+otherParts(q)))
	if len(q.Turns) > 0 {
		b.WriteString("\nBefore that:\n\n" + conversation(q))
	}
	return strings.TrimRight(b.String(), "\n")
}

func callerName(q *Question) string {
	if q.Caller.DisplayName == "" || q.Caller.DisplayName == q.Caller.ID {
		return q.Caller.ID
	}
	return q.Caller.DisplayName + " (" + q.Caller.ID + ")"
}

// waitingNotice returns the status message for callers while a question waits for a person.
func waitingNotice(q *Question) string {
	return "This question waits for the owner of this hub. The sender of the request may also answer it with a message to this task: " +
		q.Text + otherParts(q)
}

// await waits until an item is settled.
func (r *PolicyResponder) await(ctx context.Context, it inbox.Item) (inbox.Item, error) {
	if it.State != inbox.Open {
		return it, nil
	}
	got, err := r.Inbox.Wait(ctx, it.ID)
	switch {
	case errors.Is(err, inbox.ErrNotFound):
		it.State = inbox.Expired // the item was deleted
		return it, nil
	case errors.Is(err, inbox.ErrClosed):
		<-ctx.Done() // wait for the end of the hub
		return it, context.Cause(ctx)
	}
	return got, err
}

// withdraw removes a question that was settled outside the inbox.
func (r *PolicyResponder) withdraw(ctx context.Context, q *Question) error {
	why := "the caller has answered"
	if errors.Is(context.Cause(ctx), ErrTaskEnded) {
		why = "the task has ended"
	}
	return r.Inbox.Withdraw(context.WithoutCancel(ctx), itemID(q), why)
}

// replyOf returns the reply for a settled item.
func replyOf(q *Question, it *inbox.Item) Reply {
	switch it.State {
	case inbox.Answered:
		return Reply{Text: it.Answer}
	case inbox.Refused:
		why := ""
		if it.Answer != "" {
			why = " (" + it.Answer + ")"
		}
		return breakLoop(q, refused, "asks, and the owner of this hub does not answer"+why)
	}
	return breakLoop(q, expired, "asks, and the owner of this hub has not answered in time: "+question(q))
}

// Deliver returns the function for inbox.Inbox.Deliver that delivers settlements to the tasks
// of e. The engine decides whether another answer came first.
func Deliver(tasks Tasks) func(ctx context.Context, it *inbox.Item, s *inbox.Settlement) error {
	return func(ctx context.Context, it *inbox.Item, s *inbox.Settlement) error {
		if it.Version == 0 {
			return deliverSurfaced(ctx, tasks, it, s)
		}
		q := &Question{Owner: it.Owner, Task: it.Task, Version: it.Version, Agent: it.Agent}
		settled := *it
		settled.State, settled.Answer = s.State, s.Answer
		r := replyOf(q, &settled)
		err := tasks.Answer(ctx, q, &r)
		switch {
		case errors.Is(err, a2a.ErrTaskNotFound):
			return inbox.ErrObsolete
		case errors.Is(err, ErrAnswered):
			answer, _, err := tasks.Answered(ctx, q)
			return errors.Join(&inbox.AlreadyDelivered{Answer: answer}, err)
		}
		return err
	}
}

// Reconcile settles the questions in an inbox that were answered, or whose tasks have ended,
// before the hub could store that because it was killed. Call it after e has recovered.
func Reconcile(ctx context.Context, b *inbox.Inbox, tasks Tasks) error {
	q := &inbox.Query{State: inbox.Open, Kinds: []inbox.Kind{inbox.Question}}
	for {
		items, err := b.List(ctx, q)
		if err != nil || len(items) == 0 {
			return err
		}
		for i := range items {
			if err := reconcile(ctx, b, tasks, &items[i]); err != nil {
				return fmt.Errorf("reconcile item %s of the inbox: %w", items[i].ID, err)
			}
		}
		q.After = items[len(items)-1].ID
	}
}

// reconcile settles an item whose question is not open any more.
func reconcile(ctx context.Context, b *inbox.Inbox, tasks Tasks, it *inbox.Item) error {
	if it.Task == "" {
		return nil // the asking code waits for the item alone
	}
	if it.Version == 0 {
		if _, err := waiting(ctx, tasks, it); errors.Is(err, inbox.ErrObsolete) {
			return b.Reconcile(ctx, it.ID, "")
		} else {
			return err
		}
	}
	answer, settled, err := tasks.Answered(ctx, &Question{Owner: it.Owner, Task: it.Task, Version: it.Version})
	if errors.Is(err, a2a.ErrTaskNotFound) {
		settled, err = true, nil
	}
	if err != nil || !settled {
		return err
	}
	return b.Reconcile(ctx, it.ID, answer)
}
