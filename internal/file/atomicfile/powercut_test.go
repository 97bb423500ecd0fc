package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/testing/powercut"
)

// TestPowerCut: a file that was replaced has the new text after a power cut, and the name of a
// new one is kept.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path, text string) error{
		"Replace": func(path, text string) error { return atomicfile.Replace(path, []byte(text), 0o600) },
		"CreatePrivate": func(path, text string) error {
			return atomicfile.CreatePrivate(path, []byte(text))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			disk := powercut.Watch(t, dir)
			for _, text := range []string{"first", "second"} {
				if err := replace(filepath.Join(dir, "a"), text); err != nil {
					t.Fatal(err)
				}
				left := disk.Cut(t)
				if got, err := os.ReadFile(filepath.Join(left, "a")); err != nil || string(got) != text {
					t.Errorf("after a power cut the file has %q, %v, want %q", got, err, text)
				}
				wantNames(t, left, "a")
			}
		})
	}
}

// TestSyncAsksTheSystem syncs files that the system cannot sync: a simulated disk does not know
// whether it was asked.
func TestSyncAsksTheSystem(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := atomicfile.Sync(w); err == nil {
		t.Error("Sync of a pipe succeeds: the system was not asked")
	}
	closed, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Sync(closed); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Sync of a closed file = %v, want ErrClosed", err)
	}
}
