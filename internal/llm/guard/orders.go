package guard

import (
	_ "embed"
	"fmt"
	"strings"
)

// The cues: english.txt and foreign.txt have a line with the rule in brackets before its cues, lists.txt
// has the lists of words that cues share.
var (
	//go:embed cues/lists.txt
	cueLists string
	//go:embed cues/english.txt
	englishCues string
	//go:embed cues/foreign.txt
	foreignCues string
)

// orders holds the cues.
var orders = newCueList(englishCues+foreignCues, cueLists)

// newCueList returns the cues of a text. It panics for an invalid one.
func newCueList(text, lists string) *cueList {
	l := &cueList{
		exact: make(map[string][]slot), prefixes: make(map[string][]slot), shortest: longestStem,
		negation: make(map[string]bool), lists: make(map[string]string),
	}
	for w := range strings.FieldsSeq("not never don't dont cannot can't won't nicht nie ne no nunca non niet") {
		l.negation[w] = true
	}
	for line := range strings.Lines(lists) {
		name, words, ok := strings.Cut(line, ": ")
		if !ok {
			panic(fmt.Sprintf("guard: list %q: want a name and words", line))
		}
		l.lists[name] = words
	}
	rule := Rule("")
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case line[0] == '[':
			rule = Rule(strings.Trim(line, "[]"))
		default:
			l.add(rule, line)
		}
	}
	return l
}
