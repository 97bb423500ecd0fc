package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		at, text string
		mode     fs.FileMode
	}{
		{path, "first", 0o600}, {path, "", 0o644}, {link, "through the link", 0o640},
	} {
		if err := atomicfile.Replace(step.at, []byte(step.text), step.mode); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != step.text {
			t.Errorf("text = %q, %v, want %q", got, err, step.text)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != step.mode {
			t.Errorf("mode = %v, %v, want %v", info.Mode(), err, step.mode)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	wantNames(t, dir, "a.json", "link")
}

// A file that cannot be replaced is unchanged, and no temporary file remains.
func TestReplaceRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "by a folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{taken, filepath.Join(dir, "gone", "a.json")} {
		err := atomicfile.Replace(path, []byte("text"), 0o600)
		if err == nil || !strings.Contains(err.Error(), "write "+path) {
			t.Errorf("Replace(%s) = %v, want an error with its path", path, err)
		}
	}
	wantNames(t, dir, "taken")
}

// Readers see only complete texts during concurrent writes.
func TestReplaceAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	text := func(c string) []byte { return []byte(strings.Repeat(c, 64<<10)) }
	if err := atomicfile.Replace(path, text("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, c := range []string{"b", "c"} {
		wg.Go(func() {
			for range 20 {
				if err := atomicfile.Replace(path, text(c), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		got, err := os.ReadFile(path)
		if err != nil || len(got) != 64<<10 || strings.Trim(string(got), string(got[:1])) != "" {
			t.Errorf("read %d bytes, %v, want a whole text", len(got), err)
		}
	}
	wg.Wait()
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
