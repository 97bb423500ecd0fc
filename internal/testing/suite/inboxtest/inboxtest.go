// Package inboxtest is the conformance suite for books of an inbox. [Test] runs it against
// empty books created by its caller. Third parties may run it against their own books.
//
// # Guarantees
//
// A book that passes behaves as package inbox requires: one of several concurrent answers wins,
// and lists are in order.
//
// # Non-guarantees
//
// The suite does not test durability: a book that survives the end of a process needs its own
// test for that.
package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/inbox"
)

// Test runs the suite against books returned by open.
func Test(t *testing.T, open func(t *testing.T) inbox.Store) {
	for name, f := range map[string]func(*testing.T, inbox.Store){
		"put": testPut, "invalid": testInvalid, "settle": testSettle, "late": testLate, "one wins": testRace,
		"queries": testQueries, "pages": testPages, "ends": testEnds, "sweep": testSweep, "gone": testGone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t))
		})
	}
}

// at returns a time of the suite.
func at(seconds int) time.Time {
	return time.UnixMilli(1_790_000_000_000).UTC().Add(time.Duration(seconds) * time.Second)
}

// full returns an item with all fields set.
func full(id inbox.ID) *inbox.Item {
	return &inbox.Item{
		ID: id, Kind: inbox.Question, Owner: "ann", Task: "t", Version: 7, Agent: "clerk", Caller: "bob", CallerName: "Bob Ä",
		Skill: "ask", Text: "which?\x00\n", Draft: "this", Created: at(0), Expires: at(100), State: inbox.Open,
	}
}

func put(t *testing.T, b inbox.Store, it *inbox.Item) inbox.Item {
	t.Helper()
	got, fresh, err := b.PutItem(t.Context(), it)
	if err != nil || !fresh {
		t.Fatalf("PutItem(%s) = fresh %v, %v", it.ID, fresh, err)
	}
	return got
}

func items(t *testing.T, b inbox.Store, q *inbox.Query) []inbox.Item {
	t.Helper()
	got, err := b.Items(t.Context(), q)
	if err != nil {
		t.Fatalf("Items(%+v): %v", q, err)
	}
	return got
}

func ids(all []inbox.Item) string {
	var s string
	for i := range all {
		s += string(all[i].ID) + " "
	}
	return s
}

func settle(ctx context.Context, b inbox.Store, id inbox.ID, s inbox.Settlement) (inbox.Item, error) {
	return b.SettleItem(ctx, id, &s)
}

func testPut(t *testing.T, b inbox.Store) {
	want := full("a")
	want.Created = at(0).Add(999 * time.Microsecond)
	got := put(t, b, want)
	if diff := cmp.Diff(full("a"), &got); diff != "" {
		t.Errorf("put (-want +got):\n%s", diff)
	}
	other := full("a")
	other.Text, other.Owner = "something else", "eve"
	again, fresh, err := b.PutItem(t.Context(), other)
	if err != nil || fresh {
		t.Errorf("PutItem of an id that is there = fresh %v, %v", fresh, err)
	}
	if diff := cmp.Diff(full("a"), &again); diff != "" {
		t.Errorf("the item was changed by one with its id (-want +got):\n%s", diff)
	}
	bare := &inbox.Item{ID: "b", Kind: inbox.Notice, State: inbox.Open}
	put(t, b, bare)
	if diff := cmp.Diff([]inbox.Item{*bare, *full("a")}, items(t, b, new(inbox.Query))); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

func testInvalid(t *testing.T, b inbox.Store) {
	for _, it := range []*inbox.Item{
		{Kind: inbox.Notice, State: inbox.Open},
		{ID: "a", State: inbox.Open},
		{ID: "a", Kind: "rumour", State: inbox.Open},
		{ID: "a", Kind: inbox.Notice},
		{ID: "a", Kind: inbox.Approval, State: inbox.Approved},
	} {
		if _, _, err := b.PutItem(t.Context(), it); !errors.Is(err, inbox.ErrInvalid) {
			t.Errorf("PutItem(%+v): %v, want ErrInvalid", it, err)
		}
	}
	put(t, b, full("a"))
	for _, state := range []inbox.State{"", inbox.Open, "burnt"} {
		if _, err := settle(t.Context(), b, "a", inbox.Settlement{State: state, At: at(1)}); !errors.Is(err, inbox.ErrInvalid) {
			t.Errorf("settle as %q: %v, want ErrInvalid", state, err)
		}
	}
	if got := items(t, b, new(inbox.Query)); len(got) != 1 || got[0].State != inbox.Open {
		t.Errorf("items = %+v, want one that is open", got)
	}
}

func testSettle(t *testing.T, b inbox.Store) {
	for i, state := range []inbox.State{inbox.Answered, inbox.Approved, inbox.Refused, inbox.Expired} {
		id := inbox.ID(fmt.Sprint("item-", i))
		want := put(t, b, full(id))
		want.State, want.Answer, want.By, want.Settled = state, "yes\n", "ann", at(5)
		got, err := settle(t.Context(), b, id, inbox.Settlement{State: state, Answer: "yes\n", By: "ann", At: at(5)})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("settle as %s: %v (-want +got):\n%s", state, err, diff)
		}
		_, err = settle(t.Context(), b, id, inbox.Settlement{State: inbox.Refused, By: "eve", At: at(6)})
		var first *inbox.Settled
		if !errors.As(err, &first) || !errors.Is(err, inbox.ErrSettled) {
			t.Fatalf("the second to settle gets %v, want a *Settled", err)
		}
		if diff := cmp.Diff(want, first.Item); diff != "" {
			t.Errorf("who has won (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]inbox.Item{want}, items(t, b, &inbox.Query{ID: id})); diff != "" {
			t.Errorf("the item (-want +got):\n%s", diff)
		}
	}
	if _, err := settle(t.Context(), b, "none", inbox.Settlement{State: inbox.Refused, At: at(1)}); !errors.Is(err, inbox.ErrNotFound) {
		t.Errorf("settle an unknown item: %v, want ErrNotFound", err)
	}
}

func testLate(t *testing.T, b inbox.Store) {
	put(t, b, full("a"))
	for _, late := range []time.Time{at(100), at(101)} {
		if _, err := settle(t.Context(), b, "a", inbox.Settlement{State: inbox.Answered, Answer: "x", At: late}); !errors.Is(err, inbox.ErrLate) {
			t.Errorf("an answer at the end or after it: %v, want ErrLate", err)
		}
	}
	if got := items(t, b, &inbox.Query{ID: "a"}); got[0].State != inbox.Open {
		t.Errorf("a late answer made the item %s", got[0].State)
	}
	if got, err := settle(t.Context(), b, "a", inbox.Settlement{State: inbox.Expired, At: at(101)}); err != nil || got.State != inbox.Expired {
		t.Errorf("to expire = %s, %v", got.State, err)
	}
}

func testRace(t *testing.T, b inbox.Store) {
	for round := range 5 {
		id := inbox.ID(fmt.Sprint(round))
		put(t, b, full(id))
		var won atomic.Int32
		var names sync.Map
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				by := fmt.Sprint("person-", i)
				got, err := settle(t.Context(), b, id, inbox.Settlement{State: inbox.Answered, Answer: by, By: by, At: at(1)})
				var first *inbox.Settled
				switch {
				case err == nil:
					won.Add(1)
				case errors.As(err, &first):
					got = first.Item
				default:
					t.Errorf("settle: %v", err)
				}
				names.Store(got.By, true)
			})
		}
		all.Wait()
		n := 0
		names.Range(func(any, any) bool { n++; return true })
		if won.Load() != 1 || n != 1 {
			t.Errorf("%d of 8 have won, and %d are said to have, want one", won.Load(), n)
		}
	}
}

// fill puts six items: three of ann and three of bob, of all kinds; one is settled.
func fill(t *testing.T, b inbox.Store) {
	for i, kind := range []inbox.Kind{inbox.Question, inbox.Approval, inbox.Notice, inbox.Question, inbox.Approval, inbox.Notice} {
		it := full(inbox.ID(fmt.Sprint(i)))
		it.Kind, it.Expires = kind, at(100-i)
		if i >= 3 {
			it.Owner = "bob"
		}
		if i == 5 {
			it.Expires = time.Time{}
		}
		put(t, b, it)
	}
	if _, err := settle(t.Context(), b, "1", inbox.Settlement{State: inbox.Approved, At: at(1)}); err != nil {
		t.Fatal(err)
	}
}

func testQueries(t *testing.T, b inbox.Store) {
	fill(t, b)
	for want, q := range map[string]inbox.Query{
		"5 4 3 2 1 0 ": {},
		"2 1 0 ":       {Owner: "ann"},
		"5 4 3 2 0 ":   {State: inbox.Open},
		"1 ":           {State: inbox.Approved},
		"4 1 ":         {Kinds: []inbox.Kind{inbox.Approval}},
		"4 ":           {Kinds: []inbox.Kind{inbox.Approval}, State: inbox.Open},
		"3 0 ":         {Kinds: []inbox.Kind{inbox.Question}, State: inbox.Open},
		"2 0 ":         {Kinds: []inbox.Kind{inbox.Question, inbox.Notice}, Owner: "ann"},
		"3 ":           {ID: "3"},
		"":             {ID: "3", Owner: "ann"},
		"4 3 ":         {Owner: "bob", State: inbox.Open, Kinds: []inbox.Kind{inbox.Question, inbox.Approval}},
		"5 4 3 ":       {Owner: "bob"},
		"0 ":           {Owner: "ann", Kinds: []inbox.Kind{inbox.Question}},
	} {
		if got := ids(items(t, b, &q)); got != want {
			t.Errorf("Items(%+v) = %q, want %q", q, got, want)
		}
	}
}

func testPages(t *testing.T, b inbox.Store) {
	fill(t, b)
	for want, q := range map[string]inbox.Query{
		"5 4 ":     {Limit: 2},
		"3 2 ":     {After: "4", Limit: 2},
		"1 0 ":     {After: "2", Limit: 9},
		"":         {After: "0"},
		"3 2 0 ":   {After: "4", State: inbox.Open},
		"0 ":       {After: "1", State: inbox.Open},
		"2 1 0 ":   {After: "3", Owner: "ann"},
		"4 3 2 1 ": {After: "5", Limit: 4},
	} {
		if got := ids(items(t, b, &q)); got != want {
			t.Errorf("Items(%+v) = %q, want %q", q, got, want)
		}
	}
	if got := items(t, b, &inbox.Query{After: "none"}); len(got) != 0 {
		t.Errorf("a list behind nothing = %q", ids(got))
	}
}

func testEnds(t *testing.T, b inbox.Store) {
	fill(t, b)
	for want, q := range map[string]inbox.Query{
		"4 3 2 0 ": {Soonest: true},
		"2 0 ":     {Soonest: true, Owner: "ann"},
		"4 ":       {Soonest: true, Limit: 1},
		"4 3 ":     {Due: at(97)},
		"":         {Due: at(95)},
	} {
		if got := ids(items(t, b, &q)); got != want {
			t.Errorf("Items(%+v) = %q, want %q", q, got, want)
		}
	}
}

func testSweep(t *testing.T, b inbox.Store) {
	s, ok := b.(inbox.Sweeper)
	if !ok {
		return // the book is not a Sweeper
	}
	for i := range 5 {
		id := inbox.ID(fmt.Sprint(i))
		put(t, b, full(id))
		if i == 0 {
			continue
		}
		if _, err := settle(t.Context(), b, id, inbox.Settlement{State: inbox.Refused, At: at(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for range 3 {
		n, err := s.SweepItems(t.Context(), at(4), 2)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if left := ids(items(t, b, new(inbox.Query))); !slices.Equal(got, []int{2, 1, 0}) || left != "4 0 " {
		t.Errorf("swept %v, left %q; want 2, 1 and 0, and the open and the newer items", got, left)
	}
	put(t, b, full("2"))
}

func testGone(t *testing.T, b inbox.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := b.PutItem(ctx, full("a"))
	_, e := b.Items(ctx, new(inbox.Query))
	if !errors.Is(err, context.Canceled) || !errors.Is(e, context.Canceled) {
		t.Errorf("with a canceled context: %v, %v", err, e)
	}
}
