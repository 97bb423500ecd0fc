package rawjson

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// String returns the value of a valid JSON string, and whether b is a string.
func String(b []byte) (string, bool) {
	b = Trim(b)
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", false
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1]), true
	}
	text, _ := jsontext.AppendUnquote(nil, b) // U+FFFD stands for what is no text
	return string(text), true
}

// Trim returns b without the white space of JSON around it, which is less than that of
// [bytes.TrimSpace]: a form feed or a no-break space before a value makes it invalid.
func Trim(b []byte) []byte {
	b = b[skipSpace(b, 0):]
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
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
	from := len(dst)
	dst, _ = jsontext.AppendQuote(dst, s) // an error is about bytes that are not UTF-8
	if !strings.Contains(s, separators[:2]) {
		return dst
	}
	return append(dst[:from], escapeSeparators.Replace(string(dst[from:]))...)
}

// separators are the line separators of Unicode, which begin with the same two bytes.
const separators = "\u2028\u2029"

var escapeSeparators = strings.NewReplacer(separators[:3], `\u2028`, separators[3:], `\u2029`)
