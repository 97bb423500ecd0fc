package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// ErrNoAgent is returned if a named agent is not registered.
var ErrNoAgent = errors.New("no such agent")

// agentRegistry holds the registered agents. An agent in it is never changed, only replaced: a
// caller that has looked one up keeps it unchanged.
type agentRegistry struct {
	mu sync.RWMutex // guards the fields below
	// list holds the agents in the order of their registration.
	list   []*Agent
	byName map[task.Agent]*Agent
	// bySkill maps a skill id in lower case to the agents whose cards list it, by Rank. The slices
	// are replaced, never changed.
	bySkill map[string][]*Agent
	// open are the agents that any skill finds.
	open []*Agent
	// preferred is the name of the default agent; no agent of that name need exist.
	preferred task.Agent
}

func newAgentRegistry(preferred task.Agent) agentRegistry {
	return agentRegistry{preferred: preferred, byName: make(map[task.Agent]*Agent), bySkill: make(map[string][]*Agent)}
}

// add appends a to the registry. It reports false if the name is taken.
func (r *agentRegistry) add(a *Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[a.Name] != nil {
		return false
	}
	r.byName[a.Name] = a
	if !a.Hidden {
		r.list = append(r.list, a)
		r.indexLocked(a)
	}
	return true
}

// replace puts a in the place of the agent with its name. It reports false if no such agent
// exists.
func (r *agentRegistry) replace(a *Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.byName[a.Name]
	if old == nil || old.Hidden {
		return false
	}
	r.list[slices.Index(r.list, old)] = a
	r.byName[a.Name] = a
	r.dropLocked(old)
	r.indexLocked(a)
	return true
}

// remove removes the agent with the given name. It reports false if no such agent exists.
func (r *agentRegistry) remove(name task.Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.byName[name]
	if old == nil || old.Hidden {
		return false
	}
	i := slices.Index(r.list, old)
	r.list = slices.Delete(r.list, i, i+1)
	delete(r.byName, name)
	r.dropLocked(old)
	return true
}

// indexLocked adds a to the index by skill, in the order of the list.
func (r *agentRegistry) indexLocked(a *Agent) {
	if a.ByName {
		return
	}
	if len(a.Card.Skills) == 0 && !a.ListedSkills {
		r.open = r.inOrderLocked(r.open, a)
	}
	for i := range a.Card.Skills {
		id := strings.ToLower(a.Card.Skills[i].ID)
		if !slices.Contains(r.bySkill[id], a) {
			r.bySkill[id] = r.inOrderLocked(r.bySkill[id], a)
		}
	}
}

// inOrderLocked returns a new slice of agents that includes a, by Rank and then in the order of
// the registry.
func (r *agentRegistry) inOrderLocked(agents []*Agent, a *Agent) []*Agent {
	at, place := len(agents), slices.Index(r.list, a)
	for ; at > 0; at-- {
		b := agents[at-1]
		if b.Rank < a.Rank || b.Rank == a.Rank && slices.Index(r.list, b) < place {
			break
		}
	}
	return slices.Insert(slices.Clone(agents), at, a)
}

// dropLocked removes a from the index by skill.
func (r *agentRegistry) dropLocked(a *Agent) {
	without := func(agents []*Agent) []*Agent {
		return slices.DeleteFunc(slices.Clone(agents), func(b *Agent) bool { return a == b })
	}
	r.open = without(r.open)
	for i := range a.Card.Skills {
		id := strings.ToLower(a.Card.Skills[i].ID)
		if r.bySkill[id] = without(r.bySkill[id]); len(r.bySkill[id]) == 0 {
			delete(r.bySkill, id)
		}
	}
}

// find returns the agent with the given name, the default agent for the empty name, or nil.
func (r *agentRegistry) find(name task.Agent) *Agent {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if name != "" || len(r.list) == 0 {
		return r.byName[name]
	}
	if a := r.byName[r.preferred]; a != nil {
		return a
	}
	return r.list[0]
}

// having returns the agents that list a skill, or else those that any skill finds. The id of
// the skill ignores case. The caller does not change the slice.
func (r *agentRegistry) having(skill string) []*Agent {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if agents := r.bySkill[strings.ToLower(skill)]; len(agents) > 0 {
		return agents
	}
	return r.open
}

// own reports whether an agent of the hub itself lists a skill.
func (r *agentRegistry) own(skill string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	agents := r.bySkill[strings.ToLower(skill)]
	return len(agents) > 0 && agents[0].Rank == RankOwn
}

// all returns the agents in the order of their registration.
func (r *agentRegistry) all() []*Agent {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.list)
}

// Register adds an agent. The first one is the default, unless an agent named Config.Default is
// registered. A second agent of the same name is an error.
func (e *Engine) Register(a Agent) error {
	if err := e.prepare(&a); err != nil {
		return fmt.Errorf("register agent: %w", err)
	}
	if !e.agents.add(&a) {
		return fmt.Errorf("register agent %q: the name is taken", a.Name)
	}
	return nil
}

// Update replaces the agent that has a's name: its cards and its executor. The agent keeps its
// position, so that the default agent stays the default. Runs that have started continue with
// the old agent; later messages, also to open tasks, are run by a. Update returns ErrNoAgent if
// no such agent exists.
func (e *Engine) Update(a Agent) error {
	if err := e.prepare(&a); err != nil {
		return fmt.Errorf("update agent: %w", err)
	}
	if !e.agents.replace(&a) {
		return fmt.Errorf("update agent %q: %w", a.Name, ErrNoAgent)
	}
	return nil
}

// Unregister removes an agent. Runs that have started run to their end. Messages that wait for
// a run, and later ones, find no agent: queued tasks fail, and a task that waits for its caller
// accepts no answer until an agent of that name is registered again. If the agent was the
// default, the next one becomes the default. Unregister returns ErrNoAgent if no such agent
// exists.
func (e *Engine) Unregister(name task.Agent) error {
	if !e.agents.remove(name) {
		return fmt.Errorf("unregister agent %q: %w", name, ErrNoAgent)
	}
	return nil
}

// prepare checks a, and sets the fields that are derived from its cards.
func (e *Engine) prepare(a *Agent) error {
	if a.Name == "" || a.Executor == nil || a.Card == nil {
		return errors.New("name, card and executor are required")
	}
	if a.More != nil { // Card may have changed
		a.Extended = card.Extend(a.Card, a.More)
	}
	if a.extensions = extensionsOf(a); len(a.extensions.required) > 0 {
		e.demanding.Store(true)
	}
	a.skills = skillNames(nil, a)
	return nil
}

// Agents returns the registered agents in the order of their registration.
func (e *Engine) Agents() []Agent {
	var all []Agent
	for _, a := range e.agents.all() {
		all = append(all, *a)
	}
	return all
}

// Agent returns the agent with the given name; the empty name selects the default agent.
func (e *Engine) Agent(name task.Agent) (Agent, bool) {
	if a := e.agent(name); a != nil {
		return *a, true
	}
	return Agent{}, false
}

// agent is like Agent without the copy. It returns nil if no such agent exists. Callers do not
// change the agent.
func (e *Engine) agent(name task.Agent) *Agent { return e.agents.find(name) }
