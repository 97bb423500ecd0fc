package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/task"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := db.Keys().Keys(t.Context()); err != nil || len(got) != 0 {
		t.Fatalf("keys of a new file = %v, %v", got, err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	full, _ := auth.NewKey(auth.Principal{
		ID: "ann", DisplayName: "Ann \"A\"", Org: "acme", Roles: []string{"admin", "ops"}, Claims: map[string]string{"k": "v"},
	}, at)
	full.ExpiresAt = at.Add(time.Hour)
	plain, _ := auth.NewKey(auth.Principal{ID: "bob"}, at)
	for _, k := range []*auth.Key{full, plain} {
		if err := db.Keys().PutKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	want := []auth.Key{*full, *plain}
	got, err := db.Keys().Keys(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("keys = %v, mismatch (-want +got):\n%s", err, diff)
	}
	// A changed key keeps its position, even after the file is reopened.
	want[0].RevokedAt = at.Add(time.Minute)
	if err := db.Keys().PutKey(t.Context(), &want[0]); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Keys().Keys(t.Context()); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("keys of a closed file = %v", err)
	}
	if err := db.Keys().PutKey(t.Context(), plain); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("put into a closed file = %v", err)
	}
	if db, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err = db.Keys().Keys(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("keys of the file opened again = %v, mismatch (-want +got):\n%s", err, diff)
	}
}

// A reader of the file, or of its journal, finds no key.
func TestKeysAreHashed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(filepath.Join(dir, "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, text := auth.NewKey(auth.Principal{ID: "ann-the-principal"}, time.Now())
	if err := db.Keys().PutKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	search := func() (found bool) {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if secret := strings.TrimPrefix(text, "pk_"+k.ID+"_"); bytes.Contains(b, []byte(secret[:8])) {
				t.Errorf("%s holds the key", f.Name())
			}
			found = found || bytes.Contains(b, []byte("ann-the-principal"))
		}
		return found
	}
	search()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !search() {
		t.Error("the search does not find the principal, so it proves nothing")
	}
}

func TestKeysOfADamagedRow(t *testing.T) {
	t.Parallel()
	db, err := Open(filepath.Join(t.TempDir(), "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	k, _ := auth.NewKey(auth.Principal{ID: "ann"}, time.Now())
	if err := db.Keys().PutKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	err = db.write(t.Context(), func(w *writer) error { return w.conn.script("UPDATE keys SET principal = '{'") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Keys().Keys(t.Context()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), k.ID) {
		t.Errorf("keys = %v, want %v that names the key", err, ErrDamaged)
	}
}

// A keyring on a file accepts and refuses keys like one in memory.
func TestKeyringOnAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	var text string
	session := func(f func(context.Context, *auth.Keyring)) {
		t.Helper()
		db, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		r := &auth.Keyring{Store: db.Keys()}
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t.Context(), r)
	}
	knows := func(ctx context.Context, r *auth.Keyring) error {
		_, err := r.Authenticate(ctx, &auth.Request{Header: func(name string) []string {
			if name == auth.HeaderKey {
				return []string{text}
			}
			return nil
		}})
		return err
	}
	var id string
	session(func(ctx context.Context, r *auth.Keyring) {
		var k *auth.Key
		k, text = auth.NewKey(auth.Principal{ID: "ann"}, time.Now())
		id = k.ID
		if err := r.Add(ctx, k); err != nil {
			t.Fatal(err)
		}
	})
	session(func(ctx context.Context, r *auth.Keyring) {
		if err := knows(ctx, r); err != nil {
			t.Errorf("after a start: %v", err)
		}
		before, err := r.Revoke(ctx, id, 0)
		if err != nil {
			t.Fatal(err)
		}
		listed := r.List()
		for i := range listed { // the use of a key is not stored
			listed[i].LastUsedAt = before.LastUsedAt
		}
		if diff := cmp.Diff([]auth.Key{before}, listed); diff != "" {
			t.Errorf("keys mismatch (-want +got):\n%s", diff)
		}
	})
	session(func(ctx context.Context, r *auth.Keyring) {
		if err := knows(ctx, r); !errors.Is(err, auth.ErrUnauthenticated) || !r.On() {
			t.Errorf("after the last key was revoked: %v, on %t", err, r.On())
		}
	})
}

// A new file that is only read leaves no journal behind.
func TestNewFileIsClosedClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(filepath.Join(dir, "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Keys().Keys(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 || files[1].Name() != "db-mark" || files[2].Name() != "db-reserve" {
		t.Errorf("files = %v, %v, want the database, its mark and its reserve", files, err)
	}
}
