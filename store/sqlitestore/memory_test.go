package sqlitestore

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/testing/suite/memorytest"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	memorytest.TestNotes(t, func(t *testing.T) memory.Store { return newTest(t).Notes() })
}

func TestTurns(t *testing.T) {
	t.Parallel()
	memorytest.TestTurns(t, func(t *testing.T) memory.TurnStore { return newTest(t).Turns() })
}

func TestMemorySurvivesReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := memory.SessionOf("o", "c", "")
	notes, turns := &memory.Notes{Store: db.Notes()}, &memory.Turns{Store: db.Turns()}
	if _, err := notes.Set(t.Context(), &memory.Set{Owner: "o", Key: "a/b/c", Value: "kept", Tags: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	if err := turns.Append(t.Context(), s, memory.Turn{ID: "1", Text: "said", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	notes, turns = &memory.Notes{Store: db.Notes()}, &memory.Turns{Store: db.Turns()}
	if n, err := notes.Get(t.Context(), "o", "a/b/c"); n.Value != "kept" || err != nil {
		t.Errorf("note of the file opened again = %+v, %v", n, err)
	}
	if got, err := turns.Get(t.Context(), s); len(got) != 1 || got[0].Text != "said" || err != nil {
		t.Errorf("turns of the file opened again = %+v, %v", got, err)
	}
}
