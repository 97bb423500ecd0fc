package config

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// ExtendedCard configures access to the extended cards of the agents (specification §3.1.11).
// The zero value serves none.
type ExtendedCard struct {
	// Token is a bearer token, without spaces, for extended cards only. The hub warns of a
	// token of fewer than 16 characters, which can be guessed.
	Token string `yaml:"token"`
	// Authenticated gives all callers with credentials access.
	Authenticated bool `yaml:"authenticated"`
}

// Extended is the additional content of an agent's extended card. The zero value adds nothing.
type Extended struct {
	// Description replaces the agent's description.
	Description string `yaml:"description"`
	// Skills are added to the agent's skills; a skill with the same id replaces the agent's.
	Skills []Skill `yaml:"skills"`
}

// MinCardToken is the smallest length of a token of extended cards that cannot be guessed.
const MinCardToken = 16

// checkExtended reports the problems of the extended cards, without repeating the token.
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
			d.Problem(nil, key, "no caller would see it: extended_card needs a token, or authenticated: true")
		}
		checkSkills(d, key, e.Skills)
	}
}

func (e *Extended) empty() bool { return e.Description == "" && len(e.Skills) == 0 }

// visible reports whether text has only letters, digits and punctuation of ASCII.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// More returns the additional content of a's extended card, whose public card may be remote;
// nil means none.
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
