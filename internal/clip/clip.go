// Package clip shortens texts for messages.
//
// An ellipsis marks a shortened text. [Bytes] and [Runes] append it to the part that they keep;
// [Fit] and [FitBytes] include it in the limit. A text that is short enough is returned unchanged, valid
// UTF-8 or not.
package clip

import (
	"strings"
	"unicode/utf8"
)

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

// FitBytes is Fit for a limit in bytes, which must be larger than the ellipsis. The cut is
// between characters; invalid UTF-8 before it is kept.
func FitBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}
