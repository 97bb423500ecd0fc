package cli

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// olderData returns a data folder of a hub of an earlier version.
func olderData(t *testing.T) string {
	t.Helper()
	packed, err := os.Open(filepath.FromSlash("../../store/sqlitestore/testdata/layout10.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	store, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, server.StoreName), store, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestUpgradeCheck: the command lists the changes of the first start, changes nothing, and fails if the start would,
// or if a key has to be changed by hand.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	dir, file := olderData(t), filepath.Join(t.TempDir(), "parley.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(code int, want ...string) {
		t.Helper()
		got, out, errs := invoke(t, OS{}, "upgrade", "--check", "--data", dir, "--config", file)
		for _, w := range want {
			if !strings.Contains(out+errs, w) {
				t.Errorf("no %q in:\n%s%s", w, out, errs)
			}
		}
		if got != code {
			t.Errorf("exit code %d, want %d:\n%s%s", got, code, out, errs)
		}
	}
	write("agents: [{name: far, queue: far}]\n")
	store := filepath.Join(dir, server.StoreName)
	before, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	check(exitOK, " migrations: 0011_sidecars.sql, 0012_timeline.sql, ", "back up first", "workers of version 2")
	left, err := os.ReadDir(dir)
	if after, failed := os.ReadFile(store); failed != nil || err != nil || len(left) != 1 || string(after) != string(before) {
		t.Errorf("the folder has changed: %v, %v, %v", left, err, failed)
	}
	write("safety: {words_of_others: redact}\n")
	check(exitFailed, "weak", file+": safety.words_of_others has a new name; write safety: {untrusted_text: redact}", "1 thing to do")
	write("listne: 127.0.0.1:1\n")
	check(exitFailed, "wrong", "did you mean listen?")

	write("{}\n")
	db, err := sqlitestore.Open(store, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(exitOK, "no migrations", file+" is valid") // while a hub uses the file
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	newer, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	newer[63] = 99 // the last byte of user_version
	if err := os.WriteFile(store, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	check(exitFailed, "wrong", "layout 99, this one knows")
	dir = filepath.Join(dir, "none")
	check(exitOK, "has no data of a hub")
	if code, _, errs := invoke(t, OS{}, "upgrade"); code != exitUsage || !strings.Contains(errs, "give --check") {
		t.Errorf("without --check: %d, %s", code, errs)
	}
}
