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
	from := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = skipString(b, i)
		case c == '-' || '0' <= c && c <= '9':
			end := skipValue(b, i)
			if f, err := strconv.ParseFloat(string(b[i:end]), 64); err != nil {
				dst = append(dst, b[from:i]...)
				dst = strconv.AppendFloat(dst, min(max(f, -math.MaxFloat64), math.MaxFloat64), 'e', -1, 64)
				from = end
			}
			i = end
		default:
			i++
		}
	}
	return append(dst, b[from:]...)
}
