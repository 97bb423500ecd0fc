package memstore

import (
	"encoding/binary"

	"github.com/parley-a2a/parley/internal/varint"
	"github.com/parley-a2a/parley/task"
)

// arena keeps the bytes of many tasks in a few large chunks without pointers, so that the
// garbage collector has next to nothing to do for them, regardless of their number. The zero
// arena is empty.
type arena struct {
	// locations are grouped in pages by the upper bits of the key: keys are dense, and a page is
	// found faster than each single location would be.
	pages map[task.Key]*locationPage
	// size is the number of tasks.
	size   int
	chunks []chunk
	// spare are the indexes of removed chunks.
	spare []uint32
	// open is the index of the chunk that is being filled; meaningless while chunks is empty.
	open uint32
}

// location is the position of the bytes of a task. Their length precedes them.
type location struct {
	// chunk is the index of the chunk plus one; zero if there is no task.
	chunk, from uint32
}

// locationPage holds the locations of a page of consecutive keys.
type locationPage struct {
	size      int
	locations [1 << pageBits]location
}

const pageBits = 8

// at returns the location of key, or the zero location.
func (a *arena) at(key task.Key) location {
	if p := a.pages[key>>pageBits]; p != nil {
		return p.locations[key&(1<<pageBits-1)]
	}
	return location{}
}

// set sets the location of key; the zero location deletes it.
func (a *arena) set(key task.Key, to location) {
	p := a.pages[key>>pageBits]
	if p == nil {
		if a.pages == nil {
			a.pages = make(map[task.Key]*locationPage)
		}
		p = new(locationPage)
		a.pages[key>>pageBits] = p
	}
	was := &p.locations[key&(1<<pageBits-1)]
	change := 0
	if *was != (location{}) {
		change--
	}
	if to != (location{}) {
		change++
	}
	*was = to
	a.size += change
	if p.size += change; p.size == 0 {
		delete(a.pages, key>>pageBits)
	}
}

// chunk is a sequence of keys and bytes. Written bytes are never overwritten, so that readers
// need no lock.
type chunk struct {
	b []byte
	// live is the number of bytes of b that belong to existing tasks.
	live int
}

// chunkSize is the size of a chunk in bytes. A task that needs more has a chunk of its own.
const chunkSize = 256 << 10

// put stores a copy of b for key, which must not exist.
func (a *arena) put(key task.Key, b []byte) {
	before := a.open
	i := a.chunkFor(2*binary.MaxVarintLen64 + len(b))
	c := &a.chunks[i]
	from := len(c.b)
	c.b = binary.AppendUvarint(c.b, uint64(key))
	c.b = varint.AppendBytes(c.b, b)
	c.live += len(c.b) - from
	a.set(key, location{i + 1, uint32(from)})
	if before != a.open {
		a.tidy(before)
	}
}

// chunkFor returns a chunk with room for n bytes.
func (a *arena) chunkFor(n int) uint32 {
	if n > chunkSize {
		return a.add(n)
	}
	if len(a.chunks) == 0 || cap(a.chunks[a.open].b)-len(a.chunks[a.open].b) < n {
		a.open = a.add(chunkSize)
	}
	return a.open
}

func (a *arena) add(n int) uint32 {
	c := chunk{b: make([]byte, 0, n)}
	if last := len(a.spare) - 1; last >= 0 {
		i := a.spare[last]
		a.spare = a.spare[:last]
		a.chunks[i] = c
		return i
	}
	a.chunks = append(a.chunks, c)
	return uint32(len(a.chunks) - 1)
}

// has reports whether key exists.
func (a *arena) has(key task.Key) bool { return a.at(key) != (location{}) }

// get returns the bytes of key. They stay unchanged even if the task is removed.
func (a *arena) get(key task.Key) ([]byte, bool) {
	p := a.at(key)
	if p == (location{}) {
		return nil, false
	}
	r := varint.Reader{Left: a.chunks[p.chunk-1].b[p.from:]}
	r.Uint()
	return r.Bytes(), true
}

// remove deletes key.
func (a *arena) remove(key task.Key) {
	p := a.at(key)
	if p == (location{}) {
		return
	}
	a.set(key, location{})
	c := &a.chunks[p.chunk-1]
	r := varint.Reader{Left: c.b[p.from:]}
	r.Uint()
	r.Bytes()
	c.live -= len(c.b) - int(p.from) - len(r.Left)
	a.tidy(p.chunk - 1)
}

// tidy drops chunk i if it is nearly empty, and moves the remaining tasks. The cost is less
// than that of the removals since.
func (a *arena) tidy(i uint32) {
	c := a.chunks[i]
	if a.size == 0 {
		*a = arena{}
		return
	}
	if i == a.open || c.live*4 > len(c.b) {
		return
	}
	for r := (varint.Reader{Left: c.b}); len(r.Left) > 0; {
		from := len(c.b) - len(r.Left)
		key := task.Key(r.Uint())
		b := r.Bytes()
		if a.at(key) == (location{i + 1, uint32(from)}) {
			a.put(key, b)
		}
	}
	a.chunks[i] = chunk{}
	a.spare = append(a.spare, i)
}
