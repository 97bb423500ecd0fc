package directory

import (
	"time"

	"github.com/parley-a2a/parley/card"
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
	if old == nil || old.Spec.Queue == "" {
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

// Announced returns what an agent on the bus says of itself: its name there, and its card.
// What must not be in a card is taken out.
func Announced(name task.Agent, raw []byte) (Spec, error) {
	c, err := card.Read(raw)
	if err != nil {
		return Spec{}, err
	}
	clean, _ := screen(c.A2A)
	streams := true
	s := Spec{
		Name: NameOf(string(name)), Title: clean.Name, Queue: name, Description: clean.Description, Version: clean.Version,
		Streaming: &streams, Extensions: clean.Capabilities.Extensions,
		InputModes: clean.DefaultInputModes, OutputModes: clean.DefaultOutputModes,
	}
	for i := range clean.Skills {
		s.Skills = append(s.Skills, skillOf(&clean.Skills[i]))
	}
	return s, s.Check()
}
