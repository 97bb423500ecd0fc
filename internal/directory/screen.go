package directory

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
)

// Limits of a card, in bytes of text and in items of lists. Anything beyond them is cut,
// because a card is untrusted text that people and models read.
const (
	maxTitle       = 200
	maxDescription = 4_000
	maxSkillID     = 128
	maxExample     = 1_000
	maxSkills      = 500
	maxList        = 50
	maxExtensions  = 50
)

// screen returns a copy of a card that respects the limits, and a list of the removed content.
func screen(c *a2a.AgentCard) (*a2a.AgentCard, []string) {
	var p problems
	out := *c
	out.Name = p.text("name", c.Name, maxTitle)
	out.Description = p.text("description", c.Description, maxDescription)
	out.Version = p.text("version", c.Version, maxTitle)
	out.DefaultInputModes = p.list("defaultInputModes", c.DefaultInputModes, maxTitle)
	out.DefaultOutputModes = p.list("defaultOutputModes", c.DefaultOutputModes, maxTitle)
	out.Capabilities.Extensions = nil
	for i := range c.Capabilities.Extensions {
		x := c.Capabilities.Extensions[i]
		if i == maxExtensions {
			p.note("capabilities.extensions: only the first %d are used", maxExtensions)
			break
		}
		x.URI = p.text("extension", x.URI, maxDescription)
		x.Description = p.text("extension", x.Description, maxDescription)
		out.Capabilities.Extensions = append(out.Capabilities.Extensions, x)
	}
	out.Skills = p.skills(c.Skills)
	out.DocumentationURL = p.link("documentationUrl", c.DocumentationURL)
	out.IconURL = p.link("iconUrl", c.IconURL)
	if c.Provider != nil {
		out.Provider = &a2a.AgentProvider{
			Org: p.text("provider.organization", c.Provider.Org, maxTitle),
			URL: p.link("provider.url", c.Provider.URL),
		}
	}
	return &out, p
}

// problems are the problems found in a card.
type problems []string

func (p *problems) note(format string, args ...any) {
	const most = 10
	if len(*p) < most {
		*p = append(*p, "card: "+fmt.Sprintf(format, args...))
	}
}

func (p *problems) skills(all []a2a.AgentSkill) []a2a.AgentSkill {
	out, seen := []a2a.AgentSkill{}, make(map[string]bool)
	for i := range all {
		s, key := all[i], fmt.Sprintf("skills[%d]", i)
		if len(out) == maxSkills {
			p.note("skills: only the first %d are used", maxSkills)
			break
		}
		id := strings.ToLower(s.ID)
		switch {
		case s.ID == "" || len(s.ID) > maxSkillID || clean(s.ID) != s.ID:
			p.note("%s: %q is not the ID of a skill", key, clip.Runes(clean(s.ID), maxQuoted))
			continue
		case seen[id]:
			p.note("%s: duplicate skill %q", key, clip.Runes(s.ID, maxQuoted))
			continue
		}
		seen[id] = true
		s.Name = p.text(key+".name", s.Name, maxTitle)
		s.Description = p.text(key+".description", s.Description, maxDescription)
		s.Tags = p.list(key+".tags", s.Tags, maxTitle)
		s.Examples = p.list(key+".examples", s.Examples, maxExample)
		s.InputModes = p.list(key+".inputModes", s.InputModes, maxTitle)
		s.OutputModes = p.list(key+".outputModes", s.OutputModes, maxTitle)
		s.SecurityRequirements = nil
		out = append(out, s)
	}
	return out
}

func (p *problems) list(key string, list []string, most int) []string {
	var out []string
	for i, s := range list {
		if i == maxList {
			p.note("%s: only the first %d are used", key, maxList)
			break
		}
		out = append(out, p.text(key, s, most))
	}
	return out
}

// text returns s without invisible characters, cut to most bytes.
func (p *problems) text(key, s string, most int) string {
	plain := clean(s)
	if plain != s {
		p.note("%s: had characters that do not show", key)
	}
	if len(plain) > most {
		p.note("%s: was cut at %d bytes", key, most)
		for most > 0 && !utf8.RuneStart(plain[most]) {
			most--
		}
		plain = plain[:most]
	}
	return plain
}

// link returns an address for browsers, or the empty string: addresses of other schemes, such as
// scripts and inline data, are removed.
func (p *problems) link(key, s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(s) > maxDescription || clean(s) != s {
		p.note("%s: is not an http or https URL", key)
		return ""
	}
	return s
}

// clean removes invisible characters: control characters except line ends and tabs, and
// characters that hide or reorder text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError || unicode.IsControl(r) || hidden(r):
			return -1
		}
		return r
	}, s)
}

// hidden reports whether r changes the display of other characters: direction marks, zero-width
// characters and tags. Joiners are allowed, because scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r == 0x00ad:
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f
}
