package recorder

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxKeywords is the largest number of words of a text that become tags.
	maxKeywords = 8
	// maxTag is the largest length of a tag in bytes.
	maxTag = 64
	// minWord is the smallest number of characters of a keyword.
	minWord = 4
)

// common are words that do not describe the subject of a text.
var common = map[string]bool{}

func init() {
	for w := range strings.FieldsSeq(`about above after again also because been before being below between both
		cannot could does doing done down during each from further have having here hers into itself just like
		make many more most much must need once only other ours over please same shall should some such than
		that thank thanks their them then there these they this those through under until upon very want well
		were what when where which while will with within without would your yours task`) {
		common[w] = true
	}
}

// keywords returns the most frequent words of a text in lower case; of equally frequent ones,
// the earlier ones.
func keywords(text string, most int) []string {
	counts, order := map[string]int{}, []string{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if utf8.RuneCountInString(w) < minWord || len(w) > maxTag || common[w] || !utf8.ValidString(w) {
			continue
		}
		if counts[w]++; counts[w] == 1 {
			order = append(order, w)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	return order[:min(len(order), most)]
}

func tag(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	for len(text) > maxTag {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	if text == "" {
		return "-"
	}
	return text
}
