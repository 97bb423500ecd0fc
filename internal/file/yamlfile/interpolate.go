package yamlfile

import (
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/clip"
)

// filePrefix is the prefix of references to files.
const filePrefix = "file:"

// sources are the sources of replacement texts.
type sources struct {
	lookup func(name string) (string, bool)
	// read returns the content of a file; nil if file references are not allowed.
	read func(path string) (string, error)
}

// interpolate replaces ${NAME}, ${NAME:-text}, ${file:PATH} and $$ in s. Any other dollar sign is literal,
// so that shell commands need no escapes.
func interpolate(s string, from sources) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		switch rest := s[i+1:]; rest[0] {
		case '$':
			b.WriteByte('$')
			s = rest[1:]
		case '{':
			value, after, err := expand(rest[1:], from)
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			s = after
		default:
			b.WriteByte('$')
			s = rest
		}
	}
}

// expand returns the value of the variable at the beginning of s, after "${", and the rest of
// s.
func expand(s string, from sources) (value, after string, err error) {
	inner, after, ok := strings.Cut(s, "}")
	if !ok {
		return "", "", fmt.Errorf("%q is not closed by }", "${"+Clip(s))
	}
	if path, ok := strings.CutPrefix(inner, filePrefix); ok {
		value, err = from.file(path)
		return value, after, err
	}
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	switch {
	case !IsVariable(name):
		return "", "", fmt.Errorf("invalid variable name %q; write $$ for a dollar sign", Clip(name))
	case strings.Contains(fallback, "${"):
		return "", "", fmt.Errorf("variable %s: the default after :- cannot contain another variable", name)
	}
	value, set := from.lookup(name)
	switch {
	case set && (value != "" || !hasFallback):
		return value, after, nil
	case hasFallback:
		return fallback, after, nil
	}
	return "", "", fmt.Errorf("variable %s is not set; write ${%s:-text} for a default, or $${%s} for the literal text", name, name, name)
}

// file returns the content of a file. There is no default: a missing secret must not be
// replaced by a public one.
func (f *sources) file(path string) (string, error) {
	switch {
	case f.read == nil:
		return "", fmt.Errorf("${%s…} is not expanded here", filePrefix)
	case path == "":
		return "", fmt.Errorf("${%s} names no file", filePrefix)
	}
	text, err := f.read(path)
	if err != nil {
		return "", fmt.Errorf("file %s: %w", path, err)
	}
	return text, nil
}

// IsReference reports whether s as a whole is a reference to a variable or a file, so that it
// is not a secret itself.
func IsReference(s string) bool {
	inner, open := strings.CutPrefix(s, "${")
	inner, closed := strings.CutSuffix(inner, "}")
	return open && closed && !strings.ContainsAny(inner, "${}") && (IsVariable(inner) || strings.HasPrefix(inner, filePrefix))
}

// IsVariable reports whether s can be the name of an environment variable.
func IsVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Clip shortens s for a message.
func Clip(s string) string { return clip.Runes(s, 40) }
