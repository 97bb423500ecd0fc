package server

import (
	"slices"

	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/task"
)

// memories are the notes and conversations of the hub.
type memories struct {
	notes    *memory.Notes
	turns    *memory.Turns
	recorder *recorder.Recorder
}

func (h *Hub) openMemory() {
	c, tasks := &h.cfg.Memory, h.stores.tasks
	h.memory.notes = &memory.Notes{
		Store: h.stores.notes, Fetch: recorder.Fetch(tasks),
		Limits: memory.Limits{
			TTL: duration(c.TTL), MaxTTL: duration(c.MaxTTL), Entries: c.Entries, OwnerEntries: c.OwnerEntries, Value: int(c.Value),
		},
	}
	h.memory.turns = &memory.Turns{Store: h.stores.turns, Log: tasks, Retention: duration(c.Retention)}
	h.memory.recorder = recorder.New(recorder.Config{
		Notes: h.memory.notes, Store: tasks, Logger: h.logger,
		Options: recorder.Options{
			Primary: c.PrimarySession, Owner: task.Owner(c.Owner), Outcomes: func(a task.Agent) bool {
				return slices.Contains(c.Outcomes, "*") || slices.Contains(c.Outcomes, string(a)) || h.cfg.FrontDesk.Serve && a == assistant.NegotiateMeeting
			},
			ResultTTL: duration(c.ResultTTL), OutcomeTTL: duration(c.OutcomeTTL), SessionTTL: duration(c.SessionTTL),
		},
	})
}
