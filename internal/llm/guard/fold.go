package guard

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded is a text in the form that the rules match: lower case, plain letters, escapes
// resolved, invisible characters removed.
type folded struct {
	text string
	at   []int32 // for each byte, its offset in the source; one more for the end
}

func fold(s string) *folded {
	b, at := make([]byte, 0, len(s)), make([]int32, 0, len(s)+1)
	broken := false
	for i := 0; i < len(s); {
		r, size := next(s[i:])
		before := len(b)
		// A run of invalid UTF-8 is shown as one sign, and must not make the folded text longer
		// than its source.
		again := broken
		broken = r == utf8.RuneError && size == 1
		if r = foldRune(r); r >= 0 && !(broken && again) {
			b = utf8.AppendRune(b, r)
		}
		for range len(b) - before {
			at = append(at, int32(i))
		}
		i += size
	}
	return &folded{text: string(b), at: append(at, int32(len(s)))}
}

// next returns the first character of s, or the character of an escape there, and its length in
// s.
func next(s string) (rune, int) {
	switch c := s[0]; {
	case c == '&':
		if r, n := entity(s); n > 0 {
			return r, n
		}
	case c == '\\':
		if r, n := backslash(s); n > 0 {
			return r, n
		}
	case c == '%' && len(s) >= 3:
		if n, err := strconv.ParseUint(s[1:3], 16, 8); err == nil && n >= ' ' && n < utf8.RuneSelf {
			return rune(n), 3
		}
	case c >= utf8.RuneSelf:
		return utf8.DecodeRuneInString(s)
	}
	return rune(s[0]), 1
}

var entities = map[string]rune{
	"lt": '<', "gt": '>', "amp": '&', "quot": '"', "apos": '\'', "nbsp": ' ',
	"lbrack": '[', "rbrack": ']', "vert": '|', "colon": ':', "newline": '\n',
}

// entity decodes an HTML entity. The length is 0 if there is none.
func entity(s string) (rune, int) {
	const longest = 12
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return 0, 0
	}
	name := strings.ToLower(s[1:end])
	if r, ok := entities[name]; ok {
		return r, end + 1
	}
	if name[0] != '#' {
		return 0, 0
	}
	digits, base := name[1:], 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return 0, 0
	}
	return rune(n), end + 1
}

// backslash decodes an escape of JSON or of programming languages.
func backslash(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	digits := 0
	switch s[1] {
	case 'n', 'r':
		return '\n', 2
	case 't':
		return '\t', 2
	case '"', '/', '\\', '<', '[', '|', '#':
		return rune(s[1]), 2
	case 'u':
		digits = 4
	case 'x':
		digits = 2
	}
	if digits == 0 || len(s) < 2+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[2:2+digits], 16, 16)
	if err != nil || n >= 0xd800 && n < 0xe000 {
		return 0, 0
	}
	return rune(n), 2 + digits
}

// foldRune returns the plain lower-case form of r, or -1 if r is invisible.
func foldRune(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return foldASCII(r)
	case invisible(r), unicode.Is(unicode.Mn, r):
		return -1
	case r >= 0xff01 && r <= 0xff5e: // full width
		return foldASCII(r - 0xff01 + '!')
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical letters: 13 alphabets
		return foldASCII(mathLetter(r))
	case r >= 0x24b6 && r <= 0x24e9: // circled letters
		return 'a' + (r-0x24b6)%26
	case r >= 0x1f130 && r <= 0x1f149, r >= 0x1f150 && r <= 0x1f169, r >= 0x1f170 && r <= 0x1f189:
		return 'a' + (r-0x1f130)%32
	case unicode.IsSpace(r):
		if r == 0x2028 || r == 0x2029 || r == 0x85 {
			return '\n'
		}
		return ' '
	}
	if p, ok := plain[r]; ok {
		return p
	}
	return unicode.ToLower(r)
}

func foldASCII(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r == '\r':
		return '\n'
	case r < ' ' && r != '\n' && r != '\t', r == 0x7f:
		return -1
	}
	return r
}

func mathLetter(r rune) rune {
	i := (r - 0x1d400) % 52
	if i < 26 {
		return 'a' + i
	}
	return 'a' + i - 26
}

// plain maps letters with diacritics and typographic signs to their plain forms.
var plain = plainTable(`aàáâãäåāăąǎ cçćĉċč dďđð eèéêëēĕėęě gĝğġģ hĥħ iìíîïĩīĭįıǐ jĵ kķ lĺļľŀł
	nñńņňŋ oòóôõöøōŏőǒ rŕŗř sśŝşšș tţťŧț uùúûüũūŭůűųǔ wŵ yýÿŷ zźżž
	'’‘ʼ＇` + "`" + `´ "“”„«» -‐‑‒–—―− <‹〈⟨˂ >›〉⟩˃ |｜∣ǀ │: ：∶꞉ .․`)

func plainTable(rows string) map[rune]rune {
	table := make(map[rune]rune)
	for row := range strings.FieldsSeq(rows) {
		to, size := utf8.DecodeRuneInString(row)
		for _, r := range row[size:] {
			table[r] = to
			if up := unicode.ToUpper(r); up != r {
				table[up] = to
			}
		}
	}
	return table
}

// twins maps letters of other scripts to the Latin ones that they look like.
var twins = plainTable(`aаαɑ bЬвβ cсϲ dԁ eеєε gɡ hһн iіιӏ jј kкκ lⅼ mмm nпηո oоοσօ pрρ qԛ rгr sѕ tтτ uυս vνѵ wԝω xхχ yуγү zᴢ`)

// twin returns the Latin letter that r looks like, or r.
func twin(r rune) rune {
	if t, ok := twins[r]; ok {
		return t
	}
	return r
}
