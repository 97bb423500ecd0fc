package guard

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ScreenFile returns the findings in the texts of a file: a text file as a whole, or the readable
// runs of characters in other files, such as the comments and descriptions in images and documents.
// Positions refer to these texts. Compressed texts are not read.
func ScreenFile(raw []byte) []Finding { return Screen(Readable(raw)) }

const (
	// maxFile is the number of bytes of a file that are read.
	maxFile = 1 << 20
	// shortestRun is the smallest number of characters of a readable run.
	shortestRun = 12
)

// Readable returns the readable texts in a file, one a line.
func Readable(raw []byte) string {
	raw = raw[:min(len(raw), maxFile)]
	if utf8.Valid(raw) && !strings.ContainsFunc(string(raw), func(r rune) bool { return r < ' ' && !unicode.IsSpace(r) }) {
		return string(raw)
	}
	var b strings.Builder
	runs(&b, raw)
	raw = bytes.ReplaceAll(raw, []byte("UNICODE\x00"), []byte("\n\x00\n\x00\n\x00\n\x00")) // before a comment of EXIF
	runs(&b, narrow(raw, 0))
	runs(&b, narrow(raw, 1))
	return b.String()
}

// runs writes the readable runs of bytes in UTF-8.
func runs(b *strings.Builder, raw []byte) {
	begin, n := 0, 0
	end := func(i int) {
		if n >= shortestRun {
			b.Write(raw[begin:i])
			b.WriteByte('\n')
		}
	}
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size <= 1 || !unicode.IsPrint(r) && !unicode.IsSpace(r) && !invisible(r) {
			end(i)
			begin, n = i+1, 0
			i++
			continue
		}
		n++
		i += size
	}
	end(len(raw))
}

// narrow returns bytes of UTF-16, least significant byte first, as UTF-8, from an offset on.
func narrow(raw []byte, offset int) []byte {
	var out []byte
	for i := offset; i+1 < len(raw); i += 2 {
		out = utf8.AppendRune(out, rune(raw[i])|rune(raw[i+1])<<8)
	}
	return out
}
