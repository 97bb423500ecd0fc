package treetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// samples are the files shown in README.md, with the language of their code block.
var samples = map[string]string{
	"examples/hello/main.go": "go",
}

func TestSamplesAreFiles(t *testing.T) {
	t.Parallel()
	tr := load(t)
	files := map[string][]string{}
	for name, language := range samples {
		files[language] = append(files[language], tr.read(t, name))
	}
	report(t, strangers(tr.read(t, "README.md"), files), "README.md shows files of examples byte for byte, so that every sample compiles; copy the file")
}

func TestSampleConfigurationLoads(t *testing.T) {
	t.Parallel()
	const name = "examples/hello/parley.yaml"
	src := load(t).read(t, name)
	c, err := config.Parse(name, []byte(src), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Agents) != 1 || c.Agents[0].Name != "shout" || !c.Agents[0].Idempotent {
		t.Errorf("Parse(%s) = %+v, want the idempotent agent shout", name, c.Agents)
	}
}

func TestSamplesRule(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"go": {"package main\n"}}
	mustFind(t, strangers("text\n```go\npackage main\n```\n```sh\nls\n```\n", files), 0)
	mustFind(t, strangers("text\n```go\npackage main\n\n```\n", files), 2)
	mustFind(t, strangers("text\n", files), 1)
}

// strangers returns the code blocks of readme, in the languages of files, that match no file,
// and the files that match no block.
func strangers(readme string, files map[string][]string) []string {
	var problems []string
	for language, texts := range files {
		blocks := fenced(readme, language)
		for _, b := range blocks {
			if !slices.Contains(texts, b) {
				problems = append(problems, "a block is no file: "+b)
			}
		}
		for _, f := range texts {
			if !slices.Contains(blocks, f) {
				problems = append(problems, "a file is no block: "+f)
			}
		}
	}
	return problems
}

// fenced returns the code blocks of a Markdown text in a language.
func fenced(text, language string) []string {
	var blocks []string
	for {
		_, rest, ok := strings.Cut(text, "\n```"+language+"\n")
		if !ok {
			return blocks
		}
		block, after, _ := strings.Cut(rest, "\n```\n")
		blocks = append(blocks, block+"\n")
		text = "\n" + after
	}
}
