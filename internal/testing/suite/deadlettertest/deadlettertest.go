// Package deadlettertest is the suite that every store of dead letters passes. [Test] runs it
// against empty stores that the caller creates. Third parties may run it against theirs.
//
// # Guarantees
//
// A store that passes keeps the promises of package queue.
//
// # Non-guarantees
//
// The suite does not test durability across the end of a process.
package deadlettertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/task"
)

// Test runs the suite against stores that open creates.
func Test(t *testing.T, open func(t *testing.T) queue.LetterStore) {
	for name, f := range map[string]func(*testing.T, queue.LetterStore){
		"letters": testLetters, "pages": testPages, "drop": testDrop, "sweep": testSweep, "together": testTogether,
		"ended context": testEndedContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t))
		})
	}
}

func at(s int) time.Time {
	return time.UnixMilli(1_790_000_000_000).UTC().Add(time.Duration(s) * time.Second)
}

// letter returns the letter number n of size bytes.
func letter(n, size int) *queue.Letter {
	text := fmt.Sprintf(`{"n":%d,"pad":"`, n)
	text += strings.Repeat("x", max(0, size-len(text)-2)) + `"}`
	return &queue.Letter{
		ID: queue.LetterID(fmt.Sprint("l", n)), Queue: "agent.task.a", Reason: "Ä reason", At: at(n), Type: "job.work",
		Source: "hub/h", Task: fmt.Sprint("t", n%2), Owner: "ann", Envelope: []byte(text), Size: len(text),
	}
}

func put(t *testing.T, b queue.LetterStore, ls ...*queue.Letter) {
	t.Helper()
	for _, l := range ls {
		if err := b.PutLetter(t.Context(), l); err != nil {
			t.Fatalf("PutLetter(%s) = %v", l.ID, err)
		}
	}
}

// wantIDs fails the test unless a query finds exactly the letters.
func wantIDs(t *testing.T, b queue.LetterStore, q queue.LetterQuery, want ...queue.LetterID) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	found, err := b.Letters(t.Context(), &q)
	if err != nil {
		t.Fatalf("Letters(%+v) = %v", q, err)
	}
	var got []queue.LetterID
	for i := range found {
		if found[i].Envelope != nil {
			t.Errorf("letter %s of a list has its envelope", found[i].ID)
		}
		got = append(got, found[i].ID)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Letters(%+v) mismatch (-want +got):\n%s", q, d)
	}
}

func testLetters(t *testing.T, b queue.LetterStore) {
	wantIDs(t, b, queue.LetterQuery{})
	one, two := letter(1, 100), &queue.Letter{ID: "bare", At: at(2), Envelope: []byte("{}"), Size: 2}
	put(t, b, one, two)
	again := letter(1, 50)
	put(t, b, again) // nothing changes
	for _, want := range []*queue.Letter{one, two} {
		got, err := b.Letter(t.Context(), want.ID)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("Letter(%s): %v, mismatch (-want +got):\n%s", want.ID, err, d)
		}
	}
	wantIDs(t, b, queue.LetterQuery{}, "bare", "l1")
	if got, err := b.Letter(t.Context(), "nothing"); !errors.Is(err, queue.ErrNoLetter) {
		t.Errorf("Letter of nothing = %v, %v", got, err)
	}
	one.Envelope[0] = '!'
	if got, err := b.Letter(t.Context(), "l1"); err != nil || got.Envelope[0] != '{' {
		t.Errorf("the book shares memory with its caller: %q, %v", got.Envelope, err)
	}
}

func testPages(t *testing.T, b queue.LetterStore) {
	for n := range 6 {
		put(t, b, letter(n, 60))
	}
	other := letter(6, 60)
	other.Queue = "agent.task.b"
	put(t, b, other)
	if c, ok := b.(queue.LetterCounter); ok {
		if n, err := c.CountLetters(t.Context()); n != 7 || err != nil {
			t.Errorf("CountLetters = %d, %v, want 7", n, err)
		}
	}
	wantIDs(t, b, queue.LetterQuery{Limit: 3}, "l6", "l5", "l4")
	wantIDs(t, b, queue.LetterQuery{Limit: 3, After: "l4"}, "l3", "l2", "l1")
	wantIDs(t, b, queue.LetterQuery{Limit: 3, After: "l0"})
	wantIDs(t, b, queue.LetterQuery{Queue: "agent.task.a", Limit: 2}, "l5", "l4")
	wantIDs(t, b, queue.LetterQuery{Task: "t0", After: "l5"}, "l4", "l2", "l0")
	if _, err := b.Letters(t.Context(), &queue.LetterQuery{After: "gone", Limit: 1}); !errors.Is(err, queue.ErrNoLetter) || errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Letters after one that is gone = %v, want ErrNoLetter of a store that is available", err)
	}
}

func testDrop(t *testing.T, b queue.LetterStore) {
	put(t, b, letter(1, 60), letter(2, 60))
	if err := b.DropLetter(t.Context(), "l1"); err != nil {
		t.Fatal(err)
	}
	if err := b.DropLetter(t.Context(), "l1"); !errors.Is(err, queue.ErrNoLetter) {
		t.Errorf("a letter was dropped twice: %v", err)
	}
	wantIDs(t, b, queue.LetterQuery{}, "l2")
	put(t, b, letter(1, 60))
	wantIDs(t, b, queue.LetterQuery{}, "l1", "l2")
}

func testSweep(t *testing.T, b queue.LetterStore) {
	sweep := func(want int, bounds queue.LetterBounds) {
		t.Helper()
		if n, err := b.SweepLetters(t.Context(), bounds); n != want || err != nil {
			t.Errorf("SweepLetters(%+v) = %d, %v, want %d", bounds, n, err, want)
		}
	}
	sweep(0, queue.LetterBounds{Letters: 1, Bytes: 1})
	for n := range 8 {
		put(t, b, letter(n, 100))
	}
	sweep(0, queue.LetterBounds{Letters: 8, Bytes: 800})
	sweep(2, queue.LetterBounds{Letters: 8, Bytes: 800, Before: at(2)})
	wantIDs(t, b, queue.LetterQuery{}, "l7", "l6", "l5", "l4", "l3", "l2")
	sweep(1, queue.LetterBounds{Letters: 5, Bytes: 800})
	sweep(2, queue.LetterBounds{Letters: 5, Bytes: 399})
	wantIDs(t, b, queue.LetterQuery{}, "l7", "l6", "l5")
	sweep(3, queue.LetterBounds{Letters: 5, Bytes: 99})
	wantIDs(t, b, queue.LetterQuery{})
}

func testTogether(t *testing.T, b queue.LetterStore) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for n := range 20 {
		wg.Go(func() {
			if err := b.PutLetter(t.Context(), letter(n, 60)); err != nil {
				t.Errorf("PutLetter = %v", err)
			}
			if _, err := b.SweepLetters(t.Context(), queue.LetterBounds{Letters: 5, Bytes: 1 << 20}); err != nil {
				t.Errorf("SweepLetters = %v", err)
			}
			found, err := b.Letters(t.Context(), &queue.LetterQuery{Limit: 100})
			if err != nil || len(found) > 20 {
				t.Errorf("Letters = %d, %v", len(found), err)
			}
		})
	}
}

// testEndedContext checks that a call whose context has ended changes nothing.
func testEndedContext(t *testing.T, b queue.LetterStore) {
	put(t, b, letter(1, 100))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.PutLetter(ctx, letter(2, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("PutLetter = %v, want context.Canceled", err)
	}
	if err := b.DropLetter(ctx, "l1"); !errors.Is(err, context.Canceled) {
		t.Errorf("DropLetter = %v, want context.Canceled", err)
	}
	if n, err := b.SweepLetters(ctx, queue.LetterBounds{}); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("SweepLetters = %d, %v, want none and context.Canceled", n, err)
	}
	wantIDs(t, b, queue.LetterQuery{}, "l1")
}
