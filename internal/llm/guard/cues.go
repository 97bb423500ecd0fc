package guard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cue is a combination of words that are an order together, wherever they stand within a number of
// words. It finds orders in other words than those of the phrases, and over the borders of sentences,
// lines, cells and members. In its source
//
//	16 ignor*|forget / rule*|task / =you
//
// the number is that of the words, and slots are separated by slashes: each needs a word, in this order.
//
//	a*    matches words that begin with a,
//	*a    matches words that contain a, for scripts without blanks,
//	$name matches a word of a list,
//	~     before the number: the slots match in any order,
//	!     before the number: a negation before the first word cancels the cue.
type cue struct {
	rule     Rule
	window   int
	slots    int
	anyOrder bool
	plainly  bool
}

// slot is a slot of a cue.
type slot struct{ cue, index int }

// cueList holds cues by the words of their slots.
type cueList struct {
	cues     []cue
	exact    map[string][]slot
	prefixes map[string][]slot
	shortest int // of the prefixes, in bytes
	within   []withinSlot
	negation map[string]bool
	lists    map[string]string // of words that cues share
}

type withinSlot struct {
	text  string
	slots []slot
}

// longestStem is the largest number of bytes of the beginning of a word in a cue.
const longestStem = 24

func (l *cueList) add(rule Rule, line string) {
	head, rest, ok := strings.Cut(line, " ")
	c := cue{rule: rule}
	head, c.anyOrder = strings.CutPrefix(head, "~")
	head, c.plainly = strings.CutPrefix(head, "!")
	n, err := strconv.Atoi(head)
	if err != nil || !ok {
		panic(fmt.Sprintf("guard: cue %q: want a number and slots", line))
	}
	c.window = n
	for field := range strings.SplitSeq(rest, " / ") {
		l.fill(slot{len(l.cues), c.slots}, field)
		c.slots++
	}
	l.cues = append(l.cues, c)
}

// fill adds the words of a slot.
func (l *cueList) fill(s slot, field string) {
	for w := range strings.SplitSeq(strings.TrimSpace(field), "|") {
		if name, ok := strings.CutPrefix(w, "$"); ok {
			list := l.lists[name]
			if list == "" {
				panic("guard: no list " + w)
			}
			l.fill(s, strings.Join(strings.Fields(list), "|"))
			continue
		}
		w = fold(w).text
		if part, ok := strings.CutPrefix(w, "*"); ok {
			l.within = append(l.within, withinSlot{part, []slot{s}})
		} else if stem, ok := strings.CutSuffix(w, "*"); ok {
			l.prefixes[stem] = append(l.prefixes[stem], s)
			l.shortest = min(l.shortest, len(stem))
		} else {
			l.exact[w] = append(l.exact[w], s)
		}
	}
}

// token is a word of a text for cues, with its offsets in the folded text.
type token struct {
	text       string
	start, end int
	fresh      bool // begins a sentence
}

// progress is the state of a cue in a text: for each slot the number of the word that fills it, and of
// the first word of the match up to it.
type progress struct{ at, first [8]int }

func newProgress() *progress {
	p := new(progress)
	for k := range p.at {
		p.at[k], p.first[k] = -1, -1
	}
	return p
}

// match calls found with each match of a cue, as the numbers of its first and last word.
func (l *cueList) match(words []token, found func(rule Rule, first, last int)) {
	state := make(map[int]*progress) // of the cues with a word in the text
	begin := 0
	for i := range words {
		if words[i].fresh {
			begin = i
		}
		l.slotsOf(words[i].text, func(s slot) {
			c := &l.cues[s.cue]
			if c.plainly && s.index == 0 && i > 0 && l.negation[words[i-1].text] {
				return
			}
			p := state[s.cue]
			if p == nil {
				p = newProgress()
				state[s.cue] = p
			}
			if first, ok := p.take(c, s.index, i, begin); ok {
				found(c.rule, first, i)
			}
		})
	}
}

// take fills a slot with word i of the sentence that begins at word begin. It reports whether the cue
// is complete, and its first word.
func (p *progress) take(c *cue, index, i, begin int) (first int, ok bool) {
	begin = max(begin, i-c.window)
	if c.anyOrder {
		p.at[index] = i
		first = i
		for k := range c.slots {
			if p.at[k] < begin {
				return 0, false
			}
			first = min(first, p.at[k])
		}
		return first, true
	}
	first = i
	if index > 0 {
		if p.at[index-1] == i || p.at[index-1] < 0 || p.first[index-1] < begin {
			return 0, false
		}
		first = p.first[index-1]
	}
	p.at[index], p.first[index] = i, first
	return first, index == c.slots-1
}

// slotsOf calls yield with each slot that a word fills, the last slots of a cue first, so that a word
// does not fill two slots in a row.
func (l *cueList) slotsOf(w string, yield func(slot)) {
	all := func(list []slot) {
		for i := len(list) - 1; i >= 0; i-- {
			yield(list[i])
		}
	}
	all(l.exact[w])
	if len(w) < l.shortest {
		return
	}
	for n := l.shortest; n <= min(len(w), longestStem); n++ {
		all(l.prefixes[w[:n]])
	}
	if r, _ := utf8.DecodeRuneInString(w); r < 0x590 {
		return
	}
	for i := range l.within {
		if strings.Contains(w, l.within[i].text) {
			all(l.within[i].slots)
		}
	}
}

// tokens returns the words of a folded text. Signs between letters, as in names of files, separate
// words. Letters that stand alone are joined.
func tokens(text string) []token {
	const length = 6 // of a word, about
	out := make([]token, 0, len(text)/length+1)
	fresh := true
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !tokenRune(r) {
			i += size
			fresh = fresh || endsSentence(r, text[i:])
			continue
		}
		start, ideographic := i, r >= 0x2e80
		for i < len(text) {
			r, size = utf8.DecodeRuneInString(text[i:])
			if !tokenRune(r) && (r != '\'' || !letterAt(text, i+1)) || i > start && (r >= 0x2e80) != ideographic {
				break
			}
			ideographic = r >= 0x2e80
			i += size
		}
		if w := undisguised(strings.TrimLeft(text[start:i], "@$")); w != "" {
			out = append(out, token{w, start, i, fresh})
			fresh = false
		}
	}
	return orders.joinLetters(out)
}

// joinLetters replaces runs of single letters by the words of the cues that they spell.
func (l *cueList) joinLetters(all []token) []token {
	const shortest = 6
	var out []token
	kept := 0
	for i := 0; i < len(all); {
		n := 0
		for i+n < len(all) && utf8.RuneCountInString(all[i+n].text) == 1 && all[i+n].text[0] < utf8.RuneSelf {
			n++
		}
		if n >= shortest {
			out = append(append(out, all[kept:i]...), l.spelled(all[i:i+n])...)
			kept = i + n
		}
		i += max(n, 1)
	}
	if kept == 0 {
		return all
	}
	return append(out, all[kept:]...)
}

// spelled returns the words of cues that letters spell, the longest first.
func (l *cueList) spelled(letters []token) []token {
	var b strings.Builder
	for _, t := range letters {
		b.WriteString(t.text)
	}
	text := b.String()
	var out []token
	for i := 0; i < len(text); {
		n := 1
		for k := min(12, len(text)-i); k >= 2; k-- {
			if part := text[i : i+k]; l.exact[part] != nil || k > 3 && l.prefixes[part] != nil {
				n = k
				break
			}
		}
		if n > 1 {
			out = append(out, token{text[i : i+n], letters[i].start, letters[i+n-1].end, false})
		}
		i += n
	}
	return out
}

// endsSentence reports whether r ends a sentence before rest.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '.', '!', '?':
		return rest == "" || rest[0] == ' ' || rest[0] == '\n'
	case '。', '！', '？':
		return true
	case '\n':
		return strings.HasPrefix(rest, "\n")
	}
	return false
}

func tokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '@' || r == '$' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// undisguised returns a word with Latin letters for those of other scripts that look alike, and for
// digits among letters.
func undisguised(w string) string {
	if strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) && mixed(w) {
		w = strings.Map(twin, w)
	}
	if strings.ContainsAny(w, "0123456789@$") && strings.ContainsFunc(w, unicode.IsLetter) {
		w = leetI.Replace(w)
	}
	return w
}

// cuesIn notes the orders that cues find in the words of a view of the text. at returns the offset in
// the source of an offset in the view.
func (s *scanner) cuesIn(words []token, at func(int) int, rule Rule) {
	orders.match(words, func(r Rule, first, last int) {
		if rule != "" {
			r = rule
		}
		from, to := at(words[first].start), at(words[last].end)
		s.note(Finding{Rule: r, Start: min(from, to), End: max(from, to)})
	})
}

// cues finds orders by cues in the text, and in the text in ROT13 and backwards.
func (s *scanner) cues() {
	text := s.folded.text
	inPlace := func(i int) int { return int(s.folded.at[i]) }
	words := tokens(text)
	s.cuesIn(words, inPlace, "")
	if s.depth > 0 || Grave(s.findings) {
		return
	}
	if rotate(words) {
		s.cuesIn(words, inPlace, Encoded)
	}
	if strings.ContainsAny(s.source, "\u202e\u202d\u2066\u2067\u2068") {
		s.cuesIn(tokens(backward(text)), func(i int) int { return int(s.folded.at[len(text)-i]) }, Encoded)
	}
}

// common are words in ROT13, one of which is in nearly every text of a language.
var common = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq("the and you your to of all is in it my me not now from this that with for as are at be do " +
		"die der und das nicht du dem den le la les et tu el los que il di o os het een je") {
		m[rot13(w)] = true
	}
	return m
}()

// rotate replaces words by those that they are in ROT13. It reports false, and changes nothing, if the
// text is not in ROT13.
func rotate(words []token) bool {
	if !slices.ContainsFunc(words, func(t token) bool { return common[t.text] }) {
		return false
	}
	for i := range words {
		words[i].text = strings.Map(rotated, words[i].text)
	}
	return true
}

// rotated returns the letter thirteen places further.
func rotated(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return 'a' + (r-'a'+13)%26
	}
	return r
}

// backward returns the characters of a text in reverse order.
func backward(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		b.WriteRune(r)
		text = text[:len(text)-size]
	}
	return b.String()
}
