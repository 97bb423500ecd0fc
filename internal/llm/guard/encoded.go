package guard

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortestBlob is the smallest number of characters of a blob: shorter ones hold no
// instruction.
const shortestBlob = 20

// encoded finds blobs of base64 or hexadecimal digits that contain instructions.
func (s *scanner) encoded() {
	if s.depth >= maxDepth {
		return
	}
	text := s.source
	s.percent()
	for i := 0; i < len(text); {
		if !blobByte(text[i]) {
			i++
			continue
		}
		end := blobEnd(text, i)
		if end-i >= shortestBlob {
			s.blob(i, end)
		}
		i = end
	}
}

// percent screens a text with its percent-encoded bytes decoded, if some are not ASCII: the folded text
// has the others.
func (s *scanner) percent() {
	const fewest = 6
	text := s.source
	if strings.Count(text, "%") < fewest {
		return
	}
	b := make([]byte, 0, len(text))
	wide := false
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b, wide = append(b, byte(n)), wide || n >= utf8.RuneSelf
				i += 2
				continue
			}
		}
		if text[i] == '+' {
			b = append(b, ' ')
			continue
		}
		b = append(b, text[i])
	}
	if plain := string(b); (wide || strings.Contains(text, "+")) && utf8.Valid(b) && Grave(s.inner(plain)) {
		s.note(Finding{Rule: Encoded, Start: 0, End: len(text)})
	}
}

func (s *scanner) blob(start, end int) {
	for _, decoded := range decode(s.source[start:end]) {
		if findings := s.inner(decoded); Grave(findings) {
			s.note(Finding{Rule: Encoded, Start: start, End: end})
			return
		}
	}
}

func blobByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// blobEnd returns the end of the blob at i. A blob may continue on the next line if the current
// one is long, as in mail.
func blobEnd(text string, i int) int {
	const longLine = 40
	line := i
	for i < len(text) {
		switch c := text[i]; {
		case blobByte(c):
			i++
		case (c == '\n' || c == '\r') && i-line >= longLine:
			next := i + 1
			if c == '\r' && next < len(text) && text[next] == '\n' {
				next++
			}
			if next == len(text) || !blobByte(text[next]) {
				return i
			}
			i, line = next, next
		default:
			return padded(text, i)
		}
	}
	return i
}

// padded returns the end of the padding at i.
func padded(text string, i int) int {
	for range 2 {
		if i < len(text) && text[i] == '=' {
			i++
		}
	}
	return i
}

// decode returns the possible decoded texts of a blob.
func decode(blob string) []string {
	blob = strings.NewReplacer("\n", "", "\r", "").Replace(blob)
	var out []string
	if digits, ok := strings.CutPrefix(blob, "0x"); ok && len(digits)%2 == 0 {
		blob = digits
	}
	if b, err := hex.DecodeString(blob); err == nil && readable(b) {
		out = append(out, string(b))
	}
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(blob, "="))
	// Characters directly before the blob spoil at most one group of four.
	for skip := range 4 {
		if skip >= len(standard) {
			break
		}
		part := standard[skip:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		if b, err := base64.RawStdEncoding.DecodeString(part); err == nil && readable(b) {
			out = append(out, string(b))
			break
		}
	}
	return out
}

// readable reports whether b is mostly printable text.
func readable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	strange := 0
	for _, r := range string(b) {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x80 && !unicode.IsPrint(r) {
			strange++
		}
	}
	return strange*10 <= len(b)
}
