package guard

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a word of a folded text. Its id is that in the vocabulary of the rules, or 0 for any
// other word.
type word struct {
	id         uint16
	address    bool // starts a web address, or is a mail address
	first      bool // at the beginning of a line
	fresh      bool // begins a sentence
	colon      bool // followed by a colon
	start, end int32
}

// vocabulary numbers the words that occur in rules.
type vocabulary struct {
	ids       map[string]uint16
	scrambled map[string]uint16 // by shuffleKey
	longest   int
}

func (v *vocabulary) add(w string) uint16 {
	if id, ok := v.ids[w]; ok {
		return id
	}
	id := uint16(len(v.ids) + 1)
	v.ids[w] = id
	v.longest = max(v.longest, len(w))
	if key := shuffleKey(w); key != "" {
		if _, ok := v.scrambled[key]; !ok {
			v.scrambled[key] = id
		}
	}
	return id
}

// shuffleKey returns the same key for words that differ only in the order of their inner
// letters. Models and people can read such words. It is empty for short words.
func shuffleKey(w string) string {
	const shortest, longest = 6, 16
	if len(w) < shortest || len(w) > longest {
		return ""
	}
	b := []byte(w)
	slices.Sort(b[1 : len(b)-1])
	return string(b)
}

// lookup returns the id of w. It also recognizes disguised words: letters of other scripts,
// digits for letters, and inner letters in another order.
func (v *vocabulary) lookup(w string) uint16 {
	const longest = 64
	if len(w) > longest {
		return 0
	}
	if id := v.ids[w]; id != 0 {
		return id
	}
	if base, ok := strings.CutSuffix(w, "'s"); ok {
		return v.ids[base]
	}
	latin := strings.Map(twin, w)
	if latin != w && mixed(w) {
		if id := v.ids[latin]; id != 0 {
			return id
		}
	}
	if strings.ContainsAny(latin, "0123456789@$!|") {
		return v.leet(latin)
	}
	if key := shuffleKey(latin); key != "" {
		return v.scrambled[key]
	}
	return 0
}

// leet returns the id of a word in which digits and signs stand for letters.
func (v *vocabulary) leet(w string) uint16 {
	for _, table := range []*strings.Replacer{leetI, leetL} {
		if id := v.ids[table.Replace(w)]; id != 0 {
			return id
		}
	}
	return 0
}

var (
	leetI = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i", "|", "l")
	leetL = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "l", "|", "l")
)

// mixed reports whether w has a Latin letter. A word without any is in another script, not
// disguised.
func mixed(w string) bool {
	latin := false
	for i := range len(w) {
		latin = latin || w[i] >= 'a' && w[i] <= 'z'
	}
	return latin
}

func (v *vocabulary) words(f *folded) []word {
	var out []word
	w := word{first: true, fresh: true}
	text := f.text
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !letter(r) {
			i += size
			w.pass(r, text, i)
			if r == ':' && len(out) > 0 && i-int(out[len(out)-1].end) <= 4 {
				out[len(out)-1].colon = true
			}
			continue
		}
		end := wordEnd(text, i)
		w.start, w.end = int32(i), int32(end)
		w.id, w.address = v.lookup(text[i:end]), address(text[i:])
		out = append(out, w)
		w = word{}
		i = end
	}
	return v.joinSpaced(out, text)
}

// pass records the separator r, which ends at end, for the next word. The dots of an ellipsis
// do not end a sentence.
func (w *word) pass(r rune, text string, end int) {
	rest := text[end:]
	switch r {
	case '\n':
		w.first = true
		if strings.HasPrefix(rest, "\n") {
			w.fresh = true
		}
	case '.', '!', '?', ';':
		if r == '.' && strings.HasSuffix(text[:end], "..") {
			return
		}
		w.fresh = w.fresh || rest == "" || rest[0] == ' ' || rest[0] == '\n'
	case '。', '！', '？', '\t', '|':
		w.fresh = true
	}
}

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '@' || r == '$' ||
		r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// wordEnd returns the end of the word that begins at i.
func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !letter(r) && (!inner(r) || !letterAt(text, i+size)) {
			break
		}
		i += size
	}
	return i
}

// inner reports whether r belongs to a word if it is between letters.
func inner(r rune) bool { return r == '\'' || r == '!' || r == '|' }

func letterAt(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return i < len(text) && letter(r)
}

// address reports whether s begins with a web or mail address.
func address(s string) bool {
	for _, p := range []string{"http://", "https://", "http:\\", "www.", "mailto:", "ftp://", "hxxp"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	const longest = 80
	s = s[:min(len(s), longest)]
	if end := strings.IndexAny(s, " \n\t,;:()<>\"'"); end >= 0 {
		s = s[:end]
	}
	at := strings.IndexByte(s, '@')
	return at > 0 && strings.IndexByte(s[at:], '.') > 1
}

// joinSpaced finds words whose letters are spaced out. It replaces runs of single letters by
// the words of the vocabulary that they spell.
func (v *vocabulary) joinSpaced(all []word, text string) []word {
	const shortest = 6
	out := all[:0:0]
	changed := false
	for i := 0; i < len(all); {
		n := 0
		for i+n < len(all) && all[i+n].end-all[i+n].start == 1 {
			n++
		}
		if n < shortest {
			n = max(n, 1)
			out = append(out, all[i:i+n]...)
		} else {
			out = append(out, v.spell(all[i:i+n], text)...)
			changed = true
		}
		i += n
	}
	if !changed {
		return all
	}
	return out
}

// spell returns the words of the vocabulary that single letters spell, longest first.
func (v *vocabulary) spell(letters []word, text string) []word {
	var b strings.Builder
	for _, w := range letters {
		b.WriteByte(text[w.start])
	}
	joined := b.String()
	var out []word
	for i := 0; i < len(joined); {
		w, n := letters[i], 1
		for k := min(v.longest, len(joined)-i); k > 2; k-- {
			if id := v.ids[joined[i:i+k]]; id != 0 {
				w.id, n = id, k
				break
			}
		}
		w.end = letters[i+n-1].end
		out = append(out, w)
		i += n
	}
	return out
}
