package config_test

import (
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// keysOf adds the keys of a struct to all, with the prefix of their section.
func keysOf(all map[string]bool, section string, t reflect.Type) {
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key != "" {
			all[section+"."+key] = true
		}
	}
}

// testNames returns the names of all tests of the tree.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := make(map[string]bool), regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// The tables of docs/limits.md have a row for each key of limits, engine and delegation, name
// existing keys only, and a test that exists for each of them.
func TestManualOfLimits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	required, known := make(map[string]bool), make(map[string]bool)
	keysOf(required, "limits", reflect.TypeFor[config.Limits]())
	delete(required, "limits.half_open") // without effect
	keysOf(required, "engine", reflect.TypeFor[config.Engine]())
	keysOf(required, "delegation", reflect.TypeFor[config.Delegation]())
	keysOf(known, "parts", reflect.TypeFor[config.Parts]())
	keysOf(known, "push", reflect.TypeFor[config.Push]())
	keysOf(known, "audit", reflect.TypeFor[config.Audit]())
	keysOf(known, "memory", reflect.TypeFor[config.Memory]())
	names, quoted := testNames(t), regexp.MustCompile("`(Test\\w+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|(.*)\\|(.*)\\|(.*)\\|$").FindAllStringSubmatch(string(page), -1) {
		key, tests := row[1], quoted.FindAllStringSubmatch(row[4], -1)
		if !required[key] && !known[key] {
			t.Errorf("docs/limits.md has %s, which is no key of the configuration, or has it twice", key)
		}
		delete(required, key)
		delete(known, key)
		if len(tests) == 0 {
			t.Errorf("docs/limits.md names no test of %s", key)
		}
		for _, m := range tests {
			if !names[m[1]] {
				t.Errorf("docs/limits.md names %s for %s; there is no such test", m[1], key)
			}
		}
	}
	for key := range required {
		t.Errorf("docs/limits.md has no row for %s", key)
	}
}
