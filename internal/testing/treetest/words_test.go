package treetest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vague matches words that CONTRIBUTING.md ("Words") asks to replace in comments: clauses that
// begin with "what" in place of a noun, indefinite subjects, and verbs of speech for programs.
var vague = regexp.MustCompile(`(?i)\b(what (is|are|was|were|has|have|had|it|they|a|an|the|its|their|comes|came|can|may|must|does|do|did|no|nobody)\b|nobody|somebody|everybody|whoever|whom|tells?\b|told|hears?\b|goes on|go on|as (it is|they are)|he|his|him\b)\b`)

// The largest numbers of these words: in a thousand lines of comments, in a thousand texts of the
// programs (errors, logs, help), and in a thousand lines of pages. They only ever fall;
// well-kept projects in Go are below one.
const (
	maxVague      = 1
	maxVagueTexts = 2
	maxVaguePages = 1
)

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

func TestWordsOfTexts(t *testing.T) {
	t.Parallel()
	texts, vagueOnes := vagueTexts(load(t).code())
	t.Logf("%d of %d texts have vague words: %.1f in a thousand:\n  %s", len(vagueOnes), texts, rate(len(vagueOnes), texts), strings.Join(vagueOnes, "\n  "))
	if got := rate(len(vagueOnes), texts); got > maxVagueTexts {
		t.Errorf("%.1f texts in a thousand have vague words, want at most %d", got, maxVagueTexts)
	}
}

func TestWordsOfTextsRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a.go", "package a\n\nvar x = []string{\"told\", \"nobody is there\", \"the caller gets it\", `tell him\nwhat it is`}\n")
	if texts, found := vagueTexts([]*source{s}); texts != 3 || len(found) != 2 {
		t.Errorf("%d texts, %v; want 3 and 2 of them", texts, found)
	}
}

// vagueTexts counts the string literals of several words, and returns those with vague words.
func vagueTexts(code []*source) (texts int, found []string) {
	for _, s := range code {
		if imports(s, "testing") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, " ") {
				return true
			}
			texts++
			if word := vague.FindString(lit.Value); word != "" {
				found = append(found, fmt.Sprintf("%s: %q", s.at(lit.Pos()), word))
			}
			return true
		})
	}
	return texts, found
}

func TestWordsOfPages(t *testing.T) {
	t.Parallel()
	tr := load(t)
	lines, hits := 0, 0
	for _, name := range tr.files {
		if (strings.HasSuffix(name, ".md") || name == "internal/cli/help.txt") && !strings.Contains(name, "testdata/") {
			l, h := vagueLines(tr.read(t, name))
			lines, hits = lines+l, hits+h
			if h > 0 {
				t.Logf("%s: %d", name, h)
			}
		}
	}
	if got := rate(hits, lines); got > maxVaguePages {
		t.Errorf("%.1f vague words in a thousand lines of pages, want at most %d", got, maxVaguePages)
	}
}

func TestWordsOfPagesRule(t *testing.T) {
	t.Parallel()
	if lines, hits := vagueLines("He goes on.\n```\ntell\n```\n`told` [x](whoever.md)\n"); lines != 2 || hits != 2 {
		t.Errorf("%d vague words in %d lines, want 2 in 2", hits, lines)
	}
}

var quoted = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

// vagueLines counts the lines of a page outside of code, and the vague words in them.
func vagueLines(page string) (lines, hits int) {
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code {
			lines++
			hits += len(vague.FindAllString(quoted.ReplaceAllString(line, ""), -1))
		}
	}
	return lines, hits
}
