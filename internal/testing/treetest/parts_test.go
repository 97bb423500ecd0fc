package treetest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

const partsFolder = "internal/parts/"

// mayNameParts are files and folders, beside the part's own folder, that may name a part: the lists of
// parts, of which hub.go has that of embedders, tests of the whole program, documentation, and the schemas
// of the whole program.
var mayNameParts = []string{
	partsFolder, "internal/registry/known.go", "cmd/parley/parts.go", "hub.go", "internal/testing/", "internal/e2e/interop/", "internal/e2e/strangers/table.md", "internal/e2e/threats.md",
	"internal/cli/testdata/", "internal/cli/secrets_test.go",
	"docs/", "CHANGELOG.md", "README.md", "CONTRIBUTING.md", "cmd/bench/RESULTS.md", "deploy/helm/parley/values.schema.json", "internal/mock/schema/mock.schema.json",
}

// stillNamed are further files that name a part.
var stillNamed = map[string][]string{
	"promptkit": {
		"internal/dialect/testdata/rapid/", // names of tests, which have those of the dialects
	},
	"rockbot": {
		"internal/directory/spec.go",   // stored names
		"internal/llm/guard/testdata/", // texts of real agents
	},
}

// TestCoreNamesNoPart: a feature that registers itself has no name elsewhere.
func TestCoreNamesNoPart(t *testing.T) {
	t.Parallel()
	tr := load(t)
	names := partsIn(tr.files)
	if len(names) == 0 {
		t.Fatal("there are no parts; the rule reads another folder")
	}
	var problems []string
	for _, file := range tr.files {
		if !slices.ContainsFunc(mayNameParts, func(p string) bool { return strings.HasPrefix(file, p) }) {
			elsewhere := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return slices.ContainsFunc(stillNamed[name], func(p string) bool { return strings.HasPrefix(file, p) })
			})
			problems = append(problems, partsNamed(file, tr.read(t, file), elsewhere)...)
		}
	}
	report(t, problems, "let the part add it, or name the concept instead of the system")
}

func TestCoreNamesNoPartRule(t *testing.T) {
	t.Parallel()
	names := partsIn([]string{"internal/parts/parts.go", "internal/parts/other/part.go", "internal/parts/other/keys.go", "internal/x.go"})
	if !slices.Equal(names, []string{"other"}) {
		t.Fatalf("parts = %q", names)
	}
	mustFind(t, partsNamed("a/a.go", "package a\n\n// As Other's server does.\n", names), 1)
	mustFind(t, partsNamed("a/other_test.go", "package a\n", names), 1)
	mustFind(t, partsNamed("a/a.go", "package a // another one\n", names), 0)
	mustFind(t, partsNamed("parley", "\x7fELF\x00other", names), 0)
}

// partsIn returns the names of the parts that have files.
func partsIn(files []string) []string {
	var names []string
	for _, file := range files {
		if rest, ok := strings.CutPrefix(file, partsFolder); ok {
			if name, _, ok := strings.Cut(rest, "/"); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// partsNamed reports the parts that the name or the text of a file names.
func partsNamed(file, text string, names []string) []string {
	if strings.Contains(text, "\x00") {
		return nil // a program, such as that of the README's first command
	}
	var problems []string
	for i, line := range strings.Split(path.Base(file)+"\n"+text, "\n") {
		line = strings.ToLower(line)
		for _, name := range names {
			at := strings.Index(line, name)
			if at >= 0 && (at == 0 || line[at-1] < 'a' || line[at-1] > 'z') {
				problems = append(problems, fmt.Sprintf("%s:%d names the part %s", file, i, name))
			}
		}
	}
	return problems
}
