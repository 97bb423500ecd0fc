// Package clip shortens texts for messages.
//
// An ellipsis marks a shortened text. [Bytes] and [Runes] append it to the part that they keep;
// [Fit] includes it in the limit. A text that is short enough is returned unchanged, valid
// UTF-8 or not.
package clip

import "strings"

const mark = "…"

// Bytes returns the first bytes of s, at most so many, as valid UTF-8, and the ellipsis. A text
// that is not longer is returned unchanged.
func Bytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
}

// Runes returns the first characters of s, at most so many, and the ellipsis. A text that is
// not longer is returned unchanged.
func Runes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + mark
	}
	return s
}

// Fit is Runes with the ellipsis included in the limit.
func Fit(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + mark
	}
	return s
}
