package parley

import (
	"log/slog"
	"time"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/task"
)

// Memory records the results of tasks, and the outcomes of work that agents have delegated, as
// notes. The zero Memory keeps the notes in memory.
type Memory struct {
	// Notes are the notes. If nil, they are kept in memory. If their Fetch is nil, the hub sets
	// it, so that a note with a long result is read from its task.
	Notes *Notes
	// Turns are the conversations of callers with agents. If nil, they are kept in memory and
	// rebuilt from the tasks.
	Turns *Turns
	// Primary is the session of the hub itself; "primary" if empty.
	Primary string
	// Owner is the owner of the notes about outcomes; "local" if empty.
	Owner task.Owner
	// ResultTTL is how long a result is kept; 60 min if zero.
	ResultTTL time.Duration
	// OutcomeTTL is how long an outcome and a notification are kept; 8 h if zero.
	OutcomeTTL time.Duration
	// SessionTTL is the time after its last message at which a session has ended; 24 h if
	// zero.
	SessionTTL time.Duration
	// Outcomes reports whether the outcomes of an agent's work are recorded. If nil, none are.
	Outcomes func(task.Agent) bool
}

// notes returns the notes, or nil if m is nil.
func (m *Memory) notes() *Notes {
	switch {
	case m == nil:
		return nil
	case m.Notes == nil:
		m.Notes = new(memory.Notes)
	}
	return m.Notes
}

// turns returns the conversations, which are rebuilt from the tasks of s, or nil if m is nil.
func (m *Memory) turns(s Store) *Turns {
	switch {
	case m == nil:
		return nil
	case m.Turns == nil:
		return &memory.Turns{Log: s}
	}
	return m.Turns
}

// recorder returns a recorder that reads tasks of s and writes to m, or nil if m is nil.
func (m *Memory) recorder(s Store, logger *slog.Logger) *recorder.Recorder {
	if m == nil {
		return nil
	}
	return recorder.New(recorder.Config{
		Notes: m.notes(), Store: s, Logger: logger,
		Options: recorder.Options{
			Primary: m.Primary, Owner: m.Owner, Outcomes: m.Outcomes,
			ResultTTL: m.ResultTTL, OutcomeTTL: m.OutcomeTTL, SessionTTL: m.SessionTTL,
		},
	})
}
