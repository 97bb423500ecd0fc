package treetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// apache is the digest of the text of the Apache License 2.0.
const apache = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"

func TestLicence(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(load(t).read(t, "LICENSE")))
	if got := hex.EncodeToString(sum[:]); got != apache {
		t.Errorf("LICENSE has the digest %s, want %s; it must be the unchanged text of the Apache License 2.0", got, apache)
	}
}

func TestGoMod(t *testing.T) {
	t.Parallel()
	mod := load(t).read(t, "go.mod")
	for _, want := range []string{
		`(?m)^module github\.com/parley-a2a/parley$`,
		`(?m)^go 1\.26(\.\d+)?$`,
		`(?m)^\s+github\.com/a2aproject/a2a-go/v2 v2\.4\.0$`,
		`(?m)^\s+github\.com/a2aproject/a2a-go v0\.3\.15$`,
		`(?m)^\s+modernc\.org/sqlite v1\.60\.\d+( // indirect)?$`,
	} {
		if !regexp.MustCompile(want).MatchString(mod) {
			t.Errorf("go.mod has no line like %s; the version is pinned for a reason (internal/README.md)", want)
		}
	}
	if strings.Contains(mod, "\nreplace ") {
		t.Error("go.mod has a replace directive; an embedder would not get it, so remove it")
	}
}

// foreign matches words that no file of the tree may contain: folders of one machine, and the
// addresses of package registries, on which a build must not depend. The pattern is written in
// pieces so that this file does not match.
var foreign = regexp.MustCompile(`(^|[^\w.~-])/(wor` + `k|roo` + `t)/|/tmp/bri` + `efs|` +
	`(proxy|sum)\.gola` + `ng\.org|registry\.npm` + `js\.org|registry\.ya` + `rnpkg\.com|py` + `pi\.org|` +
	`pythonhos` + `ted\.org|deb\.deb` + `ian\.org|security\.deb` + `ian\.org|registry-1\.dock` + `er\.io|nodeso` + `urce\.com`)

func TestNoForeignPaths(t *testing.T) {
	t.Parallel()
	tr := load(t)
	var problems []string
	for _, name := range tr.files {
		if text := tr.read(t, name); utf8.ValidString(text) {
			problems = append(problems, foreignPaths(name, text)...)
		}
	}
	report(t, problems, "name no folder of one machine and no registry (npm: set omit-lockfile-registry-resolved)")
}

func TestForeignPathsRule(t *testing.T) {
	t.Parallel()
	mustFind(t, foreignPaths("a", "see /wor"+"k/main\nand https://py"+"pi.org/x\nand /roo"+"t/.cache"), 3)
	mustFind(t, foreignPaths("a", "./work/x\n~/root/y\nnetwork/abc\ngoogle.golang.org/grpc\n"), 0)
}

func foreignPaths(name, text string) []string {
	var problems []string
	for i, line := range strings.Split(text, "\n") {
		if m := foreign.FindString(line); m != "" {
			problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, m))
		}
	}
	return problems
}

// link matches an inline link or image of Markdown.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksResolve(t *testing.T) {
	t.Parallel()
	tr := load(t)
	texts := map[string]string{}
	for _, name := range tr.files {
		if strings.HasSuffix(name, ".md") && !strings.Contains(name, "testdata/") {
			texts[name] = tr.read(t, name)
		}
	}
	report(t, deadLinks(tr.files, texts), "mend these links")
}

func TestLinksRule(t *testing.T) {
	t.Parallel()
	files := []string{"README.md", "docs/a.md", "task/doc.go"}
	texts := map[string]string{
		"README.md": "# Hello, `you`\n[a](docs/a.md) [b](docs/b.md) [c](https://example.com) [d](#hello-you) [e](#bye) [f](docs/) [g](docs/a.md#part-two)",
		"docs/a.md": "# A\n## Part two\n[r](../README.md#hello-you) [t](../task/doc.go) [u](../README.md#no)\n```\n[x](y)\n```\n",
	}
	mustFind(t, deadLinks(files, texts), 3)
}

// deadLinks returns the relative links in texts (by file name) without a target.
func deadLinks(files []string, texts map[string]string) []string {
	var problems []string
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(withoutCode(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			goal := name
			if target != "" {
				goal = path.Join(path.Dir(name), target)
			}
			if !exists(files, goal) || anchor != "" && !slices.Contains(anchors(texts[goal]), anchor) {
				problems = append(problems, name+": "+m[1])
			}
		}
	}
	return problems
}

// exists reports whether name is a file or a folder of files.
func exists(files []string, name string) bool {
	return slices.ContainsFunc(files, func(f string) bool { return f == name || strings.HasPrefix(f, name+"/") })
}

// withoutCode removes the fenced blocks of a Markdown text.
func withoutCode(text string) string {
	var kept []string
	for i, block := range strings.Split(text, "\n```") {
		if i%2 == 0 {
			kept = append(kept, block)
		}
	}
	return strings.Join(kept, "\n")
}

var notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors returns the anchors of the headings of a Markdown text.
func anchors(text string) []string {
	var slugs []string
	for line := range strings.Lines(withoutCode(text)) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			slug := notSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			slugs = append(slugs, strings.ReplaceAll(slug, " ", "-"))
		}
	}
	return slugs
}
