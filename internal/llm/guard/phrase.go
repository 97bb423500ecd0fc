package guard

import (
	"fmt"
	"strconv"
	"strings"
)

// A phrase is a pattern of words. In its source, words are separated by blanks:
//
//	a|b   matches one word or another,
//	$name matches a word of a set, which may be one of alternatives,
//	?a|b  is optional,
//	~3    matches up to three words of any kind,
//	@addr matches a web or mail address,
//	^a    matches at the beginning of a line,
//	a:    has a colon after it.
//
// A phrase matches within one sentence.
type phrase struct {
	rule   Rule
	slight bool
	// plainly is set if a negation before the phrase cancels it.
	plainly bool
	parts   []element
}

type element struct {
	words    map[uint16]bool
	optional bool
	gap      int // matches up to this number of words, instead of one of words
	address  bool
	first    bool
	colon    bool
}

func (e *element) fits(w *word) bool {
	if e.first && !w.first || e.colon && !w.colon {
		return false
	}
	return e.address && w.address || e.words[w.id]
}

// phraseList holds phrases by their first words.
type phraseList struct {
	vocabulary
	phrases  map[uint16][]*phrase
	negation map[uint16]bool
}

func newPhraseList(sections []section, sets map[string]string) *phraseList {
	b := &phraseList{
		vocabulary: vocabulary{ids: make(map[string]uint16), scrambled: make(map[string]uint16)},
		phrases:    make(map[uint16][]*phrase),
	}
	b.negation = b.set("not|never|don't|dont|cannot|can't|won't|doesn't|didn't|nicht|nie|ne|no|nunca|non|niet", sets)
	for _, s := range sections {
		for line := range strings.Lines(s.phrases) {
			if line = strings.TrimSpace(line); line != "" {
				b.add(&phrase{rule: s.rule, slight: s.slight, plainly: s.plainly}, line, sets)
			}
		}
	}
	return b
}

func (b *phraseList) add(p *phrase, source string, sets map[string]string) {
	for field := range strings.FieldsSeq(source) {
		p.parts = append(p.parts, b.element(field, sets))
	}
	head := &p.parts[0]
	if head.optional || head.gap > 0 || head.address || len(head.words) == 0 {
		panic(fmt.Sprintf("safety: phrase %q must begin with words", source))
	}
	for id := range head.words {
		b.phrases[id] = append(b.phrases[id], p)
	}
}

func (b *phraseList) element(field string, sets map[string]string) element {
	var e element
	if n, ok := strings.CutPrefix(field, "~"); ok {
		gap, err := strconv.Atoi(n)
		if err != nil {
			panic(err)
		}
		return element{gap: gap}
	}
	if field == "@addr" {
		return element{address: true}
	}
	field, e.optional = strings.CutPrefix(field, "?")
	field, e.first = strings.CutPrefix(field, "^")
	field, e.colon = strings.CutSuffix(field, ":")
	e.words = b.set(field, sets)
	return e
}

func (b *phraseList) set(field string, sets map[string]string) map[uint16]bool {
	out := make(map[uint16]bool)
	for name := range strings.SplitSeq(field, "|") {
		key, ok := strings.CutPrefix(name, "$")
		if !ok {
			out[b.vocabulary.add(fold(name).text)] = true
			continue
		}
		words, ok := sets[key]
		if !ok {
			panic("safety: no set " + name)
		}
		for w := range strings.FieldsSeq(words) {
			out[b.vocabulary.add(fold(w).text)] = true
		}
	}
	return out
}

// match calls found for each phrase in f, with offsets into f.
func (b *phraseList) match(f *folded, found func(p *phrase, start, end int)) {
	words := b.words(f)
	for i := range words {
		for _, p := range b.phrases[words[i].id] {
			last := match(p.parts, words, i)
			if last < 0 || p.plainly && b.negated(words, i) {
				continue
			}
			found(p, int(words[i].start), int(words[last].end))
		}
	}
}

// match returns the index of the last word that parts match from words[i] on, or -1. parts
// limits its work, whatever the words are.
func match(parts []element, words []word, i int) int {
	if len(parts) == 0 {
		return i - 1
	}
	e := &parts[0]
	if e.gap > 0 {
		for n := 0; n <= e.gap && i+n < len(words); n++ {
			if last := match(parts[1:], words, i+n); last >= 0 {
				return last
			}
			if words[i+n].fresh {
				break
			}
		}
		return -1
	}
	if i < len(words) && e.fits(&words[i]) {
		rest := parts[1:]
		if len(rest) == 0 {
			return i
		}
		// The next word must belong to the same sentence.
		if i+1 < len(words) && !words[i+1].fresh {
			if last := match(rest, words, i+1); last >= 0 {
				return last
			}
		}
		if allOptional(rest) {
			return i
		}
	}
	if e.optional {
		return match(parts[1:], words, i)
	}
	return -1
}

func allOptional(parts []element) bool {
	for i := range parts {
		if !parts[i].optional && parts[i].gap == 0 {
			return false
		}
	}
	return true
}

// negated reports whether the word before words[i] negates the phrase.
func (b *phraseList) negated(words []word, i int) bool {
	return i > 0 && !words[i].fresh && b.negation[words[i-1].id]
}
