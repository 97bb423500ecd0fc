package packed_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/parley-a2a/parley/internal/file/packed"
)

func TestFile(t *testing.T) {
	t.Parallel()
	want := bytes.Repeat([]byte("text "), 1000)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	read := packed.File(b.Bytes())
	got := read()
	if !bytes.Equal(got, want) {
		t.Errorf("File = %d bytes, want %d", len(got), len(want))
	}
	if again := read(); &again[0] != &got[0] {
		t.Error("File decompresses more than once")
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a damaged file was read")
		}
	}()
	packed.File([]byte("no gzip"))()
}
