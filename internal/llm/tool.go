package llm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Tool is a function that a language model may call.
type Tool struct {
	// Name is the name that the model calls: at most 64 letters, digits, "_" and "-".
	Name string
	// Title is the display name; empty means Name.
	Title string
	// Description explains to the model the purpose of the tool and when to use it.
	Description string
	// Input is the JSON Schema of the arguments, whose type is object.
	Input json.RawMessage
	// Output is the JSON Schema of the first data part of results. Nil means unspecified.
	Output json.RawMessage
	// ReadOnly tools change nothing. Idempotent tools have no further effect if they are called
	// again with the same arguments. Destructive tools may delete or overwrite data.
	ReadOnly, Idempotent, Destructive bool
	// Repeatable tools have no further effect if they are called again with the same arguments
	// and the same Call.ID: the new call joins the first one, also after a crash.
	Repeatable bool
	// Call performs the tool. An error means that the call was aborted, because ctx has ended
	// or the hub is unavailable. A mistake of the model is a Result with Error set.
	Call func(ctx context.Context, c *Call) (*Result, error)
}

// Call is one call of a Tool.
type Call struct {
	// ID identifies the call. It stays the same if the call is repeated after a crash. If
	// empty, the call is not repeated.
	ID string
	// Arguments is the unvalidated JSON that the model wrote.
	Arguments json.RawMessage
	// Dispatch is set if the caller can wait for Pending of the Result. A tool that sends a
	// task to an agent then returns once the task is dispatched. If nil, the tool waits as long
	// as its arguments allow.
	Dispatch *Dispatch
	// Room is the largest size of a Result, as JSON in bytes, that the caller can pass on. Zero
	// means no limit.
	Room int
	// Progress receives the progress of the call. It may be nil.
	Progress func(Progress)
	// Ask asks the user of the model while the call waits. If nil, nothing can be asked, and
	// the Result has the Question.
	Ask func(ctx context.Context, q *Question) (*Answer, error)
}

// Dispatch selects the results of agents that a call returns directly. All others are read from
// working memory, by the key in Pending. The zero Dispatch returns none directly.
type Dispatch struct {
	// Inline is the largest number of characters of a text, including data, that the call
	// returns directly.
	Inline int
	// Hold is the time that the call waits for such a text.
	Hold time.Duration
}

// Progress is a progress report of a call.
type Progress struct {
	// Agent is the agent that reports; empty if the tool itself does.
	Agent string
	// State is the state of the agent's task in the protocol's spelling, or empty.
	State string
	// Text is the text of the report, or empty. It comes from the agent and is not trusted.
	Text string
}

// Question is a question of an agent that a tool waits for.
type Question struct {
	// Agent is the name of the asking agent.
	Agent string
	// TaskID and ContextID identify the task that receives the answer.
	TaskID    a2a.TaskID
	ContextID string
	// Parts are the content of the question.
	Parts []*a2a.Part
	// Auth is set if the agent asks for a permission instead of an answer.
	Auth bool
}

// Answer is the answer to a Question.
type Answer struct {
	// Text is the answer; empty if Refused.
	Text string
	// Refused is set if the question will not be answered.
	Refused bool
}

// Result is the result of a call.
type Result struct {
	// Parts are the content for the model.
	Parts []*a2a.Part
	// Files are the files of an agent as it has sent them, for programs: their names, addresses
	// and metadata carry no label. The model gets those that are in Parts.
	Files []*a2a.Part
	// Error is set if the call failed. Parts then explain the reason and the remedy.
	Error bool
	// Origin is the agent or server that wrote Parts. It is empty if the hub wrote them, or if
	// text of others in them is labelled already, as in results of the agent tools and the
	// skill tools. Text of others is labelled before a model reads it. See package
	// internal/llm/guard, whose Notice belongs in the instructions of that model.
	Origin string
	// Question is set if an agent waits for an answer and Call.Ask was nil.
	Question *Question
	// Pending is set if the Call has Dispatch and its Result is not the agent's.
	Pending *Pending
}

// Pending describes the work of an agent that continues after a call.
type Pending struct {
	// Agent is the working agent, TaskID its task.
	Agent  string
	TaskID a2a.TaskID
	// Key is the key of the note in working memory that will hold the result.
	Key string
	// Begun is set if the call has started the task.
	Begun bool
	// Wait is how long the model wants to wait for the result, counted from the end of the
	// call.
	Wait time.Duration
}

// Source provides tools.
type Source interface {
	// Tools returns the current tools, in a stable order.
	Tools(ctx context.Context) ([]Tool, error)
	// Changed returns a channel that is closed when Tools may return different tools. It is nil
	// if the tools never change.
	Changed() <-chan struct{}
}
