package rockbotpeer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Caller is an agent that calls others, such as the primary one.
type Caller struct {
	*conn
	// Replies, Statuses and Cards are the messages that could be read, Refused the exceptions
	// for all others.
	Replies  chan *Reply
	Statuses chan *Status
	Cards    chan *Announced
	Refused  chan error
}

// Reply is a result or an error with its envelope.
type Reply struct {
	Envelope *Envelope
	Result   *Result
	Error    *TaskError
}

// Status is a status with its envelope.
type Status struct {
	StatusUpdate
	Envelope *Envelope
}

// Announced is a card with its envelope.
type Announced struct {
	Card
	Envelope *Envelope
}

// StartCaller starts a caller with a name.
func StartCaller(tb testing.TB, url, name string) *Caller {
	tb.Helper()
	c := &Caller{
		conn: dial(tb, url, name), Replies: make(chan *Reply, capacity), Statuses: make(chan *Status, capacity),
		Cards: make(chan *Announced, capacity), Refused: make(chan error, capacity),
	}
	for _, topic := range []string{ReplyTopic + name, StatusTopic} {
		c.subscribe(QueueOf(name, topic), topic, c.receive)
	}
	c.subscribe("rockbot."+name+".discovery", AnnounceTopic, c.receive)
	return c
}

func (c *Caller) receive(e *Envelope) error {
	err := c.dispatch(e)
	if err != nil {
		c.Refused <- fmt.Errorf("%s at %s: %w", e.Type, e.Topic, err)
	}
	return err
}

func (c *Caller) dispatch(e *Envelope) error {
	switch e.Type {
	case (*Result)(nil).typeName():
		r := &Reply{Envelope: e, Result: new(Result)}
		if err := Decode(e.Body, r.Result); err != nil {
			return err
		}
		c.Replies <- r
	case (*TaskError)(nil).typeName():
		r := &Reply{Envelope: e, Error: new(TaskError)}
		if err := Decode(e.Body, r.Error); err != nil {
			return err
		}
		c.Replies <- r
	case (*StatusUpdate)(nil).typeName():
		s := &Status{Envelope: e}
		if err := Decode(e.Body, &s.StatusUpdate); err != nil {
			return err
		}
		c.Statuses <- s
	case (*Card)(nil).typeName():
		a := &Announced{Envelope: e}
		if err := Decode(e.Body, &a.Card); err != nil {
			return err
		}
		c.Cards <- a
	default:
		return fmt.Errorf("no handler for message type %q", e.Type)
	}
	return nil
}

// Invoke sends a request to an agent, like invoke_agent, and returns its task id.
func (c *Caller) Invoke(agent string, r *Request) string {
	c.tb.Helper()
	if r.TaskID == nil {
		r.TaskID = Ptr(strings.ReplaceAll(uuid.NewString(), "-", ""))
	}
	if err := c.send(TaskTopic+agent, *r.TaskID, ReplyTopic+c.name, r); err != nil {
		c.tb.Fatal(err)
	}
	return *r.TaskID
}

// Cancel asks an agent to cancel a task.
func (c *Caller) Cancel(agent, id string) {
	c.tb.Helper()
	if err := c.send(CancelTopic+agent, id, ReplyTopic+c.name, &CancelRequest{TaskID: &id}); err != nil {
		c.tb.Fatal(err)
	}
}

// Publish publishes a message that RockBot's types would not allow.
func (c *Caller) Publish(w *Wire) {
	c.tb.Helper()
	if err := c.publish(w); err != nil {
		c.tb.Fatal(err)
	}
}

// Announce publishes a card with the name of the caller as its source.
func (c *Caller) Announce(card *Card) {
	c.tb.Helper()
	if err := c.send(AnnounceTopic, "", "", card); err != nil {
		c.tb.Fatal(err)
	}
}

// Reply returns the next result or error. It fails the test if none arrives, or if a message
// could not be read.
func (c *Caller) Reply() *Reply { return next(c, c.Replies, "answer") }

// Status returns the next status.
func (c *Caller) Status() *Status { return next(c, c.Statuses, "status") }

// Card returns the next card.
func (c *Caller) Card() *Announced { return next(c, c.Cards, "card") }

func next[T any](c *Caller, from <-chan T, what string) (v T) {
	c.tb.Helper()
	select {
	case v = <-from:
	case err := <-c.Refused:
		c.tb.Fatalf("%s cannot read a message: %v", c.name, err)
	case <-time.After(patience):
		c.tb.Fatalf("%s has got no %s", c.name, what)
	}
	return v
}

// Tap is a queue that is bound to all topics, like that of a logger.
type Tap struct {
	*conn
	Messages chan *Envelope
}

// StartTap binds a queue to every topic.
func StartTap(tb testing.TB, url string) *Tap {
	tb.Helper()
	t := &Tap{conn: dial(tb, url, "tap"), Messages: make(chan *Envelope, 10*capacity)}
	t.subscribe("rockbot.tap", "#", func(e *Envelope) error {
		t.Messages <- e
		return nil
	})
	return t
}

// Next returns the next message at a topic with this prefix, and discards others.
func (t *Tap) Next(topic string) *Envelope {
	t.tb.Helper()
	late := time.After(patience)
	for {
		select {
		case e := <-t.Messages:
			if strings.HasPrefix(e.Topic, topic) {
				return e
			}
		case <-late:
			t.tb.Fatalf("the tap has seen nothing at %s", topic)
			return nil
		}
	}
}
