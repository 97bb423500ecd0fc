package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether r has no visible form: direction marks, zero-width characters,
// joiners, fillers, tags and variation selectors.
func invisible(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r <= 0x9f, r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x180e:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0x3164, r == 0xfeff, r == 0xffa0, r >= 0xfff9 && r <= 0xfffb, r >= 0xfe00 && r <= 0xfe0f:
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}

const byteOrderMark = 0xfeff

// useful reports whether an invisible r has a function between two characters: joiners and
// direction marks in scripts that need them, and parts of emoji and flags. Only visible
// characters give it one: those stay, so that the result of shown has no needless characters.
func useful(before, r, after rune) bool {
	before, after = visible(before), visible(after)
	switch r {
	case 0x200c, 0x200d, 0x200e, 0x200f, 0x61c, 0x34f:
		return before >= 0x250 || after >= 0x250
	case 0xfe0e, 0xfe0f:
		return before >= 0x80 || before >= '0' && before <= '9' || before == '#' || before == '*'
	case 0xad:
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	}
	return r >= 0xfe00 && r <= 0xfe0d && before >= 0x2000
}

// visible returns r, or 0 for an invisible one.
func visible(r rune) rune {
	if invisible(r) {
		return 0
	}
	return r
}

// hidden finds invisible characters, and decodes the text that they spell.
func (s *scanner) hidden() {
	var spelled hiddenText
	before := rune(0)
	for i, r := range s.source {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s.source[i:])
		}
		if needless(s.source, i, before) {
			s.note(Finding{Rule: Hidden, Start: i, End: i + size, Slight: true})
		}
		spelled.read(i, i+size, r)
		before = r
	}
	spelled.flush()
	for _, run := range spelled.runs {
		text := run.text.String()
		if regionFlag(text) && strings.HasSuffix(s.source[:run.start], "\U0001f3f4") {
			continue
		}
		// So many spelled characters are no accident.
		const most = 4
		grave := len(text) > most || Grave(s.inner(text))
		s.note(Finding{Rule: Hidden, Start: run.start, End: run.end, Slight: !grave})
	}
}

// joined finds instructions that appear only once a Guard has removed the invisible characters
// between their parts.
func (s *scanner) joined() {
	body := shown(s.source)
	if body == s.source || !Grave(scan(body, 0).findings) {
		return
	}
	s.note(Finding{Rule: Hidden, Start: 0, End: len(s.source)})
}

// needless reports whether the character at i is invisible and without function.
func needless(text string, i int, before rune) bool {
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < ' ' || r == 0x7f:
		return true
	case !invisible(r), r >= 0xe0000 && r <= 0xe007f && tagged(text[:i]), r == byteOrderMark && i == 0:
		return false
	}
	after, _ := utf8.DecodeRuneInString(text[i+size:])
	return !useful(before, r, after)
}

// regionFlag reports whether tags spell the code of a region, as in a flag emoji.
func regionFlag(tags string) bool {
	const longest = 6
	if len(tags) > longest {
		return false
	}
	return strings.Trim(tags, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// tagged reports whether text ends within a flag emoji: a black flag and up to six tags.
func tagged(text string) bool {
	for range 7 {
		r, size := utf8.DecodeLastRuneInString(text)
		if r == 0x1f3f4 {
			return true
		}
		if r < 0xe0000 || r > 0xe007f {
			return false
		}
		text = text[:len(text)-size]
	}
	return false
}

// hiddenText collects texts that are spelled in invisible characters: tags encode ASCII,
// variation selectors bytes.
type hiddenText struct {
	runs []hiddenRun
	open bool
}

type hiddenRun struct {
	start, end int
	text       *strings.Builder
}

func (s *hiddenText) read(start, end int, r rune) {
	b, ok := smuggledByte(r)
	switch {
	case !ok:
		s.open = false
		return
	case !s.open:
		s.runs = append(s.runs, hiddenRun{start: start, text: new(strings.Builder)})
		s.open = true
	}
	run := &s.runs[len(s.runs)-1]
	run.end = end
	if b != 0 {
		run.text.WriteByte(b)
	}
}

// flush drops runs that are no text, such as a single selector after an emoji.
func (s *hiddenText) flush() {
	kept := s.runs[:0]
	for _, r := range s.runs {
		if r.text.Len() > 1 {
			kept = append(kept, r)
		}
	}
	s.runs = kept
}

func smuggledByte(r rune) (byte, bool) {
	switch {
	case r >= 0xe0020 && r <= 0xe007e:
		return byte(r - 0xe0000), true
	case r == 0xe007f || r == 0xe0001:
		return 0, true
	case r >= 0xfe00 && r <= 0xfe0f:
		return byte(r - 0xfe00), true
	case r >= 0xe0100 && r <= 0xe01ef:
		return byte(r - 0xe0100 + 16), true
	}
	return 0, false
}

// inner screens a text that was found within another one.
func (s *scanner) inner(text string) []Finding {
	if s.depth >= maxDepth {
		return nil
	}
	return screen(text, s.depth+1)
}
