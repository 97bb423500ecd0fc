package directory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
)

// Review is the card of an agent that is not registered.
type Review struct {
	// Name is the name that the agent would have.
	Name string
	// Card is the card after screening, Problems the findings of the screening.
	Card     *a2a.AgentCard
	Problems []string
	// SignedBy is the id of the key that signed the card, if that was verified.
	SignedBy string
}

// Review fetches the card of an agent as its registration would, and registers nothing. The error
// wraps ErrInvalid if the agent cannot be registered or its card cannot be read.
func (d *Directory) Review(ctx context.Context, s Spec) (*Review, error) {
	s.Where, s.Local, s.WellKnown, s.Pinned, s.Guarded = "", false, false, false, true
	named := s.Name != ""
	if !named {
		s.Name = "reviewed"
	}
	if err := d.acceptable(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("no answer within %v: %w", fetchTimeout, context.DeadlineExceeded))
	defer cancel()
	c, err := d.cfg.Fetcher.Fetch(ctx, &Request{URL: s.URL, Guarded: true, Call: s.Call})
	if err != nil {
		return nil, fmt.Errorf("%w: card: %s", ErrInvalid, clip.Runes(clean(err.Error()), maxError))
	}
	r := &Review{Name: string(s.Name), SignedBy: c.SignedBy}
	r.Card, r.Problems = screen(c.A2A)
	if !named {
		r.Name = string(NameOf(r.Card.Name))
	}
	return r, nil
}

// CardChange is the last change of a card since the start of the hub.
type CardChange struct {
	At time.Time
	// Lines are the members that differ, as "- path: value" and "+ path: value".
	Lines []string
}

const (
	// maxChangeLines is the maximum number of lines of a change, and maxChangeLine that of
	// characters in one.
	maxChangeLines = 60
	maxChangeLine  = 160
)

// changeOf returns the difference of two cards; nil if their members are the same.
func changeOf(before, after []byte, at time.Time) *CardChange {
	was, is := make(map[string]string), make(map[string]string)
	flatten(was, "", before)
	flatten(is, "", after)
	c := &CardChange{At: at}
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, path := range slices.Sorted(maps.Keys(names)) {
		old, had := was[path]
		value, has := is[path]
		if had && has && old == value {
			continue
		}
		if had {
			c.Lines = append(c.Lines, clip.Runes("- "+path+": "+clean(old), maxChangeLine))
		}
		if has {
			c.Lines = append(c.Lines, clip.Runes("+ "+path+": "+clean(value), maxChangeLine))
		}
	}
	if c.Lines == nil {
		return nil
	}
	if n := len(c.Lines); n > maxChangeLines {
		c.Lines = append(c.Lines[:maxChangeLines:maxChangeLines], fmt.Sprintf("… %d more", n-maxChangeLines))
	}
	return c
}

// flatten adds the members of a JSON value by their paths. Elements of lists with an id are named
// by it, so that a skill in another place is no change.
func flatten(into map[string]string, path string, b []byte) {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(b, &object) == nil && object != nil:
		for name, v := range object {
			flatten(into, join(path, clip.Runes(clean(name), maxQuoted)), v)
		}
	case json.Unmarshal(b, &list) == nil && list != nil:
		for i, v := range list {
			var e struct{ ID string }
			_ = json.Unmarshal(v, &e) // an element without an id is named by its place
			name := strconv.Itoa(i)
			if e.ID != "" {
				name = clip.Runes(clean(e.ID), maxQuoted)
			}
			flatten(into, join(path, name), v)
		}
	default:
		into[path] = string(b)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
