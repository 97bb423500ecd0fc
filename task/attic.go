package task

import "encoding/binary"

// attic keeps the bytes of many tasks in a few large chunks without pointers, so that
// the garbage collector has next to nothing to do for them, however many they are.
// The zero attic is empty.
type attic struct {
	places map[Key]place
	chunks []chunk
	// spare are the places of chunks that are gone.
	spare []uint32
	// open is the chunk that is being filled; it is none while chunks is empty.
	open uint32
}

// place says where the bytes of a task are. Their length stands in front of them.
type place struct{ chunk, from uint32 }

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
	if a.places == nil {
		a.places = make(map[Key]place)
	}
	a.places[key] = place{i, uint32(from)}
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
func (a *attic) has(key Key) bool {
	_, ok := a.places[key]
	return ok
}

// get returns the bytes of key, which stay as they are even if the task goes.
func (a *attic) get(key Key) ([]byte, bool) {
	p, ok := a.places[key]
	if !ok {
		return nil, false
	}
	r := reader{b: a.chunks[p.chunk].b[p.from:]}
	r.uvarint()
	return r.bytes(), true
}

// remove forgets key.
func (a *attic) remove(key Key) {
	p, ok := a.places[key]
	if !ok {
		return
	}
	delete(a.places, key)
	c := &a.chunks[p.chunk]
	r := reader{b: c.b[p.from:]}
	r.uvarint()
	r.bytes()
	c.live -= len(c.b) - int(p.from) - len(r.b)
	a.tidy(p.chunk)
}

// tidy drops chunk i if it is nearly empty, and moves what is left of it. That costs
// less than what has been removed from it since.
func (a *attic) tidy(i uint32) {
	c := a.chunks[i]
	if len(a.places) == 0 {
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
		if p, ok := a.places[key]; ok && p == (place{i, uint32(from)}) {
			a.put(key, b)
		}
	}
	a.chunks[i] = chunk{}
	a.spare = append(a.spare, i)
}
