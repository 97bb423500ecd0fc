package directory

import (
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// Presence is the number of connected workers of an agent and the time of its last announcement.
type Presence struct {
	// At is the time at which a worker was last seen; zero means never.
	At time.Time
	// Session is set if At is from this process.
	Session bool
	// Workers is the number of connected workers.
	Workers int
}

// Known is an agent and the time at which it was last seen.
type Known struct {
	Spec   Spec      `json:"spec"`
	SeenAt time.Time `json:"seenAt"`
}

// SetPresence records the presence of the workers of an agent at a queue. Other agents are ignored.
func (d *Directory) SetPresence(name task.Agent, s Presence) {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, old := d.lookup(name)
	if old == nil || old.Spec.Queue == "" && old.Spec.Exchange == "" {
		return
	}
	e := *old
	e.Workers = s.Workers
	if s.At.After(e.Health.SeenAt) {
		e.Health.SeenAt = s.At
	}
	e.Health.Session = e.Health.Session || s.Session
	if e.Spec.URL == "" {
		e.setPresence()
	}
	d.mu.Lock()
	a.entry = &e
	d.mu.Unlock()
}

// Answered records that an agent has answered a call. A problem, such as an answer that cannot be
// read, is one of its entry until an answer has none.
func (d *Directory) Answered(name task.Agent, at time.Time, problem string) {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, old := d.lookup(name)
	if old == nil {
		return
	}
	e := *old
	if e.Problems = slices.DeleteFunc(slices.Clone(old.Problems), func(p string) bool { return p == a.broke }); problem != "" {
		e.Problems = append(e.Problems, problem)
	}
	if !old.Spec.Local && old.Spec.Model == nil {
		if at.After(e.Health.SeenAt) {
			e.Health.SeenAt = at
		}
		e.Health.Session = true
	}
	d.mu.Lock()
	a.entry, a.broke = &e, problem
	d.mu.Unlock()
}

// Announced returns the Spec of an agent that announced itself on the bus under name, with raw
// as its card. The card is screened.
func Announced(name task.Agent, raw []byte) (Spec, error) {
	c, err := card.Read(raw)
	if err != nil {
		return Spec{}, err
	}
	s := announced(name, c.A2A)
	s.Queue = name
	return s, s.Check()
}

// AnnouncedOnExchange returns the Spec of an agent that announced itself on the exchange of a part
// with the card c. If at is not empty, the agent is called at that URL, which is untrusted.
func AnnouncedOnExchange(c *a2a.AgentCard, at string) (Spec, error) {
	s := announced(task.Agent(c.Name), c)
	s.Title = c.Name
	if at != "" {
		s.URL, s.Guarded = at, true
	} else {
		s.Exchange = task.Agent(c.Name)
	}
	return s, s.Check()
}

// announced returns the Spec of an agent from its name on a bus and its card.
func announced(name task.Agent, c *a2a.AgentCard) Spec {
	clean, _ := screen(c)
	streams := true
	s := Spec{
		Name: NameOf(string(name)), Title: clean.Name, Description: clean.Description, Version: clean.Version,
		Streaming: &streams, Extensions: clean.Capabilities.Extensions,
		InputModes: clean.DefaultInputModes, OutputModes: clean.DefaultOutputModes,
	}
	for i := range clean.Skills {
		s.Skills = append(s.Skills, skillOf(&clean.Skills[i]))
	}
	return s
}
