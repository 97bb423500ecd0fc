package question

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// Responder answers the questions of agents in place of their callers. A PolicyResponder is
// one. Its methods are called concurrently.
type Responder interface {
	// Takes reports whether Reply answers the questions of an agent. If not, the task waits for
	// its caller.
	Takes(name task.Agent) bool
	// Reply returns the reply to a question. It may block: the task waits. ctx ends when the
	// question was answered in another way, when the task has ended, and when the hub stops. In
	// the last case the next process asks the question again; a question may be asked more than
	// once in other cases, too. Any other error fails the task.
	Reply(ctx context.Context, q *Question) (Reply, error)
}

// Question is a question that an agent has asked in a task.
type Question struct {
	Owner     task.Owner
	Task      a2a.TaskID
	ContextID string
	// Version is the version of the task with the question. An answer applies to this version
	// alone.
	Version int64
	Agent   task.Agent
	// Skill is the skill that the caller has asked for, or else the only skill of the agent;
	// empty if the agent has several.
	Skill  string
	Caller *auth.Principal
	// Request is the text of the first message of the task.
	Request string
	// Message is the id of the message with the question. The hub sets it only in questions
	// that Tasks returns.
	Message string
	// Works is set if the task is working and asks nothing.
	Works bool
	// Text is the text of the question; Others is the number of its parts that are not text.
	Text   string
	Others int
	// Turns are the questions of the task that the hub has answered since the caller's last
	// message, oldest first. They are read from the log.
	Turns []Turn
	// Run is the run that asks. The hub sets it in the questions that it passes to a Responder.
	Run Run
}

// Turn is a question with its answer.
type Turn struct{ Question, Answer string }

// Run is the run of an agent that asks a question.
type Run interface {
	// Delegate asks an agent of the hub on behalf of the task with the question, as
	// agent.Call.Delegate does for a run of it. If the hub drains, it waits until ctx ends.
	Delegate(ctx context.Context, d *agent.Delegation) (*agent.Delegated, error)
	// AddStatus adds a status to the task, still WORKING, that explains to callers why the answer
	// takes time. It does so once for a question, even if the question is asked again. The
	// version of the question does not change. It returns ErrAnswered if the question is
	// settled.
	AddStatus(ctx context.Context, q *Question, why string) error
}

// Reply is the reply to a question. The zero Reply leaves the question to the caller: the task
// waits for input.
type Reply struct {
	// Text answers the question.
	Text string
	// Fail ends the task, with this text as the reason.
	Fail string
	// Break is the reason for ending the questions, for metrics: a word of a closed set; empty
	// otherwise.
	Break string
	// Rounds and Repeats are the limit that ends a loop: answers in a row, or equal answers to the
	// same question. At most one is set.
	Rounds, Repeats int
}

// Reasons why a question needs no answer any more.
var (
	// ErrAnswered is returned for a late answer: the question was answered, or its task has
	// ended.
	ErrAnswered = errors.New("the question has been answered")
	// ErrTaskEnded is the cause of a question's context when its task has ended. It wraps
	// ErrAnswered.
	ErrTaskEnded = fmt.Errorf("the task has ended: %w", ErrAnswered)
)

// Tasks are the tasks of a hub with their questions; the engine of a hub implements it. A task
// that the hub does not have is a2a.ErrTaskNotFound.
type Tasks interface {
	// Waiting returns the question of a task that waits for its caller; nil if the task does
	// not wait. It uses Owner and Task of q. The Version of the result is that of the task.
	Waiting(ctx context.Context, q *Question) (*Question, error)
	// Answer settles the question that a task has asked at a version. It uses Owner, Task,
	// Version and Message of q. With a Message, q is a question that Waiting has returned, and
	// the reply answers it in the caller's place, or fails the task. It returns ErrAnswered if
	// the question was answered before, or the task has changed or ended.
	Answer(ctx context.Context, q *Question, r *Reply) error
	// Answered reports whether the question at a version of a task is settled, and returns the
	// hub's answer to it; the answer is empty if the caller has answered, or the question was
	// settled without an answer. It uses Owner, Task and Version of q.
	Answered(ctx context.Context, q *Question) (answer string, settled bool, err error)
}
