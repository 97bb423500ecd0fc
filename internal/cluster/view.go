package cluster

import (
	"hash/fnv"

	"github.com/parley-a2a/parley/internal/task"
)

// View is a set of members, which share work by its key. The zero View has none.
//
// Each member computes the same owner of a key from the same View. If a member leaves, only the
// keys that it owned get other owners; one that joins gets its keys from all others.
type View struct {
	// Number is the same for two views of a database if and only if they have the same members.
	Number int64
	seats  []seat
}

// seat is a member of a View.
type seat struct {
	id   string
	hash uint64
}

// ViewOf returns the view with some members, which are in the order in which they joined.
func ViewOf(all []Member) (v View) {
	for i := range all {
		v.seats = append(v.seats, seat{all[i].ID, hash(all[i].ID)})
	}
	if n := len(all); n > 0 {
		// Of the members up to the newest epoch none joins again, so their number names them.
		v.Number = all[n-1].Epoch<<16 | int64(n)
	}
	return v
}

// Owner returns the id of the member to which a key belongs; empty without members. It is the one with
// the highest hash of itself and the key.
func (v View) Owner(key uint64) (id string) {
	var most uint64
	for i := range v.seats {
		if s := mix(v.seats[i].hash ^ mix(key)); id == "" || s > most {
			id, most = v.seats[i].id, s
		}
	}
	return id
}

// OwnerOf is Owner for work with a name.
func (v View) OwnerOf(name string) (id string) { return v.Owner(hash(name)) }

// OwnerOfTask is Owner for work that belongs to a task.
func (v View) OwnerOfTask(key task.Key) (id string) { return v.Owner(uint64(key)) } //nolint:gosec // a number of any kind

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return mix(h.Sum64())
}

// mix is the finalizer of SplitMix64: each bit of x changes half of the bits of the result.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
