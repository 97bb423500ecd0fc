// Package suggest finds the word that a user has probably meant.
//
// [Nearest] compares a misspelt word with the valid words by their edit distance: the number of
// letters to insert, delete, change or swap. It suggests nothing if all words are too
// different. Long words are not compared, because they are no typing errors and would cost too
// much time.
package suggest

import "strings"

// most is the maximum length of a compared word.
const most = 64

// Nearest returns the entry of words that is most similar to word, the first one of several, or
// "" if none is similar. It ignores case, dashes and underscores.
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

// distance is Distance to a word as written; it stops early and returns enough if the distance
// is at least that.
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

// plain removes differences of case, dashes, underscores and spaces.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// Distance returns the number of bytes to insert, delete, change, or swap with the next one, to
// turn a into b, with at most one edit per position. If a is too long, it returns the length of
// a.
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
