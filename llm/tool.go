package llm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Tool is a function that a language model may call.
type Tool struct {
	// Name is what the model calls: letters, digits, "_" and "-", at most 64 of them.
	Name string
	// Title is the name for people; empty means Name.
	Title string
	// Description tells the model what the tool does, and when to use it.
	Description string
	// Input is the JSON Schema of the arguments, whose type is object.
	Input json.RawMessage
	// Output is the JSON Schema of the first data part of results; nil says nothing.
	Output json.RawMessage
	// ReadOnly tools change nothing; Idempotent ones change nothing more when they are
	// called again with the same arguments; Destructive ones may take something away.
	ReadOnly, Idempotent, Destructive bool
	// Repeatable tools change nothing more when they are called again with the same
	// arguments and the same Call.ID: the call joins the first one, also after a crash.
	Repeatable bool
	// Call performs the tool. An error means that the call was broken off, because ctx
	// has ended or the hub is not there; what the model did wrong is a Result.
	Call func(ctx context.Context, c *Call) (*Result, error)
}

// Call is one call of a Tool.
type Call struct {
	// ID names the call, and is the same if it is repeated after a crash. If empty,
	// the call is not repeated.
	ID string
	// Arguments are what the model gave: JSON that nobody has checked.
	Arguments json.RawMessage
	// Dispatch is set if the caller awaits Pending of the Result: a tool that gives an agent a
	// task returns once the task is dispatched. If nil, the tool waits as long as its arguments
	// say.
	Dispatch *Dispatch
	// Room is the number of bytes of the longest Result that the caller can show, as JSON. Zero
	// means any number.
	Room int
	// Progress is told how the call gets on. It may be nil.
	Progress func(Progress)
	// Ask asks whoever the model works for, while the call waits. If nil, nobody is
	// there, and a question is a Result.
	Ask func(ctx context.Context, q *Question) (*Answer, error)
}

// Dispatch says which results of agents a call returns itself. All others are read from
// working memory, by the key in Pending. The zero Dispatch returns none.
type Dispatch struct {
	// Inline is the number of characters of the longest text, data included, that the call
	// returns itself.
	Inline int
	// Hold is how long the call waits for such a text.
	Hold time.Duration
}

// Progress is how far a call has got.
type Progress struct {
	// Agent is the agent that says so; empty if it is the tool itself.
	Agent string
	// State is the state of its task as the protocol names it, or empty.
	State string
	// Text is what it says, or empty. It is a stranger's.
	Text string
}

// Question is what an agent asks back while a tool waits for it.
type Question struct {
	// Agent is who asks.
	Agent string
	// TaskID and ContextID say where the answer belongs.
	TaskID    a2a.TaskID
	ContextID string
	// Parts are the question.
	Parts []*a2a.Part
	// Auth says that a permission is asked for, rather than an answer.
	Auth bool
}

// Answer is what was answered to a Question.
type Answer struct {
	// Text is the answer; empty if Refused.
	Text string
	// Refused says that there will be none.
	Refused bool
}

// Result is what a call gave.
type Result struct {
	// Parts are what the model gets to see.
	Parts []*a2a.Part
	// Error says that the call came to nothing, and that Parts say why and what to do.
	Error bool
	// Origin is the agent or server whose words Parts are; empty if they are the hub's
	// own, or if the words of others in them are labelled already, as those of the agent
	// tools and skill tools are. Words of others are labelled before a model reads them; see
	// package internal/llm/guard, whose Notice belongs into the instructions of that model.
	Origin string
	// Question is set if an agent waits for an answer, and nobody was there to ask.
	Question *Question
	// Pending is set if the Call has Dispatch and its Result is not that of the agent.
	Pending *Pending
}

// Pending is the work of an agent that goes on after a call.
type Pending struct {
	// Agent is who works, TaskID at what.
	Agent  string
	TaskID a2a.TaskID
	// Key is the note in working memory that the result will be.
	Key string
	// Begun says that the call has begun the task.
	Begun bool
	// Wait is how long the model wants to wait for the result, from now on.
	Wait time.Duration
}

// Source has tools.
type Source interface {
	// Tools returns the tools as they are now, in a steady order.
	Tools(ctx context.Context) ([]Tool, error)
	// Changed returns a channel that is closed when Tools may return others; nil if
	// they stay.
	Changed() <-chan struct{}
}
