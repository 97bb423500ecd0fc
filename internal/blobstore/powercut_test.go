package blobstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/testing/powercut"
)

// stored is a part that must survive a power cut.
type stored struct {
	key  blobstore.Key
	part blobstore.Part
	text string
}

// TestPowerCut: a part is on disk when Put has returned, also if it is the second one of its
// owner, and so is the reference of a task that Link has added.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "parts"))
	disk := powercut.Watch(t, dir)
	a, b := blobstore.Key{Owner: "ann", Task: "a"}, blobstore.Key{Owner: "ann", Task: "b"}
	var want []stored
	wantParts := func(when string) {
		t.Helper()
		left := openStore(t, filepath.Join(disk.Cut(t), "parts"))
		for _, w := range want {
			if got, err := read(t, left, w.key, w.part.Digest); err != nil || got != w.text {
				t.Errorf("after %s and a power cut, task %s has %q, %v, want %q", when, w.key.Task, got, err, w.text)
			}
		}
	}
	first := put(t, s, a, "the first part")
	want = append(want, stored{a, first, "the first part"})
	wantParts("the first Put")
	want = append(want, stored{a, put(t, s, a, "another one"), "another one"})
	wantParts("the second Put")
	linked, err := s.Link(b, a.Task, first.Digest)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, stored{b, linked, "the first part"})
	wantParts("Link")
	s.Keep(a, first.Digest)
	wantParts("Keep")
}

// TestPowerCutOfANewStore: the folders that Open creates outlive a power cut, at every depth, and
// with them the first part.
func TestPowerCutOfANewStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := powercut.Watch(t, dir)
	path := filepath.Join("below", "data", "parts")
	s := openStore(t, filepath.Join(dir, path))
	for _, folder := range []string{path, filepath.Join(path, "owners")} {
		if _, err := os.Stat(filepath.Join(disk.Cut(t), folder)); err != nil {
			t.Errorf("after Open and a power cut: %v", err)
		}
	}
	k := blobstore.Key{Owner: "ann", Task: "a"}
	p := put(t, s, k, "text")
	left := openStore(t, filepath.Join(disk.Cut(t), path))
	if got, err := read(t, left, k, p.Digest); err != nil || got != "text" {
		t.Errorf("after a power cut the part is %q, %v", got, err)
	}
}

// TestPowerCutAfterALostFile: a part whose file was lost is on disk when it was put again,
// although its reference is not written again.
func TestPowerCutAfterALostFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "parts"))
	k := blobstore.Key{Owner: "ann", Task: "a"}
	p := put(t, s, k, "text")
	found, err := filepath.Glob(filepath.Join(dir, "parts/owners/*/*/content"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files of contents: %v, %v", found, err)
	}
	if err := errors.Join(os.Remove(found[0]), atomicfile.SyncFolder(filepath.Dir(found[0]))); err != nil {
		t.Fatal(err)
	}
	disk := powercut.Watch(t, dir)
	put(t, s, k, "text")
	left := openStore(t, filepath.Join(disk.Cut(t), "parts"))
	if got, err := read(t, left, k, p.Digest); err != nil || got != "text" {
		t.Errorf("after a power cut the part is %q, %v", got, err)
	}
}
