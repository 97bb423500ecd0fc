package tasktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

var journalTests = []storeTest{
	{"JournalKeep", testJournalKeep},
	{"JournalPages", testJournalPages},
	{"JournalConflict", testJournalConflict},
	{"JournalForget", testJournalForget},
	{"JournalSweep", testJournalSweep},
}

// noting adds records to a change, numbered from first.
func noting(c *task.Change, first int64, records ...string) *task.Change {
	for i, r := range records {
		c.Journal = append(c.Journal, task.Record{Number: first + int64(i), Data: []byte(r)})
	}
	return c
}

// note stores a change with records, whose bytes are reused afterwards.
func note(t *testing.T, s task.Log, c *task.Change) task.Head {
	t.Helper()
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with %d records = %v", len(c.Journal), err)
	}
	for _, r := range c.Journal {
		clear(r.Data)
	}
	return c.Next
}

// journal returns all records of a task.
func journal(t *testing.T, s task.Journals, key task.Key) (all []string) {
	t.Helper()
	for after := int64(0); ; {
		page, err := s.Journal(t.Context(), key, after)
		if err != nil {
			t.Fatalf("Journal(%d, %d) = %v", key, after, err)
		}
		if len(page) == 0 {
			return all
		}
		for _, r := range page {
			if r.Number != after+1 {
				t.Fatalf("record %d follows record %d", r.Number, after)
			}
			after = r.Number
			all = append(all, string(r.Data))
			clear(r.Data)
		}
	}
}

func wantJournal(t *testing.T, s task.Journals, key task.Key, want ...string) {
	t.Helper()
	if d := diff(want, journal(t, s, key)); d != "" {
		t.Errorf("journal of task %d mismatch (-want +got):\n%s", key, d)
	}
}

// testJournalKeep adds records with a new task, with entries, alone and repeatedly.
func testJournalKeep(t *testing.T, s task.Store) {
	h := note(t, s, noting(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), 1, "one"))
	wantJournal(t, s, h.Key, "one")
	wantJournal(t, s, h.Key, "one")
	h = note(t, s, noting(Step(t, h, Chunk(At(2), "a", "word")), 2, "two\x00\xff", "three"))
	h = note(t, s, noting(Step(t, h), 3, "three, repeated", "four"))
	other := note(t, s, noting(Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), 1, "other"))
	wantJournal(t, s, h.Key, "one", "two\x00\xff", "three", "four")
	wantJournal(t, s, other.Key, "other")
	h = note(t, s, noting(Step(t, h, Status(At(3), task.Completed, "")), 5, "five"))
	wantJournal(t, s, h.Key, "one", "two\x00\xff", "three", "four", "five")
	if got := len(Log(t, s, h.Key)); got != 3 {
		t.Errorf("the log has %d entries, want 3", got)
	}
	wantJournal(t, s, h.Key+100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Journal(ctx, h.Key, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Journal = %v, want the cause", err)
	}
}

// testJournalPages reads a journal that is longer than a page, in number and in bytes.
func testJournalPages(t *testing.T, s task.Store) {
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprint("small ", i))
	}
	h = note(t, s, noting(Step(t, h), 1, want...))
	for i := range 4 {
		large := string(bytes.Repeat([]byte{'a' + byte(i)}, 700<<10))
		h = note(t, s, noting(Step(t, h), int64(len(want))+1, large))
		want = append(want, large)
	}
	wantJournal(t, s, h.Key, want...)
	for after, most := range map[int64]int{0: 256, 300: 2} {
		if page, err := s.Journal(t.Context(), h.Key, after); err != nil || len(page) > most || len(page) == 0 {
			t.Errorf("Journal after %d has %d records, %v, want at most %d", after, len(page), err, most)
		}
	}
}

// testJournalConflict: a change that is not stored adds no records, and empties no journal.
func testJournalConflict(t *testing.T, s task.Store) {
	old := note(t, s, noting(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), 1, "one"))
	now := Append(t, s, old, Status(At(1), task.Working, ""))
	lost := noting(Step(t, old, FollowUp(At(2), "more")), 2, "two")
	lost.Forget = true
	if err := s.Append(t.Context(), lost); !errors.Is(err, task.ErrConflict) {
		t.Errorf("Append from an old head = %v, want ErrConflict", err)
	}
	wantJournal(t, s, now.Key, "one")
}

// testJournalForget empties a journal, and starts a new one in the same change.
func testJournalForget(t *testing.T, s task.Store) {
	h := note(t, s, noting(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), 1, "one", "two"))
	other := note(t, s, noting(Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), 1, "other"))
	c := noting(Step(t, h), 1, "anew")
	c.Forget = true
	h = note(t, s, c)
	wantJournal(t, s, h.Key, "anew")
	c = Step(t, h)
	c.Forget = true
	h = note(t, s, c)
	wantJournal(t, s, h.Key)
	wantJournal(t, s, other.Key, "other")
}

// testJournalSweep: journals are deleted with their tasks.
func testJournalSweep(t *testing.T, s task.Store) {
	h := note(t, s, noting(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), 1, "one"))
	Append(t, s, h, Status(At(1), task.Completed, ""))
	other := note(t, s, noting(Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), 1, "two"))
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantJournal(t, s, h.Key)
	wantJournal(t, s, other.Key, "two")
}
