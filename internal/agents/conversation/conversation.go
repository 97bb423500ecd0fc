package conversation

import (
	"context"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/llm"
)

// Conversation answers the messages of one context. Its methods are never called concurrently.
type Conversation interface {
	// Send answers a message. An error fails the task and closes the Conversation.
	Send(ctx context.Context, m *a2a.Message) (*Reply, error)
	// Close releases the resources of the Conversation. It is called once, and never
	// concurrently with another method.
	Close() error
}

// Streamer is a Conversation that replies in pieces. Stream is called instead of Send.
type Streamer interface {
	// Stream yields the pieces of a reply, which together form the reply. Of Calls and
	// Question, the last non-empty value applies.
	Stream(ctx context.Context, m *a2a.Message) iter.Seq2[*Reply, error]
}

// Resumer is a Conversation whose caller can perform tools.
type Resumer interface {
	// Resume continues with the results of all calls of the last reply, in their order.
	Resume(ctx context.Context, results []*llm.ClientResult) (*Reply, error)
}

// Reply is a reply of a Conversation, or a piece of one.
type Reply struct {
	// Parts are the parts of the answer.
	Parts a2a.ContentParts
	// Calls are tools for the caller to perform: the task waits for their results. Each has an
	// ID of its own. Only a Resumer may return calls.
	Calls []*llm.ClientCall
	// Question is a question for the caller: the task waits for the answer, which is a message.
	// Empty means no question.
	Question string
}

// Opening holds the arguments of an Opener.
type Opening struct {
	// ContextID is the id of the context.
	ContextID string
	// Principal is the caller; nil outside a hub.
	Principal *auth.Principal
	// Pending lists the calls whose results the first message brings. The Conversation returned
	// these calls before it was closed, or before the hub was restarted.
	Pending []*llm.ClientCall
	// History holds the messages of the task that the first message continues, if any.
	History []*a2a.Message
}

// Opener opens the Conversation of a context, or continues one that it has stored.
type Opener func(ctx context.Context, o *Opening) (Conversation, error)
