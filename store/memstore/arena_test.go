package memstore

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parley-a2a/parley/task"
)

// TestArena adds and removes many tasks of all sizes: the bytes of existing tasks stay the
// same, and removed ones need little memory.
func TestArena(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var a arena
	want := map[task.Key][]byte{}
	held := map[task.Key][]byte{}
	for key := task.Key(1); key < 20_000; key++ {
		size := rng.IntN(1000)
		if key%1000 == 0 {
			size = rng.IntN(2 * chunkSize)
		}
		b := bytes.Repeat([]byte{byte(key)}, size)
		a.put(key, b)
		want[key] = b
		if key%7 == 0 {
			held[key], _ = a.get(key)
		}
		// A few live long; the others are removed in about the order of their creation.
		for _, old := range []task.Key{key - 500 - task.Key(rng.IntN(100)), key - 600} {
			if old > 0 && old%100 != 0 {
				a.remove(old)
				delete(want, old)
			}
		}
	}
	for key, b := range want {
		if got, ok := a.get(key); !ok || !bytes.Equal(got, b) {
			t.Fatalf("get(%d) = %d bytes, %v, want %d bytes", key, len(got), ok, len(b))
		}
	}
	for key, b := range held {
		if bytes.Count(b, []byte{byte(key)}) != len(b) {
			t.Fatalf("bytes of %d, read before it went, have changed", key)
		}
	}
	live, room := 0, 0
	for _, b := range want {
		live += len(b)
	}
	for _, c := range a.chunks {
		room += cap(c.b)
	}
	if most := 4*live + 4*chunkSize; room > most {
		t.Errorf("%d bytes take room for %d, want at most %d", live, room, most)
	}
	if a.size != len(want) {
		t.Errorf("there are %d tasks, want %d", a.size, len(want))
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		a.remove(key)
		if a.has(key) {
			t.Fatalf("has(%d) after remove", key)
		}
	}
	if len(a.chunks) != 0 {
		t.Errorf("an empty arena has %d chunks", len(a.chunks))
	}
}

func TestArenaNothing(t *testing.T) {
	t.Parallel()
	var a arena
	a.remove(1)
	if b, ok := a.get(1); ok || b != nil {
		t.Errorf("get from the empty arena = %q, %v", b, ok)
	}
	a.put(1, nil)
	if b, ok := a.get(1); !ok || len(b) != 0 {
		t.Errorf("get of nothing = %q, %v", b, ok)
	}
}
