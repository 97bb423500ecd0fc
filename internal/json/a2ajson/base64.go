package a2ajson

import (
	"bytes"
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// sextet classifies a byte in base64: valid, or valid only in the URL-safe alphabet. Zero is
// neither.
var sextet = func() (t [256]byte) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for _, c := range []byte(letters) {
		t[c] = standardByte
	}
	t['-'], t['_'] = urlByte, urlByte
	return t
}()

const (
	standardByte = 1
	urlByte      = 2
)

// appendBase64 appends the JSON string v, bytes in base64, in the standard alphabet, with
// padding and on one line. It does not decode them.
func appendBase64(dst, v []byte) ([]byte, error) {
	if rawjson.KindOf(v) != rawjson.Text {
		return dst, Invalid("must be a string of base64")
	}
	text := v[1 : len(v)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		s, _ := rawjson.String(v) // base64 of MIME has line ends
		text = []byte(strings.NewReplacer("\r", "", "\n", "").Replace(s))
	}
	digits := bytes.TrimRight(text, "=")
	pad := len(text) - len(digits)
	if len(digits)%4 == 1 || pad > 0 && (pad > 2 || len(text)%4 != 0) {
		return dst, Invalid("is not base64: wrong length")
	}
	from := len(dst) + 1
	dst = append(append(dst, '"'), digits...)
	if !standardise(dst[from:]) {
		return dst[:from-1], Invalid("is not base64")
	}
	for n := len(digits); n%4 != 0; n++ {
		dst = append(dst, '=')
	}
	return append(dst, '"'), nil
}

// standardise converts URL-safe digits to standard ones in place. It reports whether b has only
// digits.
func standardise(b []byte) bool {
	var all byte
	for _, c := range b {
		kind := sextet[c]
		if kind == 0 {
			return false
		}
		all |= kind
	}
	if all&urlByte == 0 {
		return true
	}
	for i, c := range b {
		switch c {
		case '-':
			b[i] = '+'
		case '_':
			b[i] = '/'
		}
	}
	return true
}
