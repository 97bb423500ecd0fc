package directory

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/task"
)

// Sighting is what is seen of the workers of an agent.
type Sighting struct {
	// At is when one was last seen; zero means that none was.
	At time.Time
	// Session is set if that was in this process.
	Session bool
	// Workers is how many are there.
	Workers int
}

// Known is an agent with when it was last seen.
type Known struct {
	Spec   Spec      `json:"spec"`
	SeenAt time.Time `json:"seenAt"`
}

// See notes what was seen of an agent at a queue. Those who call it need not know.
func (d *Directory) See(name task.Agent, s Sighting) {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, old := d.lookup(name)
	if old == nil || old.Spec.Queue == "" && old.Spec.RockBot == "" {
		return
	}
	e := *old
	e.Workers = s.Workers
	if s.At.After(e.Health.SeenAt) {
		e.Health.SeenAt = s.At
	}
	e.Health.Session = e.Health.Session || s.Session
	if e.Spec.URL == "" {
		e.Health.State = Unknown
		if s.Workers > 0 {
			e.Health.State = Up
		}
	}
	d.mu.Lock()
	a.entry = &e
	d.mu.Unlock()
}

// Answered notes that an agent has answered a call, so that it was seen.
func (d *Directory) Answered(name task.Agent, at time.Time) {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, old := d.lookup(name)
	if old == nil || old.Spec.Local || old.Spec.Model != nil {
		return
	}
	e := *old
	if at.After(e.Health.SeenAt) {
		e.Health.SeenAt = at
	}
	e.Health.Session = true
	d.mu.Lock()
	a.entry = &e
	d.mu.Unlock()
}

// Announced returns what an agent on the bus says of itself: its name there, and its card.
// What must not be in a card is taken out.
func Announced(name task.Agent, raw []byte) (Spec, error) {
	c, err := card.Read(raw)
	if err != nil {
		return Spec{}, err
	}
	s := announced(name, c.A2A)
	s.Queue = name
	return s, s.Check()
}

// AnnouncedAtRockBot returns what an agent on RockBot's exchange says of itself. A card with
// a URL is that of an agent which is called there, like one of a stranger.
func AnnouncedAtRockBot(c *a2a.AgentCard, at string) (Spec, error) {
	s := announced(task.Agent(c.Name), c)
	s.Title = c.Name
	if at != "" {
		s.URL, s.Guarded = at, true
	} else {
		s.RockBot = task.Agent(c.Name)
	}
	return s, s.Check()
}

// announced returns what a card says of an agent whose name on a bus is name.
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
