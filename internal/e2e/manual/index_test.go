package manual

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manualPages returns the pages below docs by their paths from there.
func manualPages(t *testing.T) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(docs, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			name, relErr := filepath.Rel(docs, path)
			pages = append(pages, filepath.ToSlash(name))
			return relErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// target matches the file of a link in Markdown.
var target = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

// TestIndex: the index links every page, and the records have an index of their own.
func TestIndex(t *testing.T) {
	t.Parallel()
	for _, missing := range unlinked(manualPages(t), read(t, filepath.Join(docs, "README.md"))) {
		t.Errorf("docs/README.md does not link %s; add it where its reader looks for it", missing)
	}
}

// unlinked returns the pages that an index does not link. Records have their own index.
func unlinked(pages []string, index string) []string {
	linked := []string{"README.md"}
	for _, m := range target.FindAllStringSubmatch(index, -1) {
		linked = append(linked, m[1])
	}
	return slices.DeleteFunc(slices.Clone(pages), func(p string) bool {
		return slices.Contains(linked, p) || strings.HasPrefix(p, "adr/0")
	})
}

func TestIndexRule(t *testing.T) {
	t.Parallel()
	got := unlinked([]string{"README.md", "a.md", "b.md", "adr/0001-x.md", "c/README.md"}, "[a](a.md#x) [c](c.md)")
	if want := []string{"b.md", "c/README.md"}; !slices.Equal(got, want) {
		t.Errorf("unlinked = %v, want %v", got, want)
	}
}
