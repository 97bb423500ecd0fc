package rawjson

import (
	"bytes"
	"unicode/utf8"
)

// Mend returns b with U+FFFD in place of anything that is no text: bytes that are not UTF-8, and escapes
// of one half of a surrogate pair. Writers that cut a text between two UTF-16 code units produce
// them. It returns b itself if there is nothing to replace, and need not be given valid JSON.
func Mend(b []byte) []byte {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte(string(utf8.RuneError)))
	}
	copied := false
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\\')
		if n < 0 || i+n+1 >= len(b) {
			return b
		}
		i += n
		r, ok := escapedRune(b, i)
		if !ok || !isSurrogate(r) {
			i += 2
			continue
		}
		if low, ok := escapedRune(b, i+6); ok && isPair(r, low) {
			i += 12
			continue
		}
		if !copied {
			b, copied = bytes.Clone(b), true
		}
		copy(b[i:], `\ufffd`)
		i += 6
	}
}
