package console

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		return same(t, path, want, seen)
	})
	if err == nil {
		var compiled []byte
		compiled, err = pagestest.Compiled(string(sources), functions)
		err = errors.Join(err, same(t, "pages.json", compiled, seen))
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = fs.WalkDir(packed, "packed", func(path string, d fs.DirEntry, _ error) error { // never fails
		if !d.IsDir() && !seen[path] && !*update {
			t.Errorf("%s is of no asset", path)
		}
		return nil
	})
}

// same compares a compressed file with its content, or writes it.
func same(t *testing.T, path string, want []byte, seen map[string]bool) error {
	t.Helper()
	seen["packed/"+path+".gz"] = true
	if *update {
		return pack(path, want)
	}
	b, err := packed.ReadFile("packed/" + path + ".gz")
	if err == nil {
		b, err = unpacked(b)
	}
	if err != nil || !bytes.Equal(b, want) {
		t.Errorf("%s is not what the folder packed has (%v); go test -run TestPacked -update", path, err)
	}
	return nil
}

// pack writes a compressed file.
func pack(name string, content []byte) error {
	path := filepath.Join("packed", name+".gz")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
