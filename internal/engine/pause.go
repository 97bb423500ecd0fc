package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/parley-a2a/parley/task"
)

// pauses are the agents that are given no messages, with the tasks that wait for them
// outside of the line, so that they stand in nobody's way.
type pauses struct {
	mu     sync.Mutex // guards the fields below
	agents map[task.Agent][]ticket
	size   int
}

// Pause gives an agent no further messages: they are taken, and wait, also those of
// tasks that the agent has asked something. What it is at work with goes on. Whoever
// pauses an agent sees to it that it is paused again after a restart.
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

// Resume gives an agent messages again, those first that have waited.
func (e *Engine) Resume(name task.Agent) {
	p := &e.pauses
	p.mu.Lock()
	tickets := p.agents[name]
	delete(p.agents, name)
	p.size -= len(tickets)
	p.mu.Unlock()
	for _, s := range tickets {
		e.launchAll(e.scheduler.wait(s))
	}
}

// Paused returns the agents that are paused, in the order of their names.
func (e *Engine) Paused() []task.Agent {
	e.pauses.mu.Lock()
	defer e.pauses.mu.Unlock()
	return slices.Sorted(maps.Keys(e.pauses.agents))
}

// IsPaused reports whether an agent is given no messages.
func (e *Engine) IsPaused(name task.Agent) bool {
	e.pauses.mu.Lock()
	defer e.pauses.mu.Unlock()
	_, there := e.pauses.agents[name]
	return there
}

// park keeps a task whose agent is paused, with its hold; it reports whether the agent is.
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

// length returns how many tasks wait for agents that are paused.
func (p *pauses) length() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}
