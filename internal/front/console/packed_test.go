package console

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/file/packed/packedtest"
	"github.com/parley-a2a/parley/internal/front/console/pages/pagestest"
)

var update = flag.Bool("update", false, "compress the assets anew")

// TestPacked compares the compressed files with those of the folder assets. With -update it writes
// them.
func TestPacked(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"packed/uplot/uPlot.iife.min.js.gz": true} // see TestReleased
	var sources []byte
	err := fs.WalkDir(os.DirFS("assets"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := os.ReadFile(filepath.Join("assets", path))
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".html") {
			sources = append(sources, want...)
			return nil
		}
		same(t, path, want, seen)
		return nil
	})
	var compiled []byte
	if err == nil {
		compiled, err = pagestest.Compiled(string(sources), functionsOf(Root))
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, "pages.json", compiled, seen)
	_ = fs.WalkDir(files, "packed", func(path string, d fs.DirEntry, _ error) error { // never fails
		if !d.IsDir() && !seen[path] && !*update {
			t.Errorf("%s is of no asset", path)
		}
		return nil
	})
}

// same compares a compressed file with its content, or writes it.
func same(t *testing.T, name string, want []byte, seen map[string]bool) {
	t.Helper()
	path := "packed/" + name + ".gz"
	seen[path] = true
	packedtest.Same(t, path, want, *update)
}
