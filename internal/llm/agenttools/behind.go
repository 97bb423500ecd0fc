package agenttools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/llm"
)

// What the interfaces of this package return where the model can do something about it.
// The text of an error that wraps one of them is for the model to read. All other errors
// mean that the call was broken off.
var (
	// ErrNotFound: there is no agent, task or note of that name, or none that the caller
	// may see.
	ErrNotFound = errors.New("not found")
	// ErrRefused: the hub or the agent does not do that. The text says why.
	ErrRefused = errors.New("refused")
)

// Caller sends messages to agents. Its method is called concurrently.
type Caller interface {
	// Send sends a message to an agent and waits until the task has ended or waits for
	// its caller, or until s.Wait is over: then it returns the task as it is. If ctx ends
	// it returns the cause of that, and cancels the task if s.Abort is set; otherwise the
	// task goes on. A hub that is away is waited for; one that stays away after it has taken
	// the message leaves the task as it was last seen.
	Send(ctx context.Context, s *Send) (*Sent, error)
}

// Send is a message to an agent.
type Send struct {
	// Key makes the call happen once: one with a key that was used joins the task of the
	// first one, whatever it says. If it is empty, each call is a new one.
	Key string
	// Agent is the name of the agent in the hub. It may be empty if TaskID is set.
	Agent string
	// Skill is the skill that is asked for, or empty.
	Skill string
	// ContextID is the conversation to go on with, or empty.
	ContextID string
	// TaskID is the task to go on with, which waits for its caller. If empty, a new task
	// begins.
	TaskID a2a.TaskID
	// Parts are what to say, Metadata what goes along: that of the message.
	Parts    []*a2a.Part
	Metadata map[string]any
	// Session is whose result it is: it is noted below session/{Session}/, see ResultKey.
	// If empty, it is not.
	Session string
	// Wait is how long to wait for the end. Zero means until the task is accepted,
	// negative until ctx ends.
	Wait time.Duration
	// Abort cancels the task if ctx ends.
	Abort bool
	// Begun is told, before anything else, where the message went. It may be nil.
	Begun func(*Sent)
	// Progress is told each status of the task. It may be nil.
	Progress func(llm.Progress)
}

// Sent is what became of a Send.
type Sent struct {
	// Agent is the name of the agent in the hub.
	Agent string
	// Task is the task as it is, with its artifacts; nil if the answer is Message.
	Task *a2a.Task
	// Message is the bare message that the agent has answered with, or nil.
	Message *a2a.Message
}

// Tasks are the tasks of the caller. Its methods are called concurrently.
type Tasks interface {
	// Get returns a task with its artifacts.
	Get(ctx context.Context, id a2a.TaskID) (*Sent, error)
	// Cancel asks to cancel a task and returns it.
	Cancel(ctx context.Context, id a2a.TaskID) (*Sent, error)
	// List returns tasks, the last changed first, without their artifacts.
	List(ctx context.Context, q *TaskQuery) (*TaskPage, error)
}

// TaskQuery chooses tasks. Zero fields do not choose.
type TaskQuery struct {
	Agent, ContextID string
	State            a2a.TaskState
	// Limit is how many are wanted; zero leaves it to the hub. PageToken continues a list.
	Limit     int
	PageToken string
}

// TaskPage is a page of tasks.
type TaskPage struct {
	Tasks []*Sent
	// NextPageToken continues the list; empty at its end.
	NextPageToken string
}

// Directory knows the agents. Its methods are called concurrently.
type Directory interface {
	// Agents returns all agents in the order of their names, without their cards.
	Agents(ctx context.Context) ([]Agent, error)
	// Agent returns an agent with its card, by the name that it has in the hub or that
	// people use.
	Agent(ctx context.Context, name string) (*Agent, error)
	// Search returns agents and MCP servers that have to do with a query, the best first.
	Search(ctx context.Context, query string, limit int) ([]adminjson.Result, error)
}

// Agent is an agent of the directory. All texts but Name and LastSeen are its own.
type Agent struct {
	adminjson.Agent
	// Card is the whole card as the hub sends it, or nil.
	Card json.RawMessage `json:"card"`
}

// Registry changes which agents there are. Its methods are called concurrently.
type Registry interface {
	// Register adds an agent elsewhere, or changes one that was registered: its credential
	// stays if n has none.
	Register(ctx context.Context, n *adminjson.NewAgent) (*Agent, error)
	// Unregister removes an agent that was registered.
	Unregister(ctx context.Context, name string) error
	// Refresh reads the card of an agent again.
	Refresh(ctx context.Context, name string) (*Refreshed, error)
}

// Refreshed is what reading a card again has shown.
type Refreshed struct {
	Agent Agent
	// Changed says that the card is another one. Skipped says why it was not read, Error
	// why it could not be.
	Changed        bool
	Skipped, Error string
}

// NoteReader reads the working memory. Its methods are called concurrently. Keys are
// whole ones.
type NoteReader interface {
	// Note returns a note with the whole of its text.
	Note(ctx context.Context, key string) (*adminjson.Note, error)
	// Search returns the notes that fit, the best first, with the beginnings of their
	// texts. Without words it returns the newest.
	Search(ctx context.Context, q *NoteQuery) ([]adminjson.Note, error)
}

// NoteWriter changes the working memory. It is like NoteReader.
type NoteWriter interface {
	// Save stores a note in place of the one with the key.
	Save(ctx context.Context, key string, n *adminjson.NewNote) (*adminjson.Note, error)
	// Delete forgets a note.
	Delete(ctx context.Context, key string) error
}

// NoteQuery chooses notes. Zero fields do not choose.
type NoteQuery struct {
	Words, Category, Namespace string
	Tags                       []string
	Limit                      int
}

// People are who can be asked. Its method is called concurrently.
type People interface {
	// Ask puts a question to a person and waits for the answer. One with a key that was
	// used joins the first one. If ctx ends the question is withdrawn, unless that was
	// because q.Wait is over: then it stays, and the error wraps ErrRefused and says how
	// the answer is found.
	Ask(ctx context.Context, q *PersonQuestion) (*llm.Answer, error)
}

// PersonQuestion is a question to a person.
type PersonQuestion struct {
	// Key is as in Send.
	Key string
	// Text is the question. Agent is who asks, or empty.
	Text, Agent string
	// Wait is how long to wait; zero means until ctx ends.
	Wait time.Duration
}
