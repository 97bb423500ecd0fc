package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/clip"
)

// pattern is a name or a prefix of names.
type pattern struct {
	text string
	open bool // text is a prefix
}

func parsePattern(s string) (pattern, error) {
	text, open := strings.CutSuffix(s, "*")
	switch {
	case s == "":
		return pattern{}, errors.New("a name is empty")
	case strings.Contains(text, "*"):
		return pattern{}, fmt.Errorf("in %q, * is only allowed at the end", clip.Bytes(s, maxQuoted))
	}
	return pattern{text, open}, nil
}

func (p pattern) matches(s string) bool {
	return s == p.text || p.open && strings.HasPrefix(s, p.text)
}

// matchesFold is matches without regard to case.
func (p pattern) matchesFold(s string) bool {
	n := len(p.text)
	return len(s) >= n && (p.open || len(s) == n) && strings.EqualFold(s[:n], p.text)
}

// covers reports whether p matches everything that q matches.
func (p pattern) covers(q pattern) bool {
	return p.open && strings.HasPrefix(q.text, p.text) || p == q
}

// String returns the pattern in its written form.
func (p pattern) String() string {
	if p.open {
		return p.text + "*"
	}
	return p.text
}

// patterns are alternatives. An empty list matches everything.
type patterns []pattern

func parsePatterns(key string, list []string) (patterns, error) {
	var ps patterns
	for _, s := range list {
		p, err := parsePattern(s)
		if err != nil {
			return nil, &RuleError{Key: key, Err: err}
		}
		ps = append(ps, p)
	}
	return ps, nil
}

func (ps patterns) match(s string) bool {
	if len(ps) == 0 {
		return true
	}
	for _, p := range ps {
		if p.matches(s) {
			return true
		}
	}
	return false
}

func (ps patterns) matchFold(s string) bool {
	for _, p := range ps {
		if p.matchesFold(s) {
			return true
		}
	}
	return len(ps) == 0
}

// covers reports whether ps match everything that qs match.
func (ps patterns) covers(qs patterns) bool {
	if len(ps) == 0 {
		return true
	}
	for _, q := range qs {
		if !slices.ContainsFunc(ps, func(p pattern) bool { return p.covers(q) }) {
			return false
		}
	}
	return len(qs) > 0
}

// all reports whether ps match everything.
func (ps patterns) all() bool {
	return len(ps) == 0 || slices.Contains(ps, pattern{open: true})
}
