package config

import (
	"cmp"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// ExtendedCard says who may see the extended cards of the agents (specification
// §3.1.11). If it is left out, there are none.
type ExtendedCard struct {
	// Token opens them as a bearer token without spaces. It opens nothing else. One of
	// fewer than 16 characters can be guessed, of which the hub warns.
	Token string `yaml:"token"`
	// Authenticated opens them for every caller with credentials.
	Authenticated bool `yaml:"authenticated"`
}

// Extended is what the extended card of an agent says beyond its public card. If it
// is left out, both say the same.
type Extended struct {
	// Description takes the place of the agent's.
	Description string `yaml:"description"`
	// Skills are added to the agent's; one with the same id takes its place.
	Skills []Skill `yaml:"skills"`
}

// MinCardToken is the least length of a token of extended cards that cannot be guessed.
const MinCardToken = 16

// checkExtended notes what is wrong with the extended cards. No problem repeats the
// token.
func checkExtended(d *yamlfile.Decoder, c *Config) {
	x := &c.ExtendedCard
	if !visible(x.Token) {
		d.Problem(nil, "extended_card.token", "has a character that a header cannot carry")
	}
	for i := range c.Agents {
		e, key := &c.Agents[i].Extended, "agents["+strconv.Itoa(i)+"].extended"
		if e.empty() {
			continue
		}
		if x.Token == "" && !x.Authenticated {
			d.Problem(nil, key, "nobody would see it: extended_card needs a token, or authenticated: true")
		}
		checkSkills(d, key, e.Skills)
	}
}

func (e *Extended) empty() bool { return e.Description == "" && len(e.Skills) == 0 }

// visible reports whether text has nothing but letters, digits and signs of ASCII.
func visible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// More returns what the extended card of a says beyond its card, which may be one that is
// read elsewhere; nil if nothing.
func (a *Agent) More() *a2a.AgentCard {
	if a.Extended.empty() {
		return nil
	}
	of := a.Card()
	of.Description = cmp.Or(a.Extended.Description, of.Description)
	more := &a2a.AgentCard{Description: a.Extended.Description}
	for i := range a.Extended.Skills {
		more.Skills = append(more.Skills, a.Extended.Skills[i].card(of))
	}
	return more
}
