package toolbox

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/mcptool"
	"github.com/parley-a2a/parley/memory"
)

// Toolbox is the tools for one model, or for one conversation of it. The zero Toolbox has
// no tools but send_update.
type Toolbox struct {
	// Self is the name in the hub of the agent whose model it is. That one is not called.
	// If empty, the model is no agent.
	Self string
	// Session is the conversation of the model: its notes are below session/{Session}/,
	// and calls with the same id are the same call within it. If empty, it is a new one,
	// and calls cannot be joined after a crash.
	Session string

	// What is behind the tools. One that is nil hides them.
	Caller    Caller
	Tasks     Tasks
	Directory Directory
	Registry  Registry
	Notes     NoteReader
	Writer    NoteWriter
	People    People
}

var _ mcptool.Source = (*Toolbox)(nil)

// ResultKey returns the key of the note with the result of a task in a session.
func ResultKey(session, agent string, id a2a.TaskID) string {
	return "session/" + memory.Segment(session) + "/a2a/" + memory.Segment(agent) + "/" + memory.Segment(string(id)) + "/result"
}

// Tools implements mcptool.Source.
func (b *Toolbox) Tools(context.Context) ([]mcptool.Tool, error) { return nil, nil }

// Changed implements mcptool.Source: the tools stay.
func (b *Toolbox) Changed() <-chan struct{} { return nil }
