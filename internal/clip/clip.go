// Package clip shortens texts, so that they do not fill a message.
//
// An ellipsis shows that something was cut off. [Bytes] and [Runes] put it behind the part that
// they keep; [Fit] counts it. None of them changes a text that is short enough, valid UTF-8 or
// not.
package clip

import "strings"

const mark = "…"

// Bytes returns the first bytes of s, at most so many, as valid UTF-8, and the ellipsis. A text
// that is not longer is returned as it is.
func Bytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
}

// Runes returns the first characters of s, at most so many, and the ellipsis. A text that is not
// longer is returned as it is.
func Runes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + mark
	}
	return s
}

// Fit is Runes with an ellipsis that counts.
func Fit(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + mark
	}
	return s
}
