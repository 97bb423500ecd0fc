package conversation

import (
	"context"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/llm"
)

// Conversation answers the messages of one context.
type Conversation interface {
	// Send answers a message. An error fails the task and closes the Conversation.
	Send(ctx context.Context, m *a2a.Message) (*Reply, error)
	// Close lets go of what the Conversation holds. It is called once, and not while
	// something else is.
	Close() error
}

// Streamer is a Conversation that replies in pieces. If it is one, Stream is called in the
// place of Send.
type Streamer interface {
	// Stream yields the pieces of a reply. All of them together are the reply; the calls
	// and the question of the last one that has any count.
	Stream(ctx context.Context, m *a2a.Message) iter.Seq2[*Reply, error]
}

// Resumer is a Conversation whose caller can perform tools.
type Resumer interface {
	// Resume goes on with what came of all calls of the last reply, in their order.
	Resume(ctx context.Context, results []*llm.ClientResult) (*Reply, error)
}

// Reply is what a Conversation replies.
type Reply struct {
	// Parts are the answer, or a piece of it.
	Parts a2a.ContentParts
	// Calls are tools that the caller is to perform: the task waits for their results.
	// Each has an ID of its own. They need a Resumer.
	Calls []*llm.ClientCall
	// Question is what is asked of the caller: the task waits for the answer, which is a
	// message. Empty if nothing is asked.
	Question string
}

// Opening is what an Opener is told.
type Opening struct {
	// ContextID is the context.
	ContextID string
	// Principal is who speaks; nil outside a hub.
	Principal *auth.Principal
	// Pending are the calls whose results the first message brings: the Conversation has
	// asked for them before it was closed, or before the hub was started again.
	Pending []*llm.ClientCall
	// History are the messages of the task that the first message continues, if any.
	History []*a2a.Message
}

// Opener opens the Conversation of a context, or goes on with one that it has kept.
type Opener func(ctx context.Context, o *Opening) (Conversation, error)
