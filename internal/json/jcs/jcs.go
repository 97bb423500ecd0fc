// Package jcs writes JSON in the canonical form of RFC 8785 (JSON Canonicalization Scheme). A
// signature over that form can be verified by every reader of the same values. It works on JSON
// text and does not decode numbers except to format them.
//
// # Guarantees
//
// Equal values give equal bytes, however they were written: members are sorted by the UTF-16
// code units of their names, numbers are written as in ECMAScript, and strings have no
// unnecessary escapes. Canonical JSON is unchanged. Texts without a canonical form are refused:
// a name that occurs twice in an object, a number beyond the range of doubles, invalid UTF-8,
// unpaired surrogates, and more nesting than MaxDepth.
//
// # Non-guarantees
//
// Numbers are doubles (RFC 8785 §3.2.2.3): integers beyond 2⁵³ lose their last digits, as with
// all writers of this form.
package jcs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// MaxDepth is the largest nesting depth of arrays and objects.
const MaxDepth = 128

// ErrDuplicate is returned for an object with two members of one name.
var ErrDuplicate = errors.New("name occurs twice in an object")

// ErrNumber is returned for a number beyond the range of doubles.
var ErrNumber = errors.New("number is too large for a double")

// Append appends the canonical form of a JSON text to dst. The error wraps
// ErrDuplicate, ErrNumber or a *rawjson.SyntaxError.
func Append(dst, text []byte) ([]byte, error) {
	if err := rawjson.Check(text, MaxDepth); err != nil {
		return dst, err
	}
	return appendValue(dst, bytes.TrimSpace(text))
}

func appendValue(dst, v []byte) ([]byte, error) {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return appendObject(dst, v)
	case rawjson.Array:
		return appendArray(dst, v)
	case rawjson.Text:
		s, _ := rawjson.String(v)
		return appendString(dst, s), nil
	case rawjson.Number:
		return appendNumber(dst, v)
	}
	return append(dst, v...), nil // true, false, null
}

type member struct {
	name  string
	units []uint16
	value []byte
}

func appendObject(dst, v []byte) ([]byte, error) {
	var members []member
	for name, value := range rawjson.Fields(v) {
		members = append(members, member{name, utf16.Encode([]rune(name)), value})
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.units, b.units) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return dst, fmt.Errorf("%q: %w", m.name, ErrDuplicate)
			}
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, m.name), ':')
		var err error
		if dst, err = appendValue(dst, m.value); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendArray(dst, v []byte) ([]byte, error) {
	dst = append(dst, '[')
	first := true
	for e := range rawjson.Elements(v) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = appendValue(dst, e); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendNumber writes a number as ECMA-262 §7.1.12.1 does.
func appendNumber(dst, v []byte) ([]byte, error) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return dst, fmt.Errorf("%.40s: %w", v, ErrNumber)
	}
	if f == 0 {
		return append(dst, '0'), nil // also for -0
	}
	if a := math.Abs(f); a >= 1e21 || a < 1e-6 {
		return appendExponent(dst, f), nil
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
}

// appendExponent writes f with an exponent without leading zeros.
func appendExponent(dst []byte, f float64) []byte {
	s := strconv.AppendFloat(nil, f, 'e', -1, 64)
	e := bytes.IndexByte(s, 'e') + 2 // after the sign
	dst = append(dst, s[:e]...)
	return append(dst, cmp.Or(string(bytes.TrimLeft(s[e:], "0")), "0")...)
}

const hexDigits = "0123456789abcdef"

// shortEscapes are the control characters that have an escape of their own.
var shortEscapes = map[byte]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case shortEscapes[c] != 0:
			dst = append(dst, '\\', shortEscapes[c])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(dst, '"')
}
