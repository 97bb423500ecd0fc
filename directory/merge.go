package directory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// fill makes what is known of an agent of its Spec and its card; the card may be nil.
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
	e.Extensions = c.Capabilities.Extensions
}

// protocolOf returns the newest version of the protocol that a card names.
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

// mergeSkills returns the configured skills, filled up with what the card says of them,
// and then the others of the card. Ids ignore case.
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

// gone returns the ids of the skills that before has and after has not.
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
