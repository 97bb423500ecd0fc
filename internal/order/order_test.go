package order_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/order"
)

// entry has fields of several sizes, and pointers.
type entry struct {
	Name  string
	Key   uint8
	Place int
	Next  *entry
}

// TestSame compares the results with those of package slices, ties included.
func TestSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Uint8Range(0, 40), 0, 200).Draw(t, "keys")
		all := make([]entry, len(keys))
		for i, k := range keys {
			all[i] = entry{Name: string(rune('a' + k)), Key: k, Place: i, Next: &all[i]}
		}
		unstable, stable := slices.Clone(all), slices.Clone(all)
		order.Sort(unstable, func(a, b *entry) int { return cmp.Compare(a.Key, b.Key) })
		order.SortStable(stable, func(a, b *entry) int { return cmp.Compare(a.Key, b.Key) })
		wantUnstable, wantStable := slices.Clone(all), slices.Clone(all)
		slices.SortFunc(wantUnstable, func(a, b entry) int { return cmp.Compare(a.Key, b.Key) })
		slices.SortStableFunc(wantStable, func(a, b entry) int { return cmp.Compare(a.Key, b.Key) })
		if !slices.Equal(unstable, wantUnstable) {
			t.Errorf("Sort = %v\nwant   %v", unstable, wantUnstable)
		}
		if !slices.Equal(stable, wantStable) {
			t.Errorf("SortStable = %v\nwant         %v", stable, wantStable)
		}
	})
}
