package model

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/task"
)

// Gate decides which questions of other agents a model may answer. Its methods may be called
// concurrently, with contexts that carry the principal of the task.
type Gate interface {
	// Question returns the question of a task to its caller; nil if it has none.
	Question(ctx context.Context, id a2a.TaskID) (*Question, error)
	// Surface shows a question to the owner of the hub, in addition to the caller. It does
	// nothing for an ID that was shown already.
	Surface(ctx context.Context, s *Surfaced) error
	// Withdraw withdraws a question that Surface has shown.
	Withdraw(ctx context.Context, s *Surfaced) error
}

// Question is a question of an agent.
type Question struct {
	Agent task.Agent `json:"agent"`
	Task  a2a.TaskID `json:"task"`
	Skill string     `json:"skill,omitempty"`
	// Text is the question in the words of the agent.
	Text string `json:"text"`
	// Alone is set if the model may answer it without a person.
	Alone bool `json:"-"`
	// Works is set if the task is working and has no question yet. A message to it would answer
	// its next question, which no person has seen.
	Works bool `json:"-"`
}

// Loop is the limit that a loop of questions and answers has reached: answers in a row, or equal
// answers to the same question. The zero Loop is none.
type Loop struct{ Rounds, Repeats int }

// Surfaced is a question that a person must decide about.
type Surfaced struct {
	Question

	// ID is the id of the message of Task with which Asker asks the person.
	ID    string
	Asker a2a.TaskID
	// Draft is the answer that the model proposes.
	Draft string
}

// open is a question that the model must leave to a person.
type open struct {
	Question

	// ID is the id of the message that asks the person.
	ID string `json:"id"`
}

// Texts for a model about a question that it may not answer alone.
const (
	leftToPerson = "the agent asks back, and the person you work for decides what to answer. get_task shows the question. " +
		"Find out what you can. Then write, as your next message and without a call, the answer that you propose, in the fewest words: " +
		"the person reads the question and your text. When the person has said something, continue_task answers the agent."
	notAlone = "This question is not answered without the person you work for. Write, as your next message and without a call, " +
		"the answer that you propose, in the fewest words: the person reads the question and your text. " +
		"When the person has said something, call continue_task again."
	stillWorks = "The agent works on this task and has not asked anything. A message now would answer its next question, which the person " +
		"you work for has not seen. Wait until the task asks or ends."
	oneAnswer = "Your answer to this task is under way, and its outcome is not known yet. If the task asks again, the person you work for " +
		"decides about that question, too. Stop here unless there is something else to do."
	tooMany = "The answer was not sent. The agent %q has asked more than %d questions in a row, and its task %s has failed for that reason. " +
		"Do without it, or begin another task that needs fewer questions."
	tooAlike = "The answer was not sent. The agent %q has asked the same question and got the same answer %d times in a row, and its task %s " +
		"has failed for that reason. Put all that it needs into one request, or split the request up, and begin another task."
)

// gated returns the question of a task that the model may not answer alone; nil if it may, or
// if the task has no question.
func (s *session) gated(ctx context.Context, id a2a.TaskID) (*open, error) {
	q, err := s.guarded(ctx, id)
	if err != nil || q == nil || q.Works {
		return nil, err
	}
	return &open{Question: *q, ID: uuid.NewString()}, nil
}

// guarded returns the question of an open task that the model may not answer alone; nil if it
// may, or if the task has ended.
func (s *session) guarded(ctx context.Context, id a2a.TaskID) (*Question, error) {
	q, err := s.question(ctx, id)
	if err != nil || q == nil || q.Alone {
		return nil, err
	}
	return q, nil
}

// question returns the question of an open task; nil if the task has ended.
func (s *session) question(ctx context.Context, id a2a.TaskID) (*Question, error) {
	if s.agent.Gate == nil || id == "" {
		return nil, nil
	}
	return s.agent.Gate.Question(ctx, id)
}

// limited returns the result in place of a call that would continue a loop of questions and
// answers. It is nil if the call may be made.
func (s *session) limited(ctx context.Context, c *call, q *Question) (*result, error) {
	if s.agent.Limit == nil || q.Works || c.intent {
		return nil, nil
	}
	var arguments struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal([]byte(c.Function.Arguments), &arguments) // the tool reports invalid arguments
	loop, err := s.agent.Limit(ctx, q, arguments.Message)
	if err != nil {
		return nil, err
	}
	if loop == (Loop{}) {
		c.loop = s.answers(ctx, q)
		return nil, nil
	}
	s.endLoop(q.Task, "failed")
	text := guard.Words(tooMany, string(q.Agent), loop.Rounds, string(q.Task))
	if loop.Repeats > 0 {
		text = guard.Words(tooAlike, string(q.Agent), loop.Repeats, string(q.Task))
	}
	return &result{Key: c.key, Text: text, Error: true}, nil
}

// refused returns the result in place of a call that would answer a question without a person's
// decision. It is nil if the call may be made.
func (s *session) refused(ctx context.Context, c *call) (*result, error) {
	id := c.continuedTask()
	if id == "" {
		return nil, nil
	}
	d := s.t.decision(c, id)
	switch {
	case d == decided && c.intent:
		return nil, nil // it was made before a crash, and is made only once
	case d == underway:
		return &result{Key: c.key, Text: guard.Words(oneAnswer), Error: true}, nil
	}
	q, err := s.question(ctx, id)
	switch {
	case err != nil || q == nil:
		return nil, err
	case q.Alone:
		return s.limited(ctx, c, q)
	case q.Works:
		return &result{Key: c.key, Text: guard.Words(stillWorks), Error: true}, nil
	case d == decided:
		c.loop = s.answers(ctx, q)
		return nil, nil
	}
	return &result{Key: c.key, Text: guard.Words(notAlone), Error: true, Open: &open{Question: *q, ID: uuid.NewString()}}, nil
}

// continuedTask returns the task that a call sends a message to. It is empty if the call begins a
// task, or if the arguments are invalid; the tool reports that.
func (c *call) continuedTask() a2a.TaskID {
	var arguments struct {
		Task  a2a.TaskID `json:"task_id"`
		Other a2a.TaskID `json:"taskId"`
	}
	if !anyMatches(callers, c.Function.Name) || json.Unmarshal([]byte(c.Function.Arguments), &arguments) != nil {
		return ""
	}
	if arguments.Task == "" {
		return arguments.Other
	}
	return arguments.Task
}

// opens returns the questions of an item that are left to a person.
func (it *item) opens() []*open {
	var all []*open
	if it.arrived != nil && it.arrived.Open != nil {
		all = append(all, it.arrived.Open)
	}
	for _, c := range it.calls {
		if c.result != nil && c.result.Open != nil {
			all = append(all, c.result.Open)
		}
	}
	return all
}

// opens returns the questions that arrived after the caller's last message.
func (t *transcript) opens() []*open {
	var all []*open
	for i := len(t.items) - 1; i >= 0 && !t.items[i].said(); i-- {
		all = append(t.items[i].opens(), all...)
	}
	return all
}

func (it *item) said() bool { return it.turn == nil && it.arrived == nil }

// decision is the state of the caller's decision about the question of a task.
type decision uint8

const (
	// undecided: the caller has sent nothing since the task's last question.
	undecided decision = iota
	// decided: the caller has sent a message, and the task was not answered since.
	decided
	// underway: the task was answered after that, and the outcome is still unknown. A further
	// message might answer a question that the caller has not seen.
	underway
)

// decision returns the caller's decision about the task that c would continue.
func (t *transcript) decision(c *call, id a2a.TaskID) decision {
	var spoken, answered, waits bool
	for i := len(t.items) - 1; i >= 0; i-- {
		it := &t.items[i]
		for _, x := range it.calls {
			if !spoken && x != c && x.answers(id) {
				answered, waits = true, waits || x.unsettled()
			}
		}
		spoken = spoken || it.said()
		if !slices.ContainsFunc(it.opens(), func(o *open) bool { return o.Task == id }) {
			continue
		}
		switch {
		case !spoken, answered && !waits:
			return undecided
		case answered:
			return underway
		}
		return decided
	}
	return undecided
}

func (c *call) answers(id a2a.TaskID) bool {
	return c.intent && c.continuedTask() == id && (c.result == nil || !c.result.Error)
}

// unsettled reports whether the outcome of a call is still unknown.
func (c *call) unsettled() bool {
	return c.result == nil || c.result.Pending != nil && c.arrived == nil
}

// surface asks the caller the questions of agents, with the text of the turn as the model's
// proposed answer. It reports false if no question waits for a person.
func (s *session) surface(ctx context.Context, t *turn) (bool, error) {
	var waiting []*open
	for _, o := range s.t.opens() {
		q, err := s.agent.Gate.Question(ctx, o.Task)
		if err != nil {
			return false, fmt.Errorf("look at the question of %q: %w", o.Agent, err)
		}
		same := func(w *open) bool { return w.Task == o.Task }
		if q != nil && !slices.ContainsFunc(waiting, same) {
			waiting = append(waiting, o)
		}
	}
	if len(waiting) == 0 {
		return false, nil
	}
	asks := &Surfaced{Question: waiting[0].Question, ID: waiting[0].ID, Asker: s.ec.TaskID, Draft: t.Message.Content.Text()}
	for _, o := range waiting[1:] {
		asks.Text += fmt.Sprintf("\n\nThe agent %q asks: %s", o.Agent, o.Text)
	}
	if err := s.agent.Gate.Surface(ctx, asks); err != nil {
		return false, fmt.Errorf("put the question of %q into the inbox: %w", asks.Agent, err)
	}
	text := fmt.Sprintf("The agent %q asks: %s", asks.Agent, strings.TrimSpace(asks.Text))
	if draft := strings.TrimSpace(asks.Draft); draft != "" {
		text += "\n\nProposed answer: " + draft
	}
	ev := agent.Status(s.ec, a2a.TaskStateInputRequired, a2a.NewTextPart(text))
	ev.Status.Message.ID = asks.ID
	ev.Metadata = map[string]any{
		"reason": "agent_delegate:input_required", "task_id": string(asks.Task), "agent_id": string(asks.Agent), "draft": asks.Draft,
	}
	s.emit(ev, nil)
	return true, nil
}

// withdraw withdraws the questions that the caller has decided about.
func (s *session) withdraw(ctx context.Context) error {
	if s.agent.Gate == nil || len(s.t.opens()) > 0 {
		return nil
	}
	for i := range s.t.items {
		for _, o := range s.t.items[i].opens() {
			if err := s.agent.Gate.Withdraw(ctx, &Surfaced{Question: o.Question, ID: o.ID, Asker: s.ec.TaskID}); err != nil {
				return err
			}
		}
	}
	return nil
}
