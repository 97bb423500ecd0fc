package atomicfile_test

import (
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
