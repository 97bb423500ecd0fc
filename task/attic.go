package task

import "encoding/binary"

// attic keeps the bytes of many tasks in a few large chunks without pointers, so that
// the garbage collector has next to nothing to do for them, however many they are.
// The zero attic is empty.
type attic struct {
	// places are by the upper bits of the key: keys are dense, and a page of places is
	// found faster than each of them would be.
	places map[Key]*placePage
	// size is the number of tasks.
	size   int
	chunks []chunk
	// spare are the places of chunks that are gone.
	spare []uint32
	// open is the chunk that is being filled; it is none while chunks is empty.
	open uint32
}

// place says where the bytes of a task are. Their length stands in front of them.
type place struct {
	// chunk is one more than the index of the chunk; zero if there is no task.
	chunk, from uint32
}

// placePage is the places of as many keys as it has room for.
type placePage struct {
	size   int
	places [1 << pageBits]place
}

const pageBits = 8

// at returns the place of key, or the zero place.
func (a *attic) at(key Key) place {
	if p := a.places[key>>pageBits]; p != nil {
		return p.places[key&(1<<pageBits-1)]
	}
	return place{}
}

// set sets the place of key; the zero place forgets it.
func (a *attic) set(key Key, to place) {
	p := a.places[key>>pageBits]
	if p == nil {
		if a.places == nil {
			a.places = make(map[Key]*placePage)
		}
		p = new(placePage)
		a.places[key>>pageBits] = p
	}
	was := &p.places[key&(1<<pageBits-1)]
	change := 0
	if *was != (place{}) {
		change--
	}
	if to != (place{}) {
		change++
	}
	*was = to
	a.size += change
	if p.size += change; p.size == 0 {
		delete(a.places, key>>pageBits)
	}
}

// chunk is a sequence of keys and bytes. What was written is never overwritten, so
// that readers need no lock.
type chunk struct {
	b []byte
	// live is how many bytes of b belong to tasks that are still there.
	live int
}

// chunkSize is the size of a chunk. Tasks that need more have one to themselves.
const chunkSize = 256 << 10

// put keeps b, which is copied, for key, which must not be there.
func (a *attic) put(key Key, b []byte) {
	before := a.open
	i := a.room(2*binary.MaxVarintLen64 + len(b))
	c := &a.chunks[i]
	from := len(c.b)
	c.b = binary.AppendUvarint(c.b, uint64(key))
	c.b = appendBytes(c.b, b)
	c.live += len(c.b) - from
	a.set(key, place{i + 1, uint32(from)})
	if before != a.open {
		a.tidy(before)
	}
}

// room returns a chunk with room for n bytes.
func (a *attic) room(n int) uint32 {
	if n > chunkSize {
		return a.add(n)
	}
	if len(a.chunks) == 0 || cap(a.chunks[a.open].b)-len(a.chunks[a.open].b) < n {
		a.open = a.add(chunkSize)
	}
	return a.open
}

func (a *attic) add(n int) uint32 {
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

// has reports whether key is there.
func (a *attic) has(key Key) bool { return a.at(key) != (place{}) }

// get returns the bytes of key, which stay as they are even if the task goes.
func (a *attic) get(key Key) ([]byte, bool) {
	p := a.at(key)
	if p == (place{}) {
		return nil, false
	}
	r := reader{b: a.chunks[p.chunk-1].b[p.from:]}
	r.uvarint()
	return r.bytes(), true
}

// remove forgets key.
func (a *attic) remove(key Key) {
	p := a.at(key)
	if p == (place{}) {
		return
	}
	a.set(key, place{})
	c := &a.chunks[p.chunk-1]
	r := reader{b: c.b[p.from:]}
	r.uvarint()
	r.bytes()
	c.live -= len(c.b) - int(p.from) - len(r.b)
	a.tidy(p.chunk - 1)
}

// tidy drops chunk i if it is nearly empty, and moves what is left of it. That costs
// less than what has been removed from it since.
func (a *attic) tidy(i uint32) {
	c := a.chunks[i]
	if a.size == 0 {
		*a = attic{}
		return
	}
	if i == a.open || c.live*4 > len(c.b) {
		return
	}
	for r := (reader{b: c.b}); len(r.b) > 0; {
		from := len(c.b) - len(r.b)
		key := Key(r.uvarint())
		b := r.bytes()
		if a.at(key) == (place{i + 1, uint32(from)}) {
			a.put(key, b)
		}
	}
	a.chunks[i] = chunk{}
	a.spare = append(a.spare, i)
}
