package memstore

import (
	"cmp"
	"slices"
	"sort"

	"github.com/parley-a2a/parley/task"
)

// sortedSet is a sorted set of cursors: by time, then by key. It keeps them in blocks of
// bounded length, so that an insertion or removal costs a search and a short move, regardless
// of the size of the set. The newest are at the end, where most changes happen.
type sortedSet struct {
	blocks [][]task.Cursor
	n      int
	// spare is the memory of the last block that became empty: small sets are empty from time
	// to time.
	spare []task.Cursor
}

// maxBlock limits a block. Neighbours that together fill less than half of one are merged.
const maxBlock = 256

func compareCursors(a, b task.Cursor) int {
	if a.At != b.At {
		return cmp.Compare(a.At, b.At)
	}
	return cmp.Compare(a.Key, b.Key)
}

// block returns the index of the first block that does not end before c.
func (o *sortedSet) block(c task.Cursor) int {
	return sort.Search(len(o.blocks), func(i int) bool {
		b := o.blocks[i]
		return compareCursors(b[len(b)-1], c) >= 0
	})
}

// insert adds c, which must not be in the set.
func (o *sortedSet) insert(c task.Cursor) {
	o.n++
	i := o.block(c)
	if i == len(o.blocks) {
		o.push(c)
		return
	}
	b := o.blocks[i]
	at, _ := slices.BinarySearchFunc(b, c, compareCursors)
	b = slices.Insert(b, at, c)
	if len(b) > maxBlock {
		half := slices.Clone(b[maxBlock/2:])
		b = b[:maxBlock/2]
		o.blocks = slices.Insert(o.blocks, i+1, half)
	}
	o.blocks[i] = b
}

// push adds c after all others. Full blocks stay full.
func (o *sortedSet) push(c task.Cursor) {
	last := len(o.blocks) - 1
	if last < 0 || len(o.blocks[last]) == maxBlock {
		b := o.spare
		if o.spare = nil; b == nil {
			b = make([]task.Cursor, 0, 4)
		}
		o.blocks = append(o.blocks, append(b, c))
		return
	}
	o.blocks[last] = append(o.blocks[last], c)
}

// remove removes c, if it is in the set.
func (o *sortedSet) remove(c task.Cursor) {
	i := o.block(c)
	if i == len(o.blocks) {
		return
	}
	at, found := slices.BinarySearchFunc(o.blocks[i], c, compareCursors)
	if !found {
		return
	}
	o.n--
	o.blocks[i] = slices.Delete(o.blocks[i], at, at+1)
	o.tidy(i)
}

// tidy drops block i if it is empty, or merges it with a neighbour if both are short.
func (o *sortedSet) tidy(i int) {
	if len(o.blocks[i]) == 0 {
		o.spare = o.blocks[i]
		o.blocks = slices.Delete(o.blocks, i, i+1)
		return
	}
	for _, left := range [...]int{i - 1, i} {
		if left < 0 || left+1 >= len(o.blocks) {
			continue
		}
		a, b := o.blocks[left], o.blocks[left+1]
		if len(a)+len(b) <= maxBlock/2 {
			o.blocks[left] = append(a, b...)
			o.blocks = slices.Delete(o.blocks, left+1, left+2)
			return
		}
	}
}

// move removes was and inserts is. A cursor without a key is ignored.
func (o *sortedSet) move(was, is task.Cursor) {
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

// since returns the number of cursors that are not before at, but stops above limit.
func (o *sortedSet) since(at task.Millis, limit int) int {
	n := 0
	for i := len(o.blocks) - 1; i >= 0 && n <= limit; i-- {
		b := o.blocks[i]
		from, _ := slices.BinarySearchFunc(b, task.Cursor{At: at}, compareCursors)
		n += len(b) - from
		if from > 0 {
			break
		}
	}
	return n
}

// ascend calls yield for each cursor above after until yield returns false.
func (o *sortedSet) ascend(after task.Cursor, yield func(task.Cursor) bool) {
	for i := o.block(after); i < len(o.blocks); i++ {
		for _, c := range o.blocks[i] {
			if compareCursors(c, after) > 0 && !yield(c) {
				return
			}
		}
	}
}

// reverseIter iterates over a sortedSet in descending order. It is valid until the set changes.
type reverseIter struct {
	blocks [][]task.Cursor
	// block and next are the position of the next cursor; block < 0 at the end.
	block, next int
}

// below returns an iterator over the cursors before c, or over all if c is zero.
func (o *sortedSet) below(c task.Cursor) reverseIter {
	d := reverseIter{blocks: o.blocks, block: len(o.blocks) - 1}
	if c != (task.Cursor{}) {
		d.block = min(o.block(c), d.block)
	}
	if d.block < 0 {
		return d
	}
	d.next = len(o.blocks[d.block]) - 1
	if c != (task.Cursor{}) {
		at, _ := slices.BinarySearchFunc(o.blocks[d.block], c, compareCursors)
		d.next = at - 1
	}
	d.settle()
	return d
}

func (d *reverseIter) settle() {
	if d.next < 0 {
		if d.block--; d.block >= 0 {
			d.next = len(d.blocks[d.block]) - 1
		}
	}
}

// peek returns the next cursor, if there is one.
func (d *reverseIter) peek() (task.Cursor, bool) {
	if d.block < 0 {
		return task.Cursor{}, false
	}
	return d.blocks[d.block][d.next], true
}

func (d *reverseIter) step() {
	d.next--
	d.settle()
}
