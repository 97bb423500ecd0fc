// Package suggest finds the word that somebody may have meant.
//
// [Nearest] compares a word with the words that there are, by how many letters must be
// put in, taken out, changed or swapped. It suggests nothing where all of them are too far away.
// Long words are not compared: nobody mistypes a page of text, and a caller who sends
// one is not worth the time.
package suggest

import "strings"

// most is the length of the longest word that is compared.
const most = 64

// Nearest returns the one of words that is most like word, the first of several, or
// nothing if none is like it. How words are written does not count: the case of letters,
// dashes and underscores.
func Nearest(word string, words []string) string {
	best, least := "", 1+len(word)/3
	plain := plain(word)
	for _, w := range words {
		if d := distance(plain, w, least); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is Distance to a word as it is written; it gives up where that is clear to be
// enough.
func distance(plainWord, w string, enough int) int {
	if len(w) > 2*most || len(w) >= 2*(len(plainWord)+enough)+most {
		return enough
	}
	w = plain(w)
	if len(w) >= len(plainWord)+enough || len(plainWord) >= len(w)+enough {
		return enough
	}
	return Distance(plainWord, w)
}

// plain makes words comparable that differ in their way of writing only.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// Distance is how many bytes must be put in, taken out, changed, or swapped with the
// next one, to make b of a, if nothing is done twice at one place. If a is long, it is the
// length of a.
func Distance(a, b string) int {
	if len(a) > most {
		return len(a)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
