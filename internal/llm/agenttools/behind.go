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

// Errors that the interfaces of this package return if the model can react to them. The text of
// an error that wraps one of them is shown to the model. Any other error aborts the call.
var (
	// ErrNotFound: there is no agent, task or note of that name, or the caller may not see it.
	ErrNotFound = errors.New("not found")
	// ErrRefused: the hub or the agent refuses. The text states the reason.
	ErrRefused = errors.New("refused")
)

// Caller sends messages to agents. Its method may be called concurrently.
type Caller interface {
	// Send sends a message to an agent. It waits until the task has ended or waits for its
	// caller, or until s.Wait is over, and returns the current task. If ctx ends, it returns
	// the cause; it cancels the task if s.Abort is set, otherwise the task continues. Send
	// waits for an unreachable hub. If the hub becomes unreachable after it has accepted the
	// message, Send finally returns the last known state of the task.
	Send(ctx context.Context, s *Send) (*Sent, error)
}

// Send is a message to an agent.
type Send struct {
	// Key makes the call happen once: a call whose key was used joins the task of the first
	// one, whatever its message. If Key is empty, each call is new.
	Key string
	// Agent is the name of the agent in the hub. It may be empty if TaskID is set.
	Agent string
	// Skill is the requested skill, or empty.
	Skill string
	// ContextID is the conversation to continue, or empty.
	ContextID string
	// TaskID is the task to continue, which waits for its caller. If empty, a new task begins.
	TaskID a2a.TaskID
	// Parts are the content of the message, Metadata its metadata.
	Parts    []*a2a.Part
	Metadata map[string]any
	// Session is the session that receives the result: the hub stores it as a note below
	// session/{Session}/, see ResultKey. If empty, the result is not stored.
	Session string
	// Wait is how long to wait for the end of the task. Zero means until the hub has accepted
	// the task, negative until ctx ends.
	Wait time.Duration
	// Abort cancels the task if ctx ends.
	Abort bool
	// Begun is called first, with the task that the message reached. It may be nil.
	Begun func(*Sent)
	// Progress is called with each status of the task. It may be nil.
	Progress func(llm.Progress)
}

// Sent is the result of a Send.
type Sent struct {
	// Agent is the name of the agent in the hub.
	Agent string
	// Task is the current task with its artifacts; nil if the answer is Message.
	Task *a2a.Task
	// Message is the bare message with which the agent has answered, or nil.
	Message *a2a.Message
}

// Tasks gives access to the tasks of the caller. Its methods may be called concurrently.
type Tasks interface {
	// Get returns a task with its artifacts.
	Get(ctx context.Context, id a2a.TaskID) (*Sent, error)
	// Cancel requests the cancellation of a task and returns the task.
	Cancel(ctx context.Context, id a2a.TaskID) (*Sent, error)
	// List returns tasks without their artifacts, the most recently changed first.
	List(ctx context.Context, q *TaskQuery) (*TaskPage, error)
}

// TaskQuery selects tasks. Zero fields do not restrict the selection.
type TaskQuery struct {
	Agent, ContextID string
	State            a2a.TaskState
	// Limit is the largest number of tasks; zero means the hub's default. PageToken continues a
	// list.
	Limit     int
	PageToken string
}

// TaskPage is a page of tasks.
type TaskPage struct {
	Tasks []*Sent
	// NextPageToken continues the list; empty at its end.
	NextPageToken string
}

// Directory lists and finds agents. Its methods may be called concurrently.
type Directory interface {
	// Agents returns all agents in the order of their names, without their cards.
	Agents(ctx context.Context) ([]Agent, error)
	// Agent returns an agent with its card. name is its name in the hub or its display name.
	Agent(ctx context.Context, name string) (*Agent, error)
	// Search returns the agents and MCP servers that match a query, the best first.
	Search(ctx context.Context, query string, limit int) ([]adminjson.Result, error)
}

// Agent is an agent of the directory. The agent itself has written all texts but Name and
// LastSeen.
type Agent struct {
	adminjson.Agent
	// Card is the whole card in the hub's JSON, or nil.
	Card json.RawMessage `json:"card"`
}

// Registry adds and removes agents. Its methods may be called concurrently.
type Registry interface {
	// Register adds an external agent, or changes a registered one. It keeps the old credential
	// if n has none.
	Register(ctx context.Context, n *adminjson.NewAgent) (*Agent, error)
	// Unregister removes a registered agent.
	Unregister(ctx context.Context, name string) error
	// Refresh reads the card of an agent again.
	Refresh(ctx context.Context, name string) (*Refreshed, error)
}

// Refreshed is the result of reading a card again.
type Refreshed struct {
	Agent Agent
	// Changed is set if the card has changed. Skipped is the reason why the hub did not read
	// it, Error the reason why reading failed.
	Changed        bool
	Skipped, Error string
}

// NoteReader reads the working memory. Its methods may be called concurrently. Keys are
// complete keys.
type NoteReader interface {
	// Note returns a note with its whole text.
	Note(ctx context.Context, key string) (*adminjson.Note, error)
	// Search returns the matching notes with the beginnings of their texts, the best match
	// first. Without words it returns the newest notes.
	Search(ctx context.Context, q *NoteQuery) ([]adminjson.Note, error)
}

// NoteWriter changes the working memory. Its methods may be called concurrently.
type NoteWriter interface {
	// Save stores a note, and replaces the one with the same key.
	Save(ctx context.Context, key string, n *adminjson.NewNote) (*adminjson.Note, error)
	// Delete deletes a note.
	Delete(ctx context.Context, key string) error
}

// NoteQuery selects notes. Zero fields do not restrict the selection.
type NoteQuery struct {
	Words, Category, Namespace string
	Tags                       []string
	Limit                      int
}

// People asks people. Its method may be called concurrently.
type People interface {
	// Ask sends a question to a person and waits for the answer. A question whose key was used
	// joins the first one. If ctx ends, the question is withdrawn. If q.Wait is over, the
	// question stays open, and the error wraps ErrRefused and explains how to get the answer
	// later.
	Ask(ctx context.Context, q *PersonQuestion) (*llm.Answer, error)
}

// PersonQuestion is a question to a person.
type PersonQuestion struct {
	// Key has the same meaning as in Send.
	Key string
	// Text is the question. Agent is the asking agent, or empty.
	Text, Agent string
	// Wait is how long to wait for the answer; zero means until ctx ends.
	Wait time.Duration
}
