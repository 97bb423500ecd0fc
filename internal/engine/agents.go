package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/task"
)

// ErrNoAgent is returned where an agent is named that is not registered.
var ErrNoAgent = errors.New("no such agent")

// roster is the agents that are registered. An agent in it is never changed but
// replaced, so that whoever has found one keeps it as it was.
type roster struct {
	mu sync.RWMutex // guards the fields below
	// list has them in the order of their registration.
	list   []*Agent
	byName map[task.Agent]*Agent
	// bySkill are those whose cards list a skill, by its id in lower case. The lists
	// are replaced, too.
	bySkill map[string][]*Agent
	// open are those that are found by any skill.
	open []*Agent
	// preferred is the default agent, if there is one of that name.
	preferred task.Agent
}

func newRoster(preferred task.Agent) roster {
	return roster{preferred: preferred, byName: make(map[task.Agent]*Agent), bySkill: make(map[string][]*Agent)}
}

// add puts a at the end of the roster; it reports false if the name is taken.
func (r *roster) add(a *Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[a.Name] != nil {
		return false
	}
	r.list = append(r.list, a)
	r.byName[a.Name] = a
	r.indexLocked(a)
	return true
}

// replace puts a in the place of the agent with its name; it reports false if there is
// none.
func (r *roster) replace(a *Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.byName[a.Name]
	if old == nil {
		return false
	}
	r.list[slices.Index(r.list, old)] = a
	r.byName[a.Name] = a
	r.dropLocked(old)
	r.indexLocked(a)
	return true
}

// remove takes an agent out; it reports false if there is none with the name.
func (r *roster) remove(name task.Agent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.byName[name]
	if old == nil {
		return false
	}
	i := slices.Index(r.list, old)
	r.list = slices.Delete(r.list, i, i+1)
	delete(r.byName, name)
	r.dropLocked(old)
	return true
}

// indexLocked makes a known by its skills, in the order of the list.
func (r *roster) indexLocked(a *Agent) {
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

// inOrderLocked returns a new list of agents with a among them, in the order of the
// roster.
func (r *roster) inOrderLocked(agents []*Agent, a *Agent) []*Agent {
	if r.list[len(r.list)-1] == a {
		return append(slices.Clone(agents), a)
	}
	wanted := append(slices.Clone(agents), a)
	ordered := make([]*Agent, 0, len(wanted))
	for _, b := range r.list {
		if slices.Contains(wanted, b) {
			ordered = append(ordered, b)
		}
	}
	return ordered
}

// dropLocked makes a unknown by its skills.
func (r *roster) dropLocked(a *Agent) {
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

// find returns the agent with the name, the default one for no name, or nil.
func (r *roster) find(name task.Agent) *Agent {
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

// having returns the agents that have a skill, whose id ignores case: those that list
// it, or else those that take any. The caller does not change the list.
func (r *roster) having(skill string) []*Agent {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if agents := r.bySkill[strings.ToLower(skill)]; len(agents) > 0 {
		return agents
	}
	return r.open
}

// all returns the agents in their order.
func (r *roster) all() []*Agent {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.list)
}

// Register adds an agent. The first one is the default, unless Config.Default is there. A second agent with the
// same name is an error.
func (e *Engine) Register(a Agent) error {
	if err := e.prepare(&a); err != nil {
		return fmt.Errorf("register agent: %w", err)
	}
	if !e.agents.add(&a) {
		return fmt.Errorf("register agent %q: the name is taken", a.Name)
	}
	return nil
}

// Update replaces the agent that has the name of a: its cards and its executor. It
// keeps its place, so that the default agent stays the default. Runs that have begun go
// on as they began; messages that come from now on, to open tasks as well, are run by a.
// It returns ErrNoAgent if there is no such agent.
func (e *Engine) Update(a Agent) error {
	if err := e.prepare(&a); err != nil {
		return fmt.Errorf("update agent: %w", err)
	}
	if !e.agents.replace(&a) {
		return fmt.Errorf("update agent %q: %w", a.Name, ErrNoAgent)
	}
	return nil
}

// Unregister takes an agent out. Runs that have begun come to their end. Messages that
// wait for a run, and those that come later, find no agent: the tasks in line fail, and
// a task that waits for its caller takes no answer until an agent with the name is
// there again. If it was the default agent, the next one is. It returns ErrNoAgent if
// there is no such agent.
func (e *Engine) Unregister(name task.Agent) error {
	if !e.agents.remove(name) {
		return fmt.Errorf("unregister agent %q: %w", name, ErrNoAgent)
	}
	return nil
}

// prepare checks a, and fills in what is made of its cards.
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

// Agent returns the agent with the given name; the empty name is the default agent.
func (e *Engine) Agent(name task.Agent) (Agent, bool) {
	if a := e.agent(name); a != nil {
		return *a, true
	}
	return Agent{}, false
}

// agent is Agent without a copy; it returns nil if there is none. Nobody changes what
// it points to.
func (e *Engine) agent(name task.Agent) *Agent { return e.agents.find(name) }
