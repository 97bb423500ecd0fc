package treetest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vague matches words that CONTRIBUTING.md ("Words") asks to replace in comments: clauses that
// begin with "what" in place of a noun, indefinite subjects, and verbs of speech for programs.
var vague = regexp.MustCompile(`(?i)\b(what (is|are|was|were|has|have|had|it|they|a|an|the|its|their|comes|came|can|may|must|does|do|did|no|nobody)\b|nobody|somebody|everybody|whoever|whom|tells?\b|told|hears?\b|goes on|go on|as (it is|they are)|he|his|him\b)\b`)

// maxVague is the largest number of these words in a thousand lines of comments. It only ever
// falls; well-kept projects in Go are below one.
const maxVague = 4

func TestWords(t *testing.T) {
	t.Parallel()
	lines, hits, packages := vagueWords(load(t).sources)
	t.Logf("%d vague words in %d lines of comments: %.1f in a thousand; most in %s", hits, lines, rate(hits, lines), strings.Join(packages[:min(10, len(packages))], ", "))
	if got := rate(hits, lines); got > maxVague {
		t.Errorf("%.1f vague words in a thousand lines of comments, want at most %d; name the actor and use the verbs that CONTRIBUTING.md lists", got, maxVague)
	}
}

func TestWordsRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a/a.go", "// Package a is what it has.\n// Nobody goes on.\npackage a\n\n// F returns the rest.\nfunc F() {}\n")
	if lines, hits, packages := vagueWords([]*source{s}); lines != 3 || hits != 3 || len(packages) != 1 {
		t.Errorf("%d vague words in %d lines (%v), want 3 in 3", hits, lines, packages)
	}
}

func rate(hits, lines int) float64 { return 1000 * float64(hits) / float64(max(lines, 1)) }

// vagueWords counts the lines of comments, the vague words in them, and the words by package,
// in descending order.
func vagueWords(sources []*source) (lines, hits int, packages []string) {
	by := map[string]int{}
	for _, s := range sources {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				n := len(vague.FindAllString(c.Text, -1))
				lines += 1 + strings.Count(c.Text, "\n")
				hits += n
				by[s.dir()] += n
			}
		}
	}
	for dir, n := range by {
		if n > 0 {
			packages = append(packages, dir)
		}
	}
	slices.SortFunc(packages, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	for i, dir := range packages {
		packages[i] = fmt.Sprintf("%s %d", dir, by[dir])
	}
	return lines, hits, packages
}
