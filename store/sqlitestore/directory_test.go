package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/testing/suite/dirstoretest"
)

func TestAgentStore(t *testing.T) {
	t.Parallel()
	dirstoretest.Test(t, func(t *testing.T) dirstoretest.AgentStore { return newTest(t).AgentStore() })
}

func TestAgentStoreSurvivesReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := card.Record{Name: "a", Spec: []byte("{}"), Card: []byte("{}"), CardURL: "u"}
	if err := db.AgentStore().PutRecord(t.Context(), &want); err != nil {
		t.Fatal(err)
	}
	if err := db.AgentStore().PutNote(t.Context(), "n", []byte("note")); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := db.AgentStore().Records(t.Context())
	if diff := cmp.Diff([]card.Record{want}, got); diff != "" || err != nil {
		t.Errorf("records of the file opened again: %v (-want +got):\n%s", err, diff)
	}
	if note, err := db.AgentStore().Note(t.Context(), "n"); string(note) != "note" || err != nil {
		t.Errorf("note of the file opened again = %q, %v", note, err)
	}
}
