package rockbotpeer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Agent is a queue agent of RockBot.
type Agent struct {
	// Name is the AgentIdentity. It is required.
	Name string
	// Card is announced at the start and withdrawn at the end; nil announces nothing.
	Card *Card
	// Handle is the IAgentTaskHandler.
	Handle func(*Task) (*Result, error)
	// Skills are the IAgentSkillHandlers by id, used if Handle is nil.
	Skills map[string]func(*Task) (*Result, error)
}

// Task is a request with its envelope.
type Task struct {
	Request
	Envelope *Envelope
	agent    *Running
}

// Status publishes a status with a text, like AgentTaskContext.PublishStatus.
func (t *Task) Status(state State, text string) error {
	return t.agent.send(StatusTopic, t.Envelope.CorrelationID, "", &StatusUpdate{
		TaskID: t.TaskID, ContextID: t.ContextID, State: state, Message: TextMessage(text),
	})
}

// Publish publishes a message that RockBot's types would not allow.
func (t *Task) Publish(w *Wire) error { return t.agent.publish(w) }

// Result returns a result of the task with a text.
func (t *Task) Result(state State, text string) *Result {
	return &Result{TaskID: t.TaskID, ContextID: t.ContextID, State: state, Message: TextMessage(text)}
}

// Running is a running agent.
type Running struct {
	*conn
	a *Agent
	// Tasks are the requests that could be read, Canceled the ids of tasks to cancel, and
	// Refused the exceptions for all other messages.
	Tasks    chan *Task
	Canceled chan string
	Refused  chan error
}

// capacity is the number of messages that a peer keeps for its test.
const capacity = 1000

// StartAgent starts an agent like AddA2A. It stops with the test at the latest.
func StartAgent(tb testing.TB, url string, a *Agent) *Running {
	tb.Helper()
	r := &Running{
		conn: dial(tb, url, a.Name), a: a,
		Tasks: make(chan *Task, capacity), Canceled: make(chan string, capacity), Refused: make(chan error, capacity),
	}
	for _, topic := range []string{TaskTopic + a.Name, CancelTopic + a.Name} {
		r.subscribe(QueueOf(a.Name, topic), topic, r.receive)
	}
	if a.Card != nil {
		r.announce(false)
	}
	return r
}

func (r *Running) announce(leaving bool) {
	c := *r.a.Card
	c.IsDeregistering = leaving
	if err := r.send(AnnounceTopic, "", "", &c); err != nil {
		r.tb.Errorf("announce: %v", err)
	}
}

// Stop ends the agent, which deregisters itself.
func (r *Running) Stop() {
	if r.a.Card != nil {
		r.announce(true)
	}
	r.end()
}

// Kill ends the agent without deregistering it.
func (r *Running) Kill() { r.end() }

// receive dispatches a message by its type.
func (r *Running) receive(e *Envelope) error {
	err := r.dispatch(e)
	if err != nil {
		r.Refused <- err
	}
	return err
}

func (r *Running) dispatch(e *Envelope) error {
	switch e.Type {
	case (*Request)(nil).typeName():
		t := &Task{Envelope: e, agent: r}
		if err := Decode(e.Body, &t.Request); err != nil {
			return err
		}
		return r.perform(t)
	case (*CancelRequest)(nil).typeName():
		var c CancelRequest
		if err := Decode(e.Body, &c); err != nil {
			return err
		}
		r.Canceled <- Val(c.TaskID)
		return r.send(r.replyTo(e), e.CorrelationID, "", &TaskError{
			TaskID: c.TaskID, ContextID: c.ContextID, Code: Ptr("task_not_cancelable"),
			Message: Ptr("Stateless agents do not support task cancellation."),
		})
	}
	return fmt.Errorf("no handler for message type %q", e.Type)
}

func (r *Running) replyTo(e *Envelope) string {
	if e.ReplyTo == "" {
		return "agent.response"
	}
	return e.ReplyTo
}

// perform corresponds to AgentTaskRequestHandler: Working, then the handler's result or its
// error.
func (r *Running) perform(t *Task) error {
	r.Tasks <- t
	e := t.Envelope
	err := r.send(StatusTopic, e.CorrelationID, "", &StatusUpdate{TaskID: t.TaskID, ContextID: t.ContextID, State: Working})
	if err != nil {
		return err
	}
	result, err := r.handle(t)
	switch {
	case err != nil:
		return r.send(r.replyTo(e), e.CorrelationID, "", &TaskError{
			TaskID: t.TaskID, ContextID: t.ContextID, Code: Ptr("execution_failed"), Message: Ptr(err.Error()),
		})
	case result == nil:
		return nil // the handler has published the result itself
	}
	return r.send(r.replyTo(e), e.CorrelationID, "", result)
}

// handle calls the task handler, or acts like SkillDispatchingTaskHandler.
func (r *Running) handle(t *Task) (*Result, error) {
	if r.a.Handle != nil {
		return r.a.Handle(t)
	}
	for id, f := range r.a.Skills {
		if strings.EqualFold(id, Val(t.Skill)) {
			return f(t)
		}
	}
	return t.Result(Failed, fmt.Sprintf("Skill '%s' is not supported by this agent.", Val(t.Skill))), nil
}

// Next returns the next request. It fails the test if none arrives, or if a message could not
// be read.
func (r *Running) Next() *Task {
	r.tb.Helper()
	select {
	case t := <-r.Tasks:
		return t
	case err := <-r.Refused:
		r.tb.Fatalf("%s cannot read a message: %v", r.name, err)
	case <-time.After(patience):
		r.tb.Fatalf("%s has got no request", r.name)
	}
	return nil
}

// Unread fails the test if the agent could not read a message.
func (r *Running) Unread() {
	r.tb.Helper()
	select {
	case err := <-r.Refused:
		r.tb.Errorf("%s cannot read a message: %v", r.name, err)
	default:
	}
}
