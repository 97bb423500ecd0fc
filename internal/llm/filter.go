package llm

import (
	"path"
	"slices"
)

// Filter selects tools by their names. The zero Filter selects all of them. Patterns may have
// "*" for any characters and "?" for one.
type Filter struct {
	// Allow lists the patterns of selected names. If empty, all names are selected.
	Allow []string
	// Block lists the patterns of names that are excluded, even if Allow matches them.
	Block []string
}

// Has reports whether the filter selects a tool.
func (c *Filter) Has(name string) bool {
	is := func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	return (len(c.Allow) == 0 || slices.ContainsFunc(c.Allow, is)) && !slices.ContainsFunc(c.Block, is)
}

// Check returns a PatternError for the first malformed pattern.
func (c *Filter) Check() error {
	for _, pattern := range slices.Concat(c.Allow, c.Block) {
		if _, err := path.Match(pattern, ""); err != nil {
			return &PatternError{pattern}
		}
	}
	return nil
}

// PatternError names a malformed pattern of a Filter.
type PatternError struct{ Pattern string }

// Error implements error.
func (e *PatternError) Error() string { return "pattern \"" + e.Pattern + "\" is broken" }
