package rawjson

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipSpace returns the index of the first byte at or after i that is not white
// space, or len(b).
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// skipPlain returns the index of the first byte at or after i that needs special treatment in a
// string (a quote, a backslash or a control character), or len(b). It tests eight bytes at a
// time.
func skipPlain(b []byte, i int) int {
	for len(b)-i >= 8 {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// special sets the high bit of each byte of w that is a quote, a backslash or a
// control character. Bytes above the lowest one found may be wrong.
func special(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	control := (w - ones*' ') &^ w
	return (control | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// skipString returns the index after the string that begins at i.
func skipString(b []byte, i int) int {
	i++
	for {
		i = skipPlain(b, i)
		switch {
		case i >= len(b):
			return len(b)
		case b[i] == '"':
			return i + 1
		case b[i] == '\\':
			i = min(i+2, len(b))
		default:
			i++
		}
	}
}

// skipValue returns the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != ']' && b[i] != '}' {
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}
