package sqlitestore

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/trust"
)

func TestTrustSurvivesReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	at := time.UnixMilli(1_790_000_000_000).UTC()
	want := []trust.Entry{
		{Subject: "ann", Level: trust.Act, Skills: []string{"a", "b"}, FirstSeen: at, LastSeen: at.Add(time.Second), Contacts: 7},
		{Subject: "bob", Level: trust.Observe, Skills: []string{}},
	}
	for range 2 {
		db, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Trust().PutEntries(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		bad := []trust.Entry{{Subject: "eve", Level: trust.Act}, {Subject: "eve", Level: 9}}
		if err := db.Trust().PutEntries(t.Context(), bad); !errors.Is(err, trust.ErrInvalid) {
			t.Errorf("invalid level: %v, want ErrInvalid", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if db, err = Open(path, Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := db.Trust().Entries(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("entries of the file opened again: %v (-want +got):\n%s", err, diff)
		}
		want[1].Level = trust.Propose
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
