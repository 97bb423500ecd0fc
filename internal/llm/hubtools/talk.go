package hubtools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

// Limits of the questions within one call.
const (
	maxRounds   = 20
	maxRepeated = 3
	// cancelWait is the timeout of the cancellation after a call was aborted.
	cancelWait = 15 * time.Second
)

// Caller sends messages to agents: to those of a hub, or to a single one. Its methods may be
// called concurrently.
type Caller interface {
	// Send is described at hubclient.Hub.
	Send(ctx context.Context, s *hubclient.Send) (*hubclient.Sent, error)
	// Cancel requests the cancellation of a task and returns the task.
	Cancel(ctx context.Context, id a2a.TaskID) (*hubclient.Sent, error)
}

// talk is a message to an agent, with all questions that the agent asks back.
type talk struct {
	caller Caller
	call   *llm.Call
	send   hubclient.Send
	// key is the key of the first message; begins is set if it begins a task.
	key    string
	begins bool
	// closes is set for the last message of a conversation: no question in its
	// reply is answered.
	closes bool
	// question is the unanswered question; refused is set if the user declined to answer.
	question *llm.Question
	refused  bool

	rounds, repeated int
	last             string // the last question and its answer
}

func newTalk(to Caller, c *llm.Call, s *hubclient.Send) *talk {
	t := &talk{caller: to, call: c, send: *s, key: s.Key, begins: s.TaskID == ""}
	t.send.Progress = c.Progress
	return t
}

// talk returns a talk of a tool of the box that begins with s.
func (b *Toolbox) talk(c *call, s *hubclient.Send) *talk {
	s.Key, s.Session = c.key, b.SessionID()
	return newTalk(b.Hub, c.Call, s)
}

// run sends the message and passes the agent's questions to the user. It returns the task when
// nothing is left to do.
func (t *talk) run(ctx context.Context) (*hubclient.Sent, error) {
	until := time.Now().Add(t.send.Wait)
	for {
		s := t.send
		sent, err := t.caller.Send(ctx, &s)
		if err != nil {
			return nil, err
		}
		if sent.Task == nil || !client.Interrupted(sent.Task.Status.State) {
			return sent, nil
		}
		if t.closes {
			return sent, nil
		}
		t.question = questionOf(sent)
		if t.call.Ask == nil {
			return sent, nil
		}
		asked := time.Now()
		again, err := t.ask(ctx, sent)
		if err != nil || !again {
			return sent, err
		}
		until = until.Add(time.Since(asked)) // the time for an answer does not count
		t.send.Wait = max(0, time.Until(until))
	}
}

// ask asks the user of the model. It reports whether there is an answer to send.
func (t *talk) ask(ctx context.Context, sent *hubclient.Sent) (bool, error) {
	answer, err := t.call.Ask(ctx, t.question)
	switch {
	case ctx.Err() != nil:
		t.cancel(ctx, sent.Task.ID)
		return false, context.Cause(ctx)
	case err != nil:
		return false, nil // the user cannot be asked
	case answer == nil || answer.Refused:
		t.refused = true
		return false, nil
	}
	if err := t.checkRepetition(answer.Text); err != nil {
		return false, err
	}
	t.question = nil
	t.send = hubclient.Send{
		Agent: sent.Agent, TaskID: sent.Task.ID, ContextID: sent.Task.ContextID,
		Session: t.send.Session, Abort: t.send.Abort, Progress: t.send.Progress,
		Parts: []*a2a.Part{a2a.NewTextPart(answer.Text)},
	}
	if t.key != "" {
		t.send.Key = fmt.Sprintf("%s-%d", t.key, t.rounds)
	}
	return true, nil
}

// checkRepetition ends a talk that repeats itself or has too many rounds.
func (t *talk) checkRepetition(answer string) error {
	t.rounds++
	exchange := strings.ToLower(strings.Join(strings.Fields(hubclient.Text(t.question.Parts)+"\n"+answer), " "))
	if t.repeated++; exchange != t.last {
		t.repeated, t.last = 1, exchange
	}
	switch {
	case t.rounds > maxRounds:
		return hubclient.Refusef("the agent has asked %d times in one call and is not done; its task %s waits. Give it all that it needs in one message with continue_task, or end it with cancel_task",
			maxRounds, t.question.TaskID)
	case t.repeated >= maxRepeated:
		return hubclient.Refusef("the agent has asked the same question %d times and got the same answer; its task %s waits. Say it otherwise with continue_task, or end it with cancel_task",
			maxRepeated, t.question.TaskID)
	}
	return nil
}

// cancel cancels a task if its call was aborted during a question.
func (t *talk) cancel(ctx context.Context, id a2a.TaskID) {
	if !t.send.Abort {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	_, _ = t.caller.Cancel(ctx, id) // the call has ended, and the hub expires unanswered tasks
}

// questionOf returns the question of a task that waits for its caller.
func questionOf(sent *hubclient.Sent) *llm.Question {
	t := sent.Task
	q := &llm.Question{Agent: sent.Agent, TaskID: t.ID, ContextID: t.ContextID, Auth: t.Status.State == a2a.TaskStateAuthRequired}
	if t.Status.Message != nil {
		q.Parts = t.Status.Message.Parts
	}
	return q
}
