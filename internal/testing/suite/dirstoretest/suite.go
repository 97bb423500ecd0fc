// Package dirstoretest is the conformance suite for stores of a directory. [Test] runs it
// against empty stores created by its caller. Third parties may run it against their own
// stores.
//
// # Guarantees
//
// A store that passes behaves as package dirstore requires, with sequential and concurrent
// calls.
//
// # Non-guarantees
//
// The suite does not test durability: a store that survives the end of a process needs its own
// test for that.
package dirstoretest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// AgentStore combines the interfaces of a directory's store.
type AgentStore interface {
	dirstore.Store
	dirstore.Notes
}

// Test runs the suite against stores returned by open.
func Test(t *testing.T, open func(t *testing.T) AgentStore) {
	for name, f := range map[string]func(*testing.T, AgentStore){
		"records": testRecords, "nothing is shared": testSharing, "notes": testNotes,
		"names": testNames, "together": testTogether,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t))
		})
	}
}

func at(ms int) time.Time { return time.UnixMilli(1_790_000_000_000 + int64(ms)).UTC() }

func full(name task.Agent) *card.Record {
	return &card.Record{
		Name: name, Spec: []byte(`{"url":"https://a.example"}`), Secret: []byte{0, 1, 2, 255},
		Card: []byte(`{"name":"Ä"}`), CardURL: "https://a.example", ETag: `W/"x"`,
		SeenAt: at(1), CreatedAt: at(2), UpdatedAt: at(3),
	}
}

func records(t *testing.T, l AgentStore) []card.Record {
	t.Helper()
	all, err := l.Records(t.Context())
	if err != nil {
		t.Fatalf("Records: %v", err)
	}
	return all
}

func put(t *testing.T, l AgentStore, r *card.Record) {
	t.Helper()
	if err := l.PutRecord(t.Context(), r); err != nil {
		t.Fatalf("PutRecord(%s): %v", r.Name, err)
	}
}

func testRecords(t *testing.T, l AgentStore) {
	if got := records(t, l); len(got) != 0 {
		t.Fatalf("an empty store has %d records", len(got))
	}
	zed, ann, bare := full("zed"), full("ann"), &card.Record{Name: "middle"}
	ann.SeenAt = at(0).Add(1500 * time.Microsecond)
	for _, r := range []*card.Record{zed, ann, bare} {
		put(t, l, r)
	}
	ann.SeenAt = at(1) // precision below a millisecond is lost
	want := []card.Record{*ann, *bare, *zed}
	if diff := cmp.Diff(want, records(t, l)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	zed = &card.Record{Name: "zed", ETag: "other"}
	put(t, l, zed)
	for range 2 {
		if err := l.DropRecord(t.Context(), "ann"); err != nil {
			t.Fatalf("DropRecord: %v", err)
		}
	}
	if diff := cmp.Diff([]card.Record{*bare, *zed}, records(t, l)); diff != "" {
		t.Errorf("after a change and a drop (-want +got):\n%s", diff)
	}
}

func testSharing(t *testing.T, l AgentStore) {
	r := full("a")
	put(t, l, r)
	r.Spec[0], r.Secret[0], r.Card[0] = 'x', 'x', 'x'
	got := records(t, l)
	got[0].Spec[0], got[0].Secret[0], got[0].Card[0] = 'y', 'y', 'y'
	if diff := cmp.Diff([]card.Record{*full("a")}, records(t, l)); diff != "" {
		t.Errorf("the record in the store was changed (-want +got):\n%s", diff)
	}
	note := []byte("note")
	if err := l.PutNote(t.Context(), "n", note); err != nil {
		t.Fatal(err)
	}
	note[0] = 'x'
	read, err := l.Note(t.Context(), "n")
	if err != nil || string(read) != "note" {
		t.Errorf("note = %q, %v; want the stored one", read, err)
	}
	read[0] = 'y'
	if again, _ := l.Note(t.Context(), "n"); string(again) != "note" {
		t.Errorf("note = %q after a reader changed its own", again)
	}
}

func testNotes(t *testing.T, l AgentStore) {
	ctx := t.Context()
	if got, err := l.Note(ctx, "none"); got != nil || err != nil {
		t.Errorf("a note that was never put = %q, %v", got, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := l.PutNote(ctx, "n", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.Note(ctx, "n"); string(got) != "two" || err != nil {
		t.Errorf("note = %q, %v; want the last one", got, err)
	}
	if err := l.PutNote(ctx, "n", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Note(ctx, "n"); got != nil || err != nil {
		t.Errorf("a note that was dropped = %q, %v", got, err)
	}
}

func testNames(t *testing.T, l AgentStore) {
	if err := l.PutRecord(t.Context(), new(card.Record)); !errors.Is(err, dirstore.ErrNoName) {
		t.Errorf("a record without a name: %v, want ErrNoName", err)
	}
	if err := l.PutNote(t.Context(), "", []byte("x")); !errors.Is(err, dirstore.ErrNoName) {
		t.Errorf("a note without a name: %v, want ErrNoName", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Records(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Records with a canceled context: %v", err)
	}
}

// testTogether writes from several goroutines; no record may be mixed.
func testTogether(t *testing.T, l AgentStore) {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 10 {
				name := task.Agent(fmt.Sprint("agent-", i, n%2))
				if err := l.PutRecord(t.Context(), full(name)); err != nil {
					t.Error(err)
				}
				if _, err := l.Records(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var want []card.Record
	for i := range 4 {
		for n := range 2 {
			want = append(want, *full(task.Agent(fmt.Sprint("agent-", i, n))))
		}
	}
	if diff := cmp.Diff(want, records(t, l)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
