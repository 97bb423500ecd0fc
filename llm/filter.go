package llm

import (
	"path"
	"slices"
)

// Filter says which tools count, by their names. The zero Filter has all of them. Names
// may have "*" for any characters and "?" for one.
type Filter struct {
	// Allow are those that count; if empty, all do.
	Allow []string
	// Block are those that do not, even if they are allowed.
	Block []string
}

// Has reports whether a tool counts.
func (c *Filter) Has(name string) bool {
	is := func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	return (len(c.Allow) == 0 || slices.ContainsFunc(c.Allow, is)) && !slices.ContainsFunc(c.Block, is)
}

// Check returns an error for a pattern that is none.
func (c *Filter) Check() error {
	for _, pattern := range slices.Concat(c.Allow, c.Block) {
		if _, err := path.Match(pattern, ""); err != nil {
			return &PatternError{pattern}
		}
	}
	return nil
}

// PatternError is a pattern of a Filter that is none.
type PatternError struct{ Pattern string }

// Error implements error.
func (e *PatternError) Error() string { return "pattern \"" + e.Pattern + "\" is broken" }
