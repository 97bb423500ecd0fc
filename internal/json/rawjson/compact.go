package rawjson

import (
	"math"
	"strconv"
)

// AppendCompact appends valid JSON without insignificant white space. The result is one line.
// Strings and numbers are unchanged.
func AppendCompact(dst, b []byte) []byte {
	from := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = skipString(b, i)
		case isSpace(c):
			dst = append(dst, b[from:i]...)
			i = skipSpace(b, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, b[from:]...)
}

// AppendFinite appends valid JSON in which a number beyond the range of doubles is replaced by
// the largest double of its sign, for decoders that only support doubles. Everything else is
// unchanged.
func AppendFinite(dst, b []byte) []byte {
	return appendNumbers(dst, b, func(dst, number []byte) ([]byte, bool) {
		f, err := strconv.ParseFloat(string(number), 64)
		if err == nil {
			return dst, false
		}
		return strconv.AppendFloat(dst, min(max(f, -math.MaxFloat64), math.MaxFloat64), 'e', -1, 64), true
	})
}

// appendNumbers appends valid JSON. For each number it calls write, which appends another one, or
// returns false if the number stays.
func appendNumbers(dst, b []byte, write func(dst, number []byte) ([]byte, bool)) []byte {
	from := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = skipString(b, i)
		case c == '-' || '0' <= c && c <= '9':
			end := skipValue(b, i)
			dst = append(dst, b[from:i]...)
			if other, changed := write(dst, b[i:end]); changed {
				dst = other
			} else {
				dst = append(dst, b[i:end]...)
			}
			from, i = end, end
		default:
			i++
		}
	}
	return append(dst, b[from:]...)
}
