package guard

import (
	"net/url"
	"strings"
	"unicode"
)

// Largest numbers of bytes of a name and of an address outside of a label.
const (
	MaxName    = 128
	MaxAddress = 256
)

// IsName reports whether a name from others may stand outside of a label, because a program must
// repeat it exactly: the id of a skill, an argument of a tool, a file name. Such a name has at
// most MaxName bytes of letters, digits and a few signs, no blanks, and the screen finds nothing
// grave in its words. A name that may not is labelled like any other text, or omitted.
func IsName(s string) bool {
	return s != "" && len(s) <= MaxName && !strings.ContainsFunc(s, foreignToNames) && harmless(s)
}

// foreignToNames reports whether a character does not belong into a name.
func foreignToNames(r rune) bool {
	if r > unicode.MaxASCII {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) || invisible(r)
	}
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.:/@+$~#", r)
}

// IsAddress reports whether a URL from others may stand outside of a label, as IsName does for names.
// It is an absolute URL of the scheme http or https without credentials, escapes and query, of at
// most MaxAddress bytes.
func IsAddress(s string) bool {
	if len(s) > MaxAddress || strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || foreignToNames(r) || r == '@' || r == '$' || r == '#'
	}) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && harmless(s)
}

// IsOrder reports whether names that stand one after the other give an order, although none of
// them does.
func IsOrder(names []string) bool { return !harmless(strings.Join(names, " ")) }

// harmless reports whether the screen finds nothing grave in a name, nor in its words.
func harmless(s string) bool { return !Grave(Screen(s)) && !Grave(Screen(spaced(s))) }

// spaced returns the words of a name: blanks replace its signs and digits, and separate a capital letter
// from the small one before it.
func spaced(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}
