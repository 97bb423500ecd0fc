package rows

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// A seed is made once, and later runs get the same file.
func TestSeed(t *testing.T) {
	t.Parallel()
	b := &Bench{Work: t.TempDir(), Log: t.Logf}
	var made [2]os.FileInfo
	for i := range made {
		dir, err := b.seed(context.Background(), 100)
		if err != nil {
			t.Fatal(err)
		}
		if made[i], err = os.Stat(filepath.Join(dir, "parley.db")); err != nil {
			t.Fatal(err)
		}
	}
	if !os.SameFile(made[0], made[1]) {
		t.Error("the second run made another file")
	}
	if err := warm(filepath.Join(b.Work, "missing")); err == nil {
		t.Error("a missing file is warm")
	}
}
