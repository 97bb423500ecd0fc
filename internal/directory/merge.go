package directory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// fill merges a Spec and a card into e; the card may be nil.
func (e *Entry) fill(s *Spec, c *a2a.AgentCard) {
	if c == nil || s.Pinned {
		c = new(a2a.AgentCard)
	}
	e.Spec = *s
	e.Title = cmp.Or(s.Title, string(s.Name))
	e.Description = cmp.Or(s.Description, c.Description)
	e.Version = cmp.Or(s.Version, c.Version)
	e.ProtocolVersion = protocolOf(c)
	e.Streaming, e.Push = c.Capabilities.Streaming, c.Capabilities.PushNotifications
	if s.Streaming != nil {
		e.Streaming = *s.Streaming
	}
	if s.Call.Push != nil {
		e.Push = *s.Call.Push
	}
	e.Skills = mergeSkills(s.Skills, c.Skills)
	e.InputModes, e.OutputModes = s.InputModes, s.OutputModes
	if len(e.InputModes) == 0 {
		e.InputModes = c.DefaultInputModes
	}
	if len(e.OutputModes) == 0 {
		e.OutputModes = c.DefaultOutputModes
	}
	if s.Exchange != "" && len(e.InputModes) == 0 {
		e.InputModes = []string{"text/plain", "application/json"} // parts on the exchange are text and data
	}
	e.Extensions = c.Capabilities.Extensions
	if c.Capabilities.Extensions == nil {
		e.Extensions = s.Extensions
	}
	e.Provider, e.DocumentationURL, e.IconURL = c.Provider, c.DocumentationURL, c.IconURL
	e.byBroker = byBroker(c)
}

// byBroker reports whether the first address of a card is that of a broker; nil if no address
// is.
func byBroker(c *a2a.AgentCard) *bool {
	for i, x := range c.SupportedInterfaces {
		if x == nil {
			continue
		}
		switch scheme, _, _ := strings.Cut(x.URL, "://"); scheme {
		case "nats", "tls", "amqp", "amqps":
			first := i == 0
			return &first
		}
	}
	return nil
}

// protocolOf returns the newest protocol version in a card.
func protocolOf(c *a2a.AgentCard) string {
	newest := ""
	for _, i := range c.SupportedInterfaces {
		if v := string(i.ProtocolVersion); versionLess(newest, v) {
			newest = v
		}
	}
	return newest
}

// versionLess reports whether version a, such as 0.3.0, is older than b.
func versionLess(a, b string) bool {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	}) < 0
}

// mergeSkills returns the configured skills, completed from the card, followed by the card's
// other skills. Ids are compared without case.
func mergeSkills(configured []Skill, card []a2a.AgentSkill) []Skill {
	merged := slices.Clone(configured)
	for i := range card {
		s := skillOf(&card[i])
		at := slices.IndexFunc(merged, func(m Skill) bool { return strings.EqualFold(m.ID, s.ID) })
		if at < 0 {
			merged = append(merged, s)
			continue
		}
		m := &merged[at]
		m.Name, m.Description = cmp.Or(m.Name, s.Name), cmp.Or(m.Description, s.Description)
		for _, list := range [][2]*[]string{
			{&m.Tags, &s.Tags}, {&m.Examples, &s.Examples}, {&m.InputModes, &s.InputModes}, {&m.OutputModes, &s.OutputModes},
		} {
			if len(*list[0]) == 0 {
				*list[0] = *list[1]
			}
		}
	}
	return merged
}

func skillOf(s *a2a.AgentSkill) Skill {
	return Skill{
		ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples,
		InputModes: s.InputModes, OutputModes: s.OutputModes,
	}
}

// gone returns the ids of the skills in before that are missing in after.
func gone(before, after []Skill) []string {
	var ids []string
	for i := range before {
		same := func(s Skill) bool { return strings.EqualFold(s.ID, before[i].ID) }
		if !slices.ContainsFunc(after, same) {
			ids = append(ids, before[i].ID)
		}
	}
	return ids
}

// withQueue returns the first Spec, completed with the queue of a later one, and the Specs
// without that later one. An agent may have both a URL and a queue. If its queue is configured
// in a file, the announcement completes the rest.
func withQueue(specs []*Spec) (first *Spec, counted []*Spec) {
	first = specs[0]
	if first.Local || first.Model != nil {
		return first, specs
	}
	i := 1 + slices.IndexFunc(specs[1:], func(s *Spec) bool {
		if s.Exchange != "" {
			return s.URL == "" && (first.Exchange == s.Exchange || first.Exchange == "" && first.URL != "")
		}
		return s.Queue != "" && s.URL == "" && first.Exchange == "" && (first.Queue == "" || first.Queue == s.Queue)
	})
	if i == 0 {
		return first, specs
	}
	both, own := *first, specs[i]
	both.Queue, both.Exchange = cmp.Or(first.Queue, own.Queue), cmp.Or(first.Exchange, own.Exchange)
	both.Serial, both.Again = first.Serial || own.Serial, first.Again || own.Again
	if first.URL == "" && !first.Pinned {
		both.Title, both.Description = cmp.Or(first.Title, own.Title), cmp.Or(first.Description, own.Description)
		both.Version = cmp.Or(first.Version, own.Version)
		merged := slices.Clone(first.Skills)
		for _, s := range own.Skills {
			if !slices.ContainsFunc(merged, func(m Skill) bool { return strings.EqualFold(m.ID, s.ID) }) {
				merged = append(merged, s)
			}
		}
		both.Skills = merged
		if both.Extensions == nil {
			both.Extensions = own.Extensions
		}
		if len(both.InputModes) == 0 {
			both.InputModes = own.InputModes
		}
		if len(both.OutputModes) == 0 {
			both.OutputModes = own.OutputModes
		}
	}
	counted = slices.Clone(specs)
	counted[i] = nil
	return &both, counted
}
