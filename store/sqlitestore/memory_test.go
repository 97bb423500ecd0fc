package sqlitestore

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/testing/suite/memorytest"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/task"
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

var qMarksLeft = prepared("SELECT count(*) FROM marks")

// TestMarksAreSwept: a deleted task leaves no mark behind.
func TestMarksAreSwept(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	c := tasktest.Step(t, tasktest.NewHead("anna", "t1"), tasktest.Created(tasktest.At(0), "hello"))
	c.Mark = []byte("mark")
	if err := db.Tasks().Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	tasktest.Append(t, db.Tasks(), c.Next, tasktest.Status(tasktest.At(1), task.Completed, ""))
	if n, err := db.Tasks().Sweep(t.Context(), tasktest.At(1000), 9); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v", n, err)
	}
	err := db.read(t.Context(), func(c *conn) error {
		s := c.start(qMarksLeft)
		n, err := s.only()
		if n != 0 {
			t.Errorf("%d marks are left", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
