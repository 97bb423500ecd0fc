package memstore

import (
	"cmp"
	"slices"

	"github.com/parley-a2a/parley/internal/task"
)

// ordered is a sorted set of cursors: by time, then by key. Nearly all insertions are at its end,
// and sweeps remove from its beginning.
type ordered []task.Cursor

func compareCursors(a, b task.Cursor) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key))
}

// insert adds c, if it is not in the set.
func (o *ordered) insert(c task.Cursor) {
	if i, found := slices.BinarySearchFunc(*o, c, compareCursors); !found {
		*o = slices.Insert(*o, i, c)
	}
}

// remove removes c, if it is in the set.
func (o *ordered) remove(c task.Cursor) {
	switch i, found := slices.BinarySearchFunc(*o, c, compareCursors); {
	case found && i == 0 && len(*o) > 1:
		*o = (*o)[1:]
	case found:
		*o = slices.Delete(*o, i, i+1)
	}
}

// move removes was and inserts is. A cursor without a key is ignored.
func (o *ordered) move(was, is task.Cursor) {
	if was == is {
		return
	}
	if was.Key != 0 {
		o.remove(was)
	}
	if is.Key != 0 {
		o.insert(is)
	}
}

// after returns the cursors above c.
func (o ordered) after(c task.Cursor) ordered {
	i, found := slices.BinarySearchFunc(o, c, compareCursors)
	if found {
		i++
	}
	return o[i:]
}

// before returns the cursors below c, or all if c is zero.
func (o ordered) before(c task.Cursor) ordered {
	if c == (task.Cursor{}) {
		return o
	}
	i, _ := slices.BinarySearchFunc(o, c, compareCursors)
	return o[:i]
}

// insertInto adds the key of a task to a set of a map.
func insertInto[K comparable](sets map[K]*ordered, of K, key task.Key) {
	if sets[of] == nil {
		sets[of] = new(ordered)
	}
	sets[of].insert(task.Cursor{Key: key})
}

// removeFrom removes the key of a task from a set of a map, and an empty set from the map.
func removeFrom[K comparable](sets map[K]*ordered, of K, key task.Key) {
	if o := sets[of]; o != nil {
		if o.remove(task.Cursor{Key: key}); len(*o) == 0 {
			delete(sets, of)
		}
	}
}
