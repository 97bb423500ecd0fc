package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Who is the id of a principal or the name of an agent.
type Who string

// Limits of an entry.
const (
	maxWho    = 512
	maxSkills = 500
	maxSkill  = 256
)

// Entry is what is known of somebody.
type Entry struct {
	// Who it is about. It is required.
	Who Who `json:"agentId"`
	// Level is how far they are trusted. An entry without one is at Observe.
	Level Level `json:"level"`
	// Skills are those approved for them, in the order of their names.
	Skills []string `json:"approvedSkills"`
	// FirstSeen and LastSeen are when they first and last sent a message; zero means never.
	// They have milliseconds. Contacts is how often.
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	LastSeen  time.Time `json:"lastInteraction,omitzero"`
	Contacts  int64     `json:"interactionCount"`
}

// Allows reports whether the skill is done at once: at Act, if it was approved.
func (e *Entry) Allows(skill string) bool {
	return e.Level == Act && skill != "" && slices.ContainsFunc(e.Skills, func(s string) bool { return strings.EqualFold(s, skill) })
}

// clone returns a copy that shares nothing with e.
func (e *Entry) clone() Entry {
	c := *e
	c.Skills = slices.Clone(e.Skills)
	return c
}

// ErrInvalid is returned for an entry or a change that makes no sense.
var ErrInvalid = errors.New("invalid")

// Check reports what is wrong with an entry: an error that wraps ErrInvalid.
func (e *Entry) Check() error {
	switch {
	case e.Who == "" || len(e.Who) > maxWho:
		return fmt.Errorf("%w: whom an entry is about has from 1 to %d bytes", ErrInvalid, maxWho)
	case !e.Level.Valid():
		return fmt.Errorf("%w: %s is not one of observe (1), learn (2), propose (3) and act (4)", ErrInvalid, e.Level)
	case len(e.Skills) > maxSkills:
		return fmt.Errorf("%w: more than %d approved skills", ErrInvalid, maxSkills)
	}
	for _, s := range e.Skills {
		if s == "" || len(s) > maxSkill {
			return fmt.Errorf("%w: an approved skill has from 1 to %d bytes", ErrInvalid, maxSkill)
		}
	}
	return nil
}

// skillsOf returns the skills sorted, each once, whatever its case.
func skillsOf(skills []string) []string {
	sorted := make([]string, 0, len(skills))
	for _, s := range skills {
		sorted = append(sorted, strings.TrimSpace(s))
	}
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.CompactFunc(sorted, strings.EqualFold)
}

// Store keeps entries. Methods are called concurrently; nothing that is passed in or out
// is shared with the store.
type Store interface {
	// Entries returns all entries in the order of Who.
	Entries(ctx context.Context) ([]Entry, error)
	// PutEntries stores entries in place of those about the same, all or none.
	PutEntries(ctx context.Context, entries []Entry) error
}

// Change is what Book.Set changes. The zero Change makes an entry at Observe.
type Change struct {
	// Level is the new level; zero leaves it.
	Level Level
	// Approve and Revoke are skills that are approved or not any more. RevokeAll comes
	// first, if it is set.
	Approve   []string
	Revoke    []string
	RevokeAll bool
}

// apply returns e with the change.
func (c *Change) apply(e Entry) (Entry, error) {
	if e.Level == 0 {
		e.Level = Observe
	}
	if c.Level != 0 {
		e.Level = c.Level
	}
	skills := slices.Clone(e.Skills)
	if c.RevokeAll {
		skills = nil
	}
	skills = append(skills, c.Approve...)
	skills = slices.DeleteFunc(skills, func(s string) bool {
		return slices.ContainsFunc(c.Revoke, func(r string) bool { return strings.EqualFold(strings.TrimSpace(r), s) })
	})
	e.Skills = skillsOf(skills)
	return e, e.Check()
}
