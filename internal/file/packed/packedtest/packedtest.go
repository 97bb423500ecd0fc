// Package packedtest keeps the files of package packed like their sources. A test that calls it fails
// for an old file. With a flag of the test, it writes the file; it does so only if the content differs,
// so that the file in the tree does not depend on the version of Go.
package packedtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/file/packed"
)

// Same compares the content of the gzip file path with want. With update it writes the file, unless
// it has that content.
func Same(t *testing.T, path string, want []byte, update bool) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err == nil {
		old, err = packed.Content(old)
	}
	if err == nil && bytes.Equal(old, want) {
		return
	}
	if !update {
		t.Errorf("%s is old (%v); write it with go test -run %s -update", path, err, t.Name())
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, compressed(t, want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); errors.Join(err, w.Close()) != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
