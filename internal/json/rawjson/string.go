package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the value of a valid JSON string, and whether b is a string.
func String(b []byte) (string, bool) {
	b = trim(b)
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", false
	}
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), true
	}
	return string(unescape(make([]byte, 0, len(b)), b)), true
}

func trim(b []byte) []byte {
	b = b[skipSpace(b, 0):]
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// unescape appends the unescaped form of b, the inside of a string.
func unescape(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		var n int
		dst, n = unescapeOne(dst, b[i:])
		b = b[i+n:]
	}
}

// unescapeOne appends the character of the escape at the start of b, which has at least two
// bytes, and returns the length of the escape.
func unescapeOne(dst, b []byte) ([]byte, int) {
	switch b[1] {
	case 'u':
		return unescapeRune(dst, b)
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	}
	return append(dst, b[1]), 2
}

func unescapeRune(dst, b []byte) ([]byte, int) {
	r, ok := hex4(b, 2)
	if !ok {
		return append(dst, b[1]), 2
	}
	if low, ok := escapedRune(b, 6); ok && isPair(r, low) {
		return utf8.AppendRune(dst, utf16.DecodeRune(r, low)), 12
	}
	return utf8.AppendRune(dst, r), 6
}

// escapedRune returns the code unit of the escape at i.
func escapedRune(b []byte, i int) (rune, bool) {
	if i+1 >= len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	return hex4(b, i+2)
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func isSurrogate(r rune) bool { return 0xD800 <= r && r <= 0xDFFF }

func isPair(high, low rune) bool {
	return 0xD800 <= high && high < 0xDC00 && 0xDC00 <= low && low <= 0xDFFF
}

// AppendString appends s as a JSON string. It escapes the characters that JSON requires, and
// the line separators U+2028 and U+2029, which end a line for some readers. Bytes that are not
// UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if s[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if bad := r == utf8.RuneError && n == 1; bad || r == '\u2028' || r == '\u2029' {
				dst = appendOdd(append(dst, s[from:i]...), r)
				from = i + n
			}
			i += n
			continue
		}
		i = skipASCII(s, i)
		if i < len(s) && s[i] < utf8.RuneSelf {
			dst = appendEscape(append(dst, s[from:i]...), s[i])
			i++
			from = i
		}
	}
	return append(append(dst, s[from:]...), '"')
}

func appendOdd(dst []byte, r rune) []byte {
	switch r {
	case '\u2028':
		return append(dst, `\u2028`...)
	case '\u2029':
		return append(dst, `\u2029`...)
	}
	return utf8.AppendRune(dst, utf8.RuneError)
}

const hexDigits = "0123456789abcdef"

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
