package memorytest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// start is the time at which the tests of the suite begin.
var start = time.UnixMilli(1_790_000_000_000).UTC()

// model is the expected content of a store of notes: a list.
type model []memory.Note

func (m *model) put(n memory.Note, room memory.Quota) (dropped int) {
	i := slices.IndexFunc(*m, func(h memory.Note) bool { return h.Owner == n.Owner && h.Key == n.Key })
	if i >= 0 {
		if (*m)[i].ExpiresAt.After(n.UpdatedAt) {
			n.CreatedAt = (*m)[i].CreatedAt
		}
		(*m)[i] = n
		return 0
	}
	*m = append(*m, n)
	dropped = m.ease(&n, room.Namespace, func(h *memory.Note) bool { return memory.Namespace(h.Key) == memory.Namespace(n.Key) })
	return dropped + m.ease(&n, room.Owner, func(*memory.Note) bool { return true })
}

// ease drops notes one by one, each time the one that expires first.
func (m *model) ease(but *memory.Note, room int, counts func(*memory.Note) bool) (dropped int) {
	for room > 0 {
		n, first := 0, -1
		for i := range *m {
			h := &(*m)[i]
			if h.Owner != but.Owner || !counts(h) {
				continue
			}
			n++
			if h.Key != but.Key && (first < 0 || before(h, &(*m)[first])) {
				first = i
			}
		}
		if n <= room || first < 0 {
			break
		}
		*m = slices.Delete(*m, first, first+1)
		dropped++
	}
	return dropped
}

func before(a, b *memory.Note) bool {
	return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), strings.Compare(a.Key, b.Key)) < 0
}

func (m *model) read(r *memory.Range) []memory.Note {
	var found []memory.Note
	for _, n := range *m {
		if n.Owner != r.Owner || r.Key != "" && n.Key != r.Key || !strings.HasPrefix(n.Key, r.Prefix) ||
			n.Key <= r.After || !strings.HasPrefix(n.Category, r.Category) || !n.ExpiresAt.After(r.At) {
			continue
		}
		if runes := []rune(n.Value); r.Clip > 0 && len(runes) > r.Clip {
			n.Value = string(runes[:r.Clip])
		}
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b memory.Note) int { return strings.Compare(a.Key, b.Key) })
	return found[:min(len(found), r.Limit)]
}

func (m *model) drop(r *memory.Range) int {
	gone := m.read(r)
	*m = slices.DeleteFunc(*m, func(n memory.Note) bool {
		return n.Owner == r.Owner && slices.ContainsFunc(gone, func(g memory.Note) bool { return g.Key == n.Key })
	})
	return len(gone)
}

var (
	owners     = []task.Owner{"local", "org:acme"}
	keys       = []string{"a", "a/b", "a/b/c", "a/b/d", "a/b/e", "a/b/f/g", "a/b/ä", "a/bb/c", "b/x/y", "b/x/y/z"}
	prefixes   = []string{"", "a", "a/", "a/b", "a/b/", "b/x/", "zz"}
	categories = []string{"", "plan", "plan-b", "a2a-result"}
)

// testModel compares a store with the model, operation by operation.
func testModel(t *testing.T, open func(t *testing.T) memory.Store) {
	s := open(t)
	rapid.Check(t, func(rt *rapid.T) {
		m, now := model{}, start
		for _, o := range owners {
			if _, err := s.Drop(t.Context(), &memory.Range{Owner: o, Limit: 1000}); err != nil {
				rt.Fatalf("Drop of everything = %v", err)
			}
		}
		put := func(rt *rapid.T) {
			n := memory.Note{
				Owner: rapid.SampledFrom(owners).Draw(rt, "owner"), Key: rapid.SampledFrom(keys).Draw(rt, "key"),
				Value: rapid.StringN(0, 20, -1).Draw(rt, "value"), Category: rapid.SampledFrom(categories).Draw(rt, "category"),
				Ref: rapid.SampledFrom([]string{"", "task/x"}).Draw(rt, "ref"), Size: rapid.Int64Range(0, 99).Draw(rt, "size"),
				Tags:      rapid.SliceOfN(rapid.SampledFrom([]string{"x", "Y", `"`}), 1, 3).Draw(rt, "tags"),
				CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "ttl")) * time.Second),
			}
			room := memory.Quota{Namespace: rapid.SampledFrom([]int{0, 1, 2, 2, 2, 3}).Draw(rt, "space"), Owner: rapid.SampledFrom([]int{0, 0, 4, 6}).Draw(rt, "room")}
			got, err := s.Put(t.Context(), &n, room)
			if want := m.put(n, room); got != want || err != nil {
				rt.Fatalf("Put(%s, %+v) = %d, %v, want %d", n.Key, room, got, err, want)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": put, "put another": put, // more puts than drops
			"drop": func(rt *rapid.T) {
				r := drawRange(rt, now)
				r.Limit = rapid.IntRange(1, 2).Draw(rt, "drops") // so that some notes remain
				got, err := s.Drop(t.Context(), &r)
				if want := m.drop(&r); got != want || err != nil {
					rt.Fatalf("Drop(%+v) = %d, %v, want %d", r, got, err, want)
				}
			},
			"wait": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 4).Draw(rt, "seconds")) * time.Second)
				sweeper, ok := s.(memory.Sweeper)
				if !ok || !rapid.Bool().Draw(rt, "sweep") {
					return
				}
				if _, err := sweeper.Sweep(t.Context(), now, 100); err != nil {
					rt.Fatalf("Sweep = %v", err)
				}
				m = slices.DeleteFunc(m, func(n memory.Note) bool { return n.ExpiresAt.Before(now) })
			},
			"": func(rt *rapid.T) {
				r := drawRange(rt, now)
				got, err := s.Read(t.Context(), &r)
				if diff := gocmp.Diff(m.read(&r), got); diff != "" && len(got)+len(m.read(&r)) > 0 || err != nil {
					rt.Fatalf("Read(%+v): %v (-want +got):\n%s", r, err, diff)
				}
			},
		})
	})
}

func drawRange(rt *rapid.T, now time.Time) memory.Range {
	return memory.Range{
		Owner: rapid.SampledFrom(owners).Draw(rt, "of"), At: now,
		Key:    rapid.SampledFrom(append([]string{"", "", ""}, keys...)).Draw(rt, "only"),
		Prefix: rapid.SampledFrom(prefixes).Draw(rt, "prefix"), After: rapid.SampledFrom(append([]string{"", ""}, keys...)).Draw(rt, "after"),
		Category: rapid.SampledFrom([]string{"", "", "plan", "a2a"}).Draw(rt, "category"),
		Limit:    rapid.IntRange(1, 6).Draw(rt, "limit"), Clip: rapid.IntRange(0, 5).Draw(rt, "clip"),
	}
}

// testRefusals calls the store with invalid arguments, and with an ended context.
func testRefusals(t *testing.T, open func(t *testing.T) memory.Store) {
	s := open(t)
	if _, err := s.Read(t.Context(), &memory.Range{Owner: "o", At: start}); err == nil {
		t.Error("Read without a limit succeeds")
	}
	if _, err := s.Drop(t.Context(), &memory.Range{Owner: "o", At: start}); err == nil {
		t.Error("Drop without a limit succeeds")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ctx, &memory.Range{Owner: "o", At: start, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("Read with an ended context = %v, want the cause", err)
	}
}

// testSharing checks that arguments and results may be changed by the caller.
func testSharing(t *testing.T, open func(t *testing.T) memory.Store) {
	s := open(t)
	n := memory.Note{Owner: "o", Key: "a/b/c", Value: "v", Tags: []string{"x"}, CreatedAt: start, UpdatedAt: start, ExpiresAt: start.Add(time.Hour)}
	if _, err := s.Put(t.Context(), &n, memory.Quota{}); err != nil {
		t.Fatal(err)
	}
	n.Tags[0] = "changed"
	for range 2 {
		got, err := s.Read(t.Context(), &memory.Range{Owner: "o", At: start, Limit: 1})
		if err != nil || len(got) != 1 || got[0].Tags[0] != "x" {
			t.Fatalf("Read = %+v, %v, want the tag as it was put", got, err)
		}
		got[0].Tags[0] = "changed"
	}
}
