package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/memory"
)

func set(t *testing.T, n *memory.Notes, s memory.Set) memory.Note {
	t.Helper()
	if s.Owner == "" {
		s.Owner = "o"
	}
	note, err := n.Set(t.Context(), &s)
	if err != nil {
		t.Fatalf("Set(%s) = %v", s.Key, err)
	}
	return note
}

func keysOf(entries []memory.Entry) []string {
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func hitKeys(hits []memory.Hit) []string {
	var keys []string
	for _, h := range hits {
		keys = append(keys, h.Key)
	}
	return keys
}

// A note exists until it expires, and Run frees its memory.
func TestNotesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.MemNotes)
		n := &memory.Notes{Store: store}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { n.Run(ctx); close(done) }()
		set(t, n, memory.Set{Key: "a/b/five", Value: "v"})
		set(t, n, memory.Set{Key: "a/b/ten", Value: "v", TTL: 10 * time.Minute})
		began := time.Now()
		time.Sleep(5*time.Minute - time.Millisecond)
		synctest.Wait()
		if _, err := n.Get(t.Context(), "o", "a/b/five"); err != nil {
			t.Errorf("Get before the end = %v", err)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if _, err := n.Get(t.Context(), "o", "a/b/five"); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("Get at the end = %v, want %v", err, memory.ErrNotFound)
		}
		entries, _, err := n.List(t.Context(), &memory.List{Owner: "o"})
		if diff := cmp.Diff([]string{"a/b/ten"}, keysOf(entries)); diff != "" || err != nil {
			t.Errorf("List: %v (-want +got):\n%s", err, diff)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		kept, err := store.Read(t.Context(), &memory.Range{Owner: "o", At: began, Limit: 9})
		if len(kept) != 1 || err != nil {
			t.Errorf("the store keeps %d notes, %v, want the one that has not ended", len(kept), err)
		}
		cancel()
		<-done
	})
}

func TestNotesRefuse(t *testing.T) {
	t.Parallel()
	n := new(memory.Notes)
	for name, c := range map[string]struct {
		set  memory.Set
		want error
	}{
		"dots":     {memory.Set{Key: "a/../b"}, memory.ErrKey},
		"long key": {memory.Set{Key: strings.Repeat("x", 1<<20)}, memory.ErrKey},
		"large":    {memory.Set{Key: "a/b/c", Value: strings.Repeat("x", 64<<10+1)}, memory.ErrTooLarge},
		"bytes":    {memory.Set{Key: "a/b/c", Value: "\xff"}, memory.ErrInvalid},
		"category": {memory.Set{Key: "a/b/c", Category: strings.Repeat("x", 65)}, memory.ErrInvalid},
		"tag":      {memory.Set{Key: "a/b/c", Tags: []string{"x", ""}}, memory.ErrInvalid},
		"tags":     {memory.Set{Key: "a/b/c", Tags: slices.Repeat([]string{"x"}, 17)}, memory.ErrInvalid},
		"past":     {memory.Set{Key: "a/b/c", TTL: -1}, memory.ErrInvalid},
		"for ever": {memory.Set{Key: "a/b/c", TTL: 31 * 24 * time.Hour}, memory.ErrInvalid},
	} {
		if _, err := n.Set(t.Context(), &c.set); !errors.Is(err, c.want) {
			t.Errorf("%s: Set = %v, want %v", name, err, c.want)
		}
	}
	if entries, _, err := n.List(t.Context(), new(memory.List)); len(entries) > 0 || err != nil {
		t.Errorf("refused notes are listed: %v, %v", entries, err)
	}
}

// A full namespace drops the note that expires first; other namespaces are unaffected.
func TestNotesAreDroppedBeyondTheQuota(t *testing.T) {
	t.Parallel()
	n := &memory.Notes{Limits: memory.Limits{Entries: 2, Namespaces: map[string]int{"big": 3, "big/one": 1}}}
	set(t, n, memory.Set{Key: "other/place/x", TTL: time.Second})
	set(t, n, memory.Set{Key: "a/b/long", TTL: 3 * time.Hour})
	set(t, n, memory.Set{Key: "a/b/short", TTL: time.Hour})
	set(t, n, memory.Set{Key: "a/b/new", TTL: time.Minute})
	for i := range 4 {
		set(t, n, memory.Set{Key: fmt.Sprint("big/two/", i), TTL: time.Hour + time.Duration(i)*time.Second})
		set(t, n, memory.Set{Key: fmt.Sprint("big/one/", i), TTL: time.Hour})
	}
	entries, _, err := n.List(t.Context(), &memory.List{Owner: "o"})
	want := []string{"a/b/long", "a/b/new", "big/one/3", "big/two/1", "big/two/2", "big/two/3", "other/place/x"}
	if diff := cmp.Diff(want, keysOf(entries)); diff != "" || err != nil {
		t.Errorf("notes: %v (-want +got):\n%s", err, diff)
	}
}

func TestNotesOfOthers(t *testing.T) {
	t.Parallel()
	n := new(memory.Notes)
	set(t, n, memory.Set{Owner: "o", Key: "a/b/c", Value: "secret words", Tags: []string{"x"}})
	if _, err := n.Get(t.Context(), "p", "a/b/c"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Get by another owner = %v", err)
	}
	if err := n.Delete(t.Context(), "p", "a/b/c"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Delete by another owner = %v", err)
	}
	if hits, err := n.Search(t.Context(), &memory.Search{Owner: "p", Text: "secret"}); len(hits) > 0 || err != nil {
		t.Errorf("Search by another owner = %v, %v", hits, err)
	}
	if count, err := n.DeleteAll(t.Context(), "p", ""); count != 0 || err != nil {
		t.Errorf("DeleteAll by another owner = %d, %v", count, err)
	}
	if note, err := n.Get(t.Context(), "o", "a/b/c"); note.Value != "secret words" || err != nil {
		t.Errorf("Get = %+v, %v", note, err)
	}
	if count, err := n.DeleteAll(t.Context(), "o", "a/"); count != 1 || err != nil {
		t.Errorf("DeleteAll = %d, %v", count, err)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	n := new(memory.Notes)
	set(t, n, memory.Set{Key: "session/main/trip", Value: "flights to Oslo on Tuesday", Category: "plan", Tags: []string{"Travel"}})
	set(t, n, memory.Set{Key: "session/main/dinner", Value: "a table for four; they have fish from Oslo", Category: "plan-b"})
	set(t, n, memory.Set{Key: "session/other/trip", Value: "trains to Rome", Category: "a2a-result", Tags: []string{"travel", "rail"}})
	for i := range 30 {
		set(t, n, memory.Set{Key: fmt.Sprintf("session/many/n%02d", i), Value: strings.Repeat("filler ", 30)})
	}
	for name, c := range map[string]struct {
		q    memory.Search
		want []string
	}{
		"words":     {memory.Search{Text: "flight Oslo"}, []string{"session/main/trip", "session/main/dinner"}},
		"tag":       {memory.Search{Tags: []string{"TRAVEL"}, Text: "trip"}, []string{"session/main/trip", "session/other/trip"}},
		"tags":      {memory.Search{Tags: []string{"travel", "rail"}}, []string{"session/other/trip"}},
		"category":  {memory.Search{Category: "a2a"}, []string{"session/other/trip"}},
		"namespace": {memory.Search{Namespace: "session/main", Text: "Oslo fish"}, []string{"session/main/dinner", "session/main/trip"}},
		"nothing":   {memory.Search{Text: "quaternion"}, nil},
	} {
		c.q.Owner = "o"
		hits, err := n.Search(t.Context(), &c.q)
		got := hitKeys(hits)
		if name == "tag" {
			slices.Sort(got)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	hits, err := n.Search(t.Context(), &memory.Search{Owner: "o", Text: "filler", Limit: 99})
	if len(hits) != memory.MaxHits || err != nil {
		t.Fatalf("a search finds %d notes, %v, want %d", len(hits), err, memory.MaxHits)
	}
	if p := hits[0].Preview; len([]rune(p)) != memory.Preview || !strings.HasSuffix(p, "…") {
		t.Errorf("preview %q has %d characters, want %d", p, len([]rune(p)), memory.Preview)
	}
	if _, err := n.Search(t.Context(), &memory.Search{Owner: "o", Namespace: "a/../b"}); !errors.Is(err, memory.ErrKey) {
		t.Errorf("Search in a/../b = %v", err)
	}
}

// A list has at most 500 notes and continues behind its last one.
func TestListPages(t *testing.T) {
	t.Parallel()
	n := &memory.Notes{Limits: memory.Limits{Entries: 1000}}
	for i := range 510 {
		set(t, n, memory.Set{Key: fmt.Sprintf("a/b/%03d", i)})
	}
	first, more, err := n.List(t.Context(), &memory.List{Owner: "o", Limit: 9999})
	if len(first) != memory.MaxList || !more || err != nil {
		t.Fatalf("List = %d notes, more %v, %v", len(first), more, err)
	}
	rest, more, err := n.List(t.Context(), &memory.List{Owner: "o", After: first[len(first)-1].Key})
	if len(rest) != 10 || more || err != nil {
		t.Errorf("the rest = %d notes, more %v, %v", len(rest), more, err)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	n := &memory.Notes{Fetch: func(_ context.Context, n *memory.Note) (string, error) { return "all of " + n.Ref, nil }}
	set(t, n, memory.Set{Key: "a/b/c", Value: "all", Ref: "it", Size: 9})
	if note, err := n.Get(t.Context(), "o", "a/b/c"); note.Value != "all of it" || note.Size != 9 || err != nil {
		t.Errorf("Get = %+v, %v", note, err)
	}
}

// A watcher sees the existing notes, new notes, and notes that are set again.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := new(memory.Notes)
		set(t, n, memory.Set{Key: "in/box/1"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan string, 9)
		go func() {
			for e, err := range n.Watch(ctx, "o", "in/") {
				seen <- fmt.Sprint(e.Key, " ", e.Preview, err)
			}
			close(seen)
		}()
		next := func(want string) {
			t.Helper()
			if got := <-seen; got != want {
				t.Errorf("watched %q, want %q", got, want)
			}
		}
		next("in/box/1 <nil>")
		set(t, n, memory.Set{Key: "out/box/1"})
		set(t, n, memory.Set{Owner: "p", Key: "in/box/3"})
		set(t, n, memory.Set{Key: "in/box/2"})
		next("in/box/2 <nil>")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		set(t, n, memory.Set{Key: "in/box/1", Value: "again"})
		next("in/box/1 again<nil>")
		cancel()
		if got, ok := <-seen; ok {
			t.Errorf("watched %q after the end", got)
		}
	})
}

func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	turns := &memory.Turns{Keep: 2}
	s := memory.SessionOf("o", "", "task-1")
	if s.Name != "a2a-inbound/task-1" {
		t.Errorf("the session of a task without a context is %q", s.Name)
	}
	long := memory.Turn{ID: "3", Text: strings.Repeat("ä", memory.MaxTurn), At: time.Now()}
	if err := turns.Append(t.Context(), s, memory.Turn{ID: "1", At: time.Now()}, memory.Turn{ID: "2", At: time.Now()}, long); err != nil {
		t.Fatal(err)
	}
	got, err := turns.Get(t.Context(), s)
	if err != nil || len(got) != 2 || got[0].ID != "2" || len(got[1].Text) != memory.MaxTurn+len("…") {
		t.Errorf("Get = %d turns, %v, want the last two, the long one cut", len(got), err)
	}
	if err := turns.Forget(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got, err := turns.Get(t.Context(), s); len(got) > 0 || err != nil {
		t.Errorf("Get after Forget = %v, %v", got, err)
	}
}
