package blobstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/blobstore"
)

// TestExamineAndSalvage damages parts in several ways. Examine finds each, and Salvage copies the
// others.
func TestExamineAndSalvage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, folder string)
		text  string
	}{
		"whole":             {nil, ""},
		"content damaged":   {func(t *testing.T, folder string) { spoil(t, filepath.Join(folder, "content")) }, "its digest does not match"},
		"content missing":   {func(t *testing.T, folder string) { removeFile(t, filepath.Join(folder, "content")) }, "the content is missing"},
		"reference damaged": {func(t *testing.T, folder string) { spoil(t, refOf(t, folder)) }, "is damaged"},
		"reference of another": {func(t *testing.T, folder string) {
			if err := os.WriteFile(refOf(t, folder), []byte(`{"owner":"eve","task":"x"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "does not match this content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openStore(t, dir)
			k := blobstore.Key{Owner: "ann", Task: "a"}
			first, other := put(t, s, k, "first"), put(t, s, k, "other")
			want := 2
			if tt.spoil != nil {
				found, err := filepath.Glob(filepath.Join(dir, "owners", "*", first.Digest.String()))
				if err != nil || len(found) != 1 {
					t.Fatalf("folders of the part: %q, %v", found, err)
				}
				tt.spoil(t, found[0])
				want = 1
			}
			var problems []string
			report := func(p string) { problems = append(problems, p) }
			if _, err := blobstore.Examine(t.Context(), dir, report); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(problems, "\n"); (got == "") != (tt.text == "") || !strings.Contains(got, tt.text) {
				t.Errorf("Examine reports %q, want %q", got, tt.text)
			}
			to := filepath.Join(t.TempDir(), "parts")
			n, err := blobstore.Salvage(t.Context(), dir, to, report)
			if err != nil || n != want {
				t.Errorf("Salvage = %d, %v, want %d", n, err, want)
			}
			left := openStore(t, to)
			if got, err := read(t, left, k, other.Digest); err != nil || got != "other" {
				t.Errorf("the intact part is %q, %v", got, err)
			}
			if _, contents := left.Len(); contents != want {
				t.Errorf("%d contents were saved, want %d", contents, want)
			}
		})
	}
}

func spoil(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("{damage"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func removeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func refOf(t *testing.T, folder string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*.new"))
	if err != nil || len(found) != 1 {
		t.Fatalf("references: %q, %v", found, err)
	}
	return found[0]
}
