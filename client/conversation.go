package client

import (
	"context"
	"iter"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Conversation keeps the ids of a conversation for its caller. The first message names neither
// a context nor a task; later ones name the context, and the task as long as that waits for an
// answer. The zero Conversation with a Client is ready to use; with a ContextID and a TaskID it
// continues an earlier one.
//
// It is safe for concurrent use, but messages should be sent one at a time.
type Conversation struct {
	Client *Client

	mu sync.Mutex // guards the fields below, while no method runs
	// ContextID and TaskID are the ids that the next message gets, or empty.
	ContextID string
	TaskID    a2a.TaskID
}

// SendParts sends the parts and yields the events, like Client.Run.
func (c *Conversation) SendParts(ctx context.Context, parts ...*a2a.Part) iter.Seq2[a2a.Event, error] {
	return c.Send(ctx, a2a.NewMessage(a2a.MessageRoleUser, parts...))
}

// Send sends a message with the ids of the conversation, unless it has its own.
func (c *Conversation) Send(ctx context.Context, m *a2a.Message) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		sent := *m
		c.mu.Lock()
		if sent.ContextID == "" && sent.TaskID == "" {
			sent.ContextID, sent.TaskID = c.ContextID, c.TaskID
		}
		c.mu.Unlock()
		for e, err := range c.Client.Run(ctx, &a2a.SendMessageRequest{Message: &sent}) {
			if err == nil {
				c.note(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// note stores the ids of an event. A task that has ended accepts no further message.
func (c *Conversation) note(e a2a.Event) {
	info := e.TaskInfo()
	c.mu.Lock()
	defer c.mu.Unlock()
	if info.ContextID != "" {
		c.ContextID = info.ContextID
	}
	switch state := stateAfter("", e); {
	case state == "":
	case Interrupted(state):
		c.TaskID = info.TaskID
	default:
		c.TaskID = ""
	}
}

// Done ends the conversation: the next message starts another one.
func (c *Conversation) Done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ContextID, c.TaskID = "", ""
}
