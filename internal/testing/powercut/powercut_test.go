package powercut_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/testing/powercut"
)

// folder is a watched folder with the file "old".
type folder struct {
	t    *testing.T
	path string
	disk *powercut.Disk
}

func watched(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, path: t.TempDir()}
	f.write("old", "old")
	f.disk = powercut.Watch(t, f.path)
	return f
}

func (f *folder) must(errs ...error) {
	f.t.Helper()
	if err := errors.Join(errs...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) in(name string) string { return filepath.Join(f.path, name) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	f.must(os.WriteFile(f.in(name), []byte(text), 0o600))
}

// sync writes a text and syncs it.
func (f *folder) sync(name, text string) {
	f.t.Helper()
	file, err := os.OpenFile(f.in(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	f.must(err)
	_, err = file.WriteString(text)
	f.must(err, atomicfile.Sync(file), file.Close())
}

func TestCut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(f *folder)
		want map[string]string
	}{
		"nothing": {do: func(*folder) {}, want: map[string]string{"old": "old"}},
		"an overwritten file that is not synced": {
			do: func(f *folder) { f.write("old", "new") }, want: map[string]string{"old": "old"},
		},
		"an overwritten file that is synced": {
			do: func(f *folder) { f.sync("old", "new"); f.write("old", "newer") }, want: map[string]string{"old": "new"},
		},
		"a synced file without its folder": {
			do: func(f *folder) { f.sync("a", "new") }, want: map[string]string{"old": "old"},
		},
		"a folder with a file that is not synced": {
			do:   func(f *folder) { f.write("a", "new"); f.must(atomicfile.SyncFolder(f.path)) },
			want: map[string]string{"old": "old", "a": ""},
		},
		"a synced file in a synced folder": {
			do:   func(f *folder) { f.sync("a", "new"); f.must(atomicfile.SyncFolder(f.path)) },
			want: map[string]string{"old": "old", "a": "new"},
		},
		"a renamed file without its folder": {
			do:   func(f *folder) { f.sync("a", "new"); f.must(os.Rename(f.in("a"), f.in("old"))) },
			want: map[string]string{"old": "old"},
		},
		"a renamed file with its folder": {
			do: func(f *folder) {
				f.sync("a", "new")
				f.must(os.Rename(f.in("a"), f.in("old")), atomicfile.SyncFolder(f.path))
			},
			want: map[string]string{"old": "new"},
		},
		"a removed file without its folder": {
			do: func(f *folder) { f.must(os.Remove(f.in("old"))) }, want: map[string]string{"old": "old"},
		},
		"a removed file with its folder": {
			do:   func(f *folder) { f.must(os.Remove(f.in("old")), atomicfile.SyncFolder(f.path)) },
			want: map[string]string{},
		},
		"a file in a new folder that is not synced": {
			do: func(f *folder) {
				f.must(os.Mkdir(f.in("sub"), 0o700))
				f.sync("sub/a", "new")
				f.must(atomicfile.SyncFolder(f.path))
			},
			want: map[string]string{"old": "old"},
		},
		"a file in a synced folder that is new": {
			do: func(f *folder) {
				f.must(os.Mkdir(f.in("sub"), 0o700))
				f.sync("sub/a", "new")
				f.must(atomicfile.SyncFolder(f.in("sub")), atomicfile.SyncFolder(f.path))
			},
			want: map[string]string{"old": "old", "sub/a": "new"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := watched(t)
			tt.do(f)
			if diff := cmp.Diff(tt.want, texts(t, f.disk.Cut(t))); diff != "" {
				t.Errorf("after a power cut (-want +got):\n%s", diff)
			}
		})
	}
}

// Each disk sees its own folder alone.
func TestTwoDisks(t *testing.T) {
	t.Parallel()
	a, b := watched(t), watched(t)
	a.sync("old", "of a")
	if diff := cmp.Diff(map[string]string{"old": "of a"}, texts(t, a.disk.Cut(t))); diff != "" {
		t.Errorf("the first disk (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"old": "old"}, texts(t, b.disk.Cut(t))); diff != "" {
		t.Errorf("the second disk (-want +got):\n%s", diff)
	}
}

// texts returns the content of all files below a folder.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
