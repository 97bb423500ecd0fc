package memorytest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/memory"
)

// TestNotes runs the suite against stores of notes returned by open.
func TestNotes(t *testing.T, open func(t *testing.T) memory.Store) {
	for name, f := range map[string]func(*testing.T, func(*testing.T) memory.Store){
		"model": testModel, "refusals": testRefusals, "nothing is shared": testSharing, "together": testTogether,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open)
		})
	}
}

// testTogether checks that a namespace never exceeds its room with concurrent calls of Put.
func testTogether(t *testing.T, open func(t *testing.T) memory.Store) {
	s := open(t)
	const room = 5
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			n := memory.Note{
				Owner: "o", Key: fmt.Sprintf("a/b/%d", i), CreatedAt: start, UpdatedAt: start,
				ExpiresAt: start.Add(time.Duration(i+1) * time.Second),
			}
			if _, err := s.Put(t.Context(), &n, memory.Quota{Namespace: room}); err != nil {
				t.Errorf("Put(%s) = %v", n.Key, err)
			}
		})
	}
	wg.Wait()
	got, err := s.Read(t.Context(), &memory.Range{Owner: "o", At: start, Limit: 100})
	if err != nil || len(got) != room {
		t.Errorf("after 20 notes in a room for %d there are %d, %v", room, len(got), err)
	}
}

// TestTurns runs the suite against stores of turns returned by open.
func TestTurns(t *testing.T, open func(t *testing.T) memory.TurnStore) {
	for name, f := range map[string]func(*testing.T, memory.TurnStore){
		"order": testOrder, "once": testOnce, "keep": testKeep, "forget": testForget, "age": testAge,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t))
		})
	}
}

var (
	here  = memory.SessionOf("o", "ctx", "task")
	there = memory.SessionOf("p", "ctx", "task")
)

func turn(i int) memory.Turn {
	return memory.Turn{
		ID: fmt.Sprint("t/", i), Role: memory.RoleCaller, Name: "Ann", Text: fmt.Sprint("text ", i),
		At: start.Add(time.Duration(i) * time.Second),
	}
}

func add(t *testing.T, s memory.TurnStore, in memory.Session, keep int, turns ...memory.Turn) {
	t.Helper()
	if err := s.Add(t.Context(), in, turns, keep); err != nil {
		t.Fatalf("Add = %v", err)
	}
}

func wantTurns(t *testing.T, s memory.TurnStore, in memory.Session, want ...memory.Turn) {
	t.Helper()
	got, err := s.Turns(t.Context(), in, time.Time{}, 100)
	if diff := cmp.Diff(want, got); diff != "" && len(got)+len(want) > 0 || err != nil {
		t.Errorf("Turns(%+v): %v (-want +got):\n%s", in, err, diff)
	}
}

func testOrder(t *testing.T, s memory.TurnStore) {
	add(t, s, here, 0, turn(2), turn(1))
	add(t, s, here, 0, turn(3))
	wantTurns(t, s, here, turn(2), turn(1), turn(3))
	wantTurns(t, s, there)
	got, err := s.Turns(t.Context(), here, start.Add(2*time.Second), 1)
	if diff := cmp.Diff([]memory.Turn{turn(3)}, got); diff != "" || err != nil {
		t.Errorf("the newest turn: %v (-want +got):\n%s", err, diff)
	}
}

func testOnce(t *testing.T, s memory.TurnStore) {
	add(t, s, here, 0, turn(1), turn(2))
	again := turn(1)
	again.Text = "said otherwise"
	add(t, s, here, 0, again, turn(3))
	wantTurns(t, s, here, turn(1), turn(2), turn(3))
	if err := s.Add(t.Context(), here, []memory.Turn{{Text: "x"}}, 0); !errors.Is(err, memory.ErrNoID) {
		t.Errorf("Add without an ID = %v, want %v", err, memory.ErrNoID)
	}
}

func testKeep(t *testing.T, s memory.TurnStore) {
	add(t, s, there, 0, turn(9))
	add(t, s, here, 2, turn(1), turn(2), turn(3))
	wantTurns(t, s, here, turn(2), turn(3))
	add(t, s, here, 2, turn(4))
	wantTurns(t, s, here, turn(3), turn(4))
	wantTurns(t, s, there, turn(9))
}

func testForget(t *testing.T, s memory.TurnStore) {
	add(t, s, here, 0, turn(1))
	add(t, s, there, 0, turn(2))
	for range 2 {
		if err := s.Forget(t.Context(), here); err != nil {
			t.Fatalf("Forget = %v", err)
		}
	}
	wantTurns(t, s, here)
	wantTurns(t, s, there, turn(2))
}

func testAge(t *testing.T, s memory.TurnStore) {
	sweeper, ok := s.(memory.Sweeper)
	if !ok {
		t.Log("it does not sweep")
		return
	}
	add(t, s, here, 0, turn(1), turn(2), turn(3))
	for _, want := range []int{1, 1, 0} {
		if n, err := sweeper.Sweep(t.Context(), start.Add(3*time.Second), 1); n != want || err != nil {
			t.Fatalf("Sweep = %d, %v, want %d", n, err, want)
		}
	}
	wantTurns(t, s, here, turn(3))
}
