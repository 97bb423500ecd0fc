package config_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

// The extended card is the public one with additions.
func TestExtendedCardOfAnAgent(t *testing.T) {
	t.Parallel()
	c := parse(t, `
extended_card: {authenticated: true}
agents:
  - {name: plain, command: x}
  - name: rich
    command: x
    description: For all.
    skills: [{id: open}, {id: both}]
    extended:
      description: For some.
      skills: [{id: both, name: Better}, {id: closed}]
  - name: worded
    command: x
    skills: [{id: open}]
    extended: {skills: [{id: closed}]}
`)
	if got := c.Agents[0].More(); got != nil {
		t.Errorf("an agent without more has %+v", got)
	}
	type skill struct{ ID, Name, Description string }
	skills := func(c *a2a.AgentCard) (list []skill) {
		for _, s := range c.Skills {
			list = append(list, skill{s.ID, s.Name, s.Description})
		}
		return list
	}
	rich := card.Extend(c.Agents[1].Card(), c.Agents[1].More())
	want := []skill{{"open", "open", "For all."}, {"both", "Better", "For some."}, {"closed", "closed", "For some."}}
	if diff := cmp.Diff(want, skills(rich)); rich.Description != "For some." || diff != "" {
		t.Errorf("card of rich = %q, skills (-want +got):\n%s", rich.Description, diff)
	}
	if public := c.Agents[1].Card(); public.Description != "For all." || len(public.Skills) != 2 {
		t.Errorf("the public card of rich shows more: %+v", public)
	}
	worded := card.Extend(c.Agents[2].Card(), c.Agents[2].More())
	if worded.Description != c.Agents[2].Card().Description || len(worded.Skills) != 2 {
		t.Errorf("card of worded = %+v", worded)
	}
}
