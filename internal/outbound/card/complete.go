package card

import (
	"cmp"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Complete returns the card that JSON writes, for bindings with an encoding of their own. It is
// a copy of c with the hub's additions, and with defaults for required fields that c leaves
// empty. The copy shares unchanged parts with c.
func Complete(c *a2a.AgentCard, o *Options) *a2a.AgentCard {
	out := *c
	out.Name = cmp.Or(c.Name, o.Name)
	out.Description = cmp.Or(c.Description, out.Name)
	out.Version = cmp.Or(c.Version, noVersion)
	out.Provider = cmp.Or(c.Provider, o.About.Provider)
	out.DocumentationURL = cmp.Or(c.DocumentationURL, o.About.DocumentationURL)
	out.IconURL = cmp.Or(c.IconURL, o.About.IconURL)
	out.SupportedInterfaces = o.Interfaces
	out.Signatures = nil
	out.Capabilities = a2a.AgentCapabilities{
		Extensions:        extensionsOf(c.Capabilities.Extensions, o.Extensions),
		Streaming:         !o.NoStreaming,
		PushNotifications: o.PushNotifications,
		ExtendedAgentCard: o.ExtendedCard,
	}
	out.DefaultInputModes, out.DefaultOutputModes = modesOf(c.DefaultInputModes), modesOf(c.DefaultOutputModes)
	out.SecuritySchemes, out.SecurityRequirements = secured(c, o)
	out.Skills = make([]a2a.AgentSkill, 0, len(c.Skills))
	for _, s := range c.Skills {
		s.Name = cmp.Or(s.Name, s.ID)
		s.Description = cmp.Or(s.Description, s.Name)
		if s.Tags = slices.Clone(s.Tags); len(s.Tags) == 0 {
			s.Tags = []string{cmp.Or(s.ID, s.Name)} // at least one is required (specification §4.4.5)
		}
		out.Skills = append(out.Skills, s)
	}
	return &out
}

// extensionsOf returns the extensions of a registered card, followed by those of the hub that
// the card does not declare.
func extensionsOf(own, hub []a2a.AgentExtension) []a2a.AgentExtension {
	all := slices.Clone(own)
	for _, x := range hub {
		if !slices.ContainsFunc(own, func(o a2a.AgentExtension) bool { return o.URI == x.URI }) {
			all = append(all, x)
		}
	}
	return all
}

// secured returns the security schemes and requirements of the completed card. A scheme of the
// registered card replaces the hub's scheme of the same name; its requirements replace all of
// the hub's.
func secured(c *a2a.AgentCard, o *Options) (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	requirements := c.SecurityRequirements
	if len(requirements) == 0 {
		requirements = o.SecurityRequirements
	}
	if len(o.SecuritySchemes) == 0 {
		return c.SecuritySchemes, requirements
	}
	schemes := maps.Clone(o.SecuritySchemes)
	maps.Copy(schemes, c.SecuritySchemes)
	return schemes, requirements
}

// Demands reports whether a card, or one of its skills, requires credentials. BareScopes
// affects only such cards.
func Demands(c *a2a.AgentCard) bool {
	if len(c.SecurityRequirements) > 0 {
		return true
	}
	for i := range c.Skills {
		if len(c.Skills[i].SecurityRequirements) > 0 {
			return true
		}
	}
	return false
}

// Extend returns public overlaid with more. The texts, modes, extensions, provider and security
// of more replace those of public if more has them. A skill of more replaces the skill with the
// same id, or is appended. Neither card is changed.
func Extend(public, more *a2a.AgentCard) *a2a.AgentCard {
	out := *public
	out.Name = cmp.Or(more.Name, public.Name)
	out.Description = cmp.Or(more.Description, public.Description)
	out.Version = cmp.Or(more.Version, public.Version)
	out.DocumentationURL = cmp.Or(more.DocumentationURL, public.DocumentationURL)
	out.IconURL = cmp.Or(more.IconURL, public.IconURL)
	if more.Provider != nil {
		out.Provider = more.Provider
	}
	out.DefaultInputModes = orList(more.DefaultInputModes, public.DefaultInputModes)
	out.DefaultOutputModes = orList(more.DefaultOutputModes, public.DefaultOutputModes)
	out.Capabilities.Extensions = orList(more.Capabilities.Extensions, public.Capabilities.Extensions)
	out.SecurityRequirements = orList(more.SecurityRequirements, public.SecurityRequirements)
	if len(more.SecuritySchemes) > 0 {
		out.SecuritySchemes = maps.Clone(public.SecuritySchemes)
		if out.SecuritySchemes == nil {
			out.SecuritySchemes = make(a2a.NamedSecuritySchemes)
		}
		maps.Copy(out.SecuritySchemes, more.SecuritySchemes)
	}
	out.Skills = extendSkills(public.Skills, more.Skills)
	return &out
}

func extendSkills(public, more []a2a.AgentSkill) []a2a.AgentSkill {
	skills := append([]a2a.AgentSkill(nil), public...)
	at := make(map[string]int, len(skills))
	for i := range skills {
		at[skills[i].ID] = i
	}
	for _, s := range more {
		if i, there := at[s.ID]; there {
			skills[i] = s
			continue
		}
		at[s.ID] = len(skills)
		skills = append(skills, s)
	}
	return skills
}

func orList[S ~[]E, E any](list, fallback S) S {
	if len(list) == 0 {
		return fallback
	}
	return list
}
