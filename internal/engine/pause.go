package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/task"
)

// pauses holds the paused agents, with the tasks that wait for them. The tasks are outside of
// the queue and do not block others.
type pauses struct {
	mu     sync.Mutex // guards the fields below
	agents map[task.Agent][]ticket
	size   int
}

// Pause stops the dispatch of messages to an agent. Messages are still accepted and wait,
// including answers to its questions. Its current runs continue. Pauses are not stored: after a
// restart the caller has to pause the agent again.
func (e *Engine) Pause(name task.Agent) {
	p := &e.pauses
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.agents[name]; there {
		return
	}
	if p.agents == nil {
		p.agents = make(map[task.Agent][]ticket)
	}
	p.agents[name] = nil
}

// Resume dispatches messages to an agent again, beginning with those that have waited.
func (e *Engine) Resume(name task.Agent) {
	p := &e.pauses
	e.scheduler.hold()
	p.mu.Lock()
	tickets := p.agents[name]
	delete(p.agents, name)
	p.size -= len(tickets)
	p.mu.Unlock()
	for _, s := range tickets {
		e.wait(s)
	}
	e.launchAll(e.scheduler.open())
}

// Paused returns the paused agents, sorted by name.
func (e *Engine) Paused() []task.Agent {
	e.pauses.mu.Lock()
	defer e.pauses.mu.Unlock()
	return slices.Sorted(maps.Keys(e.pauses.agents))
}

// IsPaused reports whether an agent is paused.
func (e *Engine) IsPaused(name task.Agent) bool {
	e.pauses.mu.Lock()
	defer e.pauses.mu.Unlock()
	_, there := e.pauses.agents[name]
	return there
}

// park keeps a ticket, with its reference to the task, if the agent is paused. It reports
// whether it does.
func (p *pauses) park(s ticket, name task.Agent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	tickets, there := p.agents[name]
	if there {
		p.agents[name] = append(tickets, s)
		p.size++
	}
	return there
}

// length returns the number of tasks that wait for paused agents.
func (p *pauses) length() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}
