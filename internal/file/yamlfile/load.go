package yamlfile

import (
	"fmt"
	"os"
	"regexp"
)

// Load reads the script at path. parse gets its path and content.
func Load[S any](path string, parse func(path string, src []byte) (S, error)) (S, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		var none S
		return none, fmt.Errorf("load script: %w", err)
	}
	return parse(path, src)
}

// Parse decodes src, the content of the file at path, into v. build then creates a script from
// v and adds its problems to the Decoder. Parse returns the problems of both. There are no
// variables.
func Parse(path string, src []byte, v any, build func(*Decoder)) error {
	d := New(path, func(string) (string, bool) { return "", false })
	d.Decode(src, v)
	build(d)
	if problems := d.Problems(); len(problems) > 0 {
		return problems
	}
	return nil
}

// Pattern compiles the regular expression at key, ignoring case. It returns nil if text is
// empty, and nil with a problem if it is invalid.
func (d *Decoder) Pattern(key, text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	re, err := regexp.Compile("(?i)" + text)
	if err != nil {
		d.Problem(nil, key, "is not a regular expression: %v", err)
	}
	return re
}
