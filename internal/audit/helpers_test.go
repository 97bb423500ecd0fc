package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testKey is the key of the logs in tests.
var testKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// openTest opens a log in a folder.
func openTest(t testing.TB, o Options) *Log {
	t.Helper()
	if o.Key == nil {
		o.Key = testKey
	}
	l, err := Open(o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// added returns an entry for tests.
func added(n int) *Record {
	return &Record{
		Actor:  Actor{ID: "ann", Owner: "org:acme", Auth: "key:k1", From: "192.0.2.1:4000"},
		Action: KeyAdd, Subject: Subject{Kind: "key", ID: fmt.Sprint("k", n)}, Detail: []Field{{"n", fmt.Sprint(n)}},
	}
}

// write writes a log with n entries, closes it, and returns its folder.
func write(t testing.TB, n int, o Options) string {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "audit")
	}
	l := openTest(t, o)
	for i := range n {
		if err := l.Append(added(i)); err != nil {
			t.Fatalf("Append: %v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return o.Dir
}

// check verifies a log.
func check(t testing.TB, dir string, c Check) *Report {
	t.Helper()
	rep, err := Verify(dir, c)
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return rep
}

// sound verifies a log and fails the test on a problem.
func sound(t testing.TB, dir string) *Report {
	t.Helper()
	rep := check(t, dir, Check{Key: testKey.Public().(ed25519.PublicKey)})
	if len(rep.Problems) > 0 {
		t.Fatalf("Verify(%s) found %s", dir, list(rep.Problems))
	}
	return rep
}

func list(all []Problem) string {
	var b strings.Builder
	for i := range all {
		fmt.Fprintf(&b, "\n\t%s [%s]", all[i].String(), all[i].Kind)
	}
	return b.String()
}

// only returns the path of the single segment of a log.
func only(t testing.TB, dir string) string {
	t.Helper()
	all, err := segments(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("segments = %v, %v, want one", all, err)
	}
	return all[0].path
}

func text(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// entries returns all entries of a log.
func entries(t testing.TB, dir string, q Query) []Entry {
	t.Helper()
	var all []Entry
	for line, err := range Read(t.Context(), dir, q, 0) {
		if err != nil {
			t.Fatalf("Read: %v", err)
		}
		all = append(all, line.Entry)
	}
	return all
}

func hashOf(body string) Hash { return sha256.Sum256([]byte(body)) }
