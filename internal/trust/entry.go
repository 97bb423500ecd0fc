package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Subject is the id of a principal or the name of an agent.
type Subject string

// Limits of an entry.
const (
	maxSubject = 512
	maxSkills  = 500
	maxSkill   = 256
)

// Entry is the trust entry of a caller or an agent.
type Entry struct {
	// Subject is the caller or agent. It is required.
	Subject Subject `json:"agentId"`
	// Level is the trust level. A missing one is Observe.
	Level Level `json:"level"`
	// Skills are the approved skills, sorted by name.
	Skills []string `json:"approvedSkills"`
	// FirstSeen and LastSeen are the times of the first and the last message; zero means never.
	// They have a precision of milliseconds. Contacts is the number of messages.
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	LastSeen  time.Time `json:"lastInteraction,omitzero"`
	Contacts  int64     `json:"interactionCount"`
}

// Allows reports whether the skill is performed without approval: at Act, if it is in Skills.
func (e *Entry) Allows(skill string) bool {
	return e.Level == Act && skill != "" && slices.ContainsFunc(e.Skills, func(s string) bool { return strings.EqualFold(s, skill) })
}

// clone returns a copy that shares nothing with e.
func (e *Entry) clone() Entry {
	c := *e
	c.Skills = slices.Clone(e.Skills)
	return c
}

// ErrInvalid is wrapped by errors about an invalid entry or change.
var ErrInvalid = errors.New("invalid")

// Check returns an error that wraps ErrInvalid if the entry is invalid.
func (e *Entry) Check() error {
	switch {
	case e.Subject == "" || len(e.Subject) > maxSubject:
		return fmt.Errorf("%w: the agentId of an entry must have 1 to %d bytes", ErrInvalid, maxSubject)
	case !e.Level.Valid():
		return fmt.Errorf("%w: %s is not one of observe (1), learn (2), propose (3) and act (4)", ErrInvalid, e.Level)
	case len(e.Skills) > maxSkills:
		return fmt.Errorf("%w: more than %d approved skills", ErrInvalid, maxSkills)
	}
	for _, s := range e.Skills {
		if s == "" || len(s) > maxSkill {
			return fmt.Errorf("%w: an approved skill must have 1 to %d bytes", ErrInvalid, maxSkill)
		}
	}
	return nil
}

// skillsOf returns the skills sorted and without duplicates, ignoring case.
func skillsOf(skills []string) []string {
	sorted := make([]string, 0, len(skills))
	for _, s := range skills {
		sorted = append(sorted, strings.TrimSpace(s))
	}
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.CompactFunc(sorted, strings.EqualFold)
}

// Store stores entries. Its methods are called concurrently. No argument or result is shared
// with the store.
type Store interface {
	// Entries returns all entries, sorted by Subject.
	Entries(ctx context.Context) ([]Entry, error)
	// PutEntries stores all of the entries or none, replacing those with the same Subject.
	PutEntries(ctx context.Context, entries []Entry) error
}

// ContactStore is a Store that several hubs use at the same time.
type ContactStore interface {
	// AddContacts adds the contacts of entries to those stored. Their levels and skills count only
	// for subjects without an entry. All of them are stored or none.
	AddContacts(ctx context.Context, entries []Entry) error
}

// Change is a change for Registry.Set. The zero Change creates an entry at Observe.
type Change struct {
	// Level is the new level; zero keeps the current one.
	Level Level
	// Approve and Revoke are skills to approve and to revoke. RevokeAll revokes all skills
	// before Approve is applied.
	Approve   []string
	Revoke    []string
	RevokeAll bool
}

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
