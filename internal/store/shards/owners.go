package shards

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/internal/task"
)

// maxPlaces bounds the places of owners that are known without asking the home.
const maxPlaces = 1 << 17

// owners knows the places of owners.
type owners struct {
	db *DB

	mu     sync.RWMutex // guards the field below
	places map[task.Owner]int
}

// find returns the shard of an owner; nil if it has none yet.
func (o *owners) find(ctx context.Context, owner task.Owner) (*shard, error) {
	o.mu.RLock()
	number, known := o.places[owner]
	o.mu.RUnlock()
	if !known {
		var err error
		if number, known, err = o.db.home().db.ShardOf(ctx, owner); !known || err != nil {
			return nil, err
		}
	}
	return o.learn(owner, number)
}

// place is find, and gives an owner without a shard one of those that answer.
func (o *owners) place(ctx context.Context, owner task.Owner) (*shard, error) {
	s, err := o.find(ctx, owner)
	if s != nil || err != nil {
		return s, err
	}
	best := o.db.home()
	for _, s := range o.db.all {
		if !s.away.Load() && score(s.number, owner) > score(best.number, owner) {
			best = s
		}
	}
	number, err := best.number, error(nil)
	if number, err = o.db.home().db.PlaceOwner(ctx, owner, number); err != nil {
		return nil, err
	}
	return o.learn(owner, number)
}

// score orders the shards for an owner by rendezvous hashing.
func score(number int, owner task.Owner) uint64 {
	b := binary.BigEndian.AppendUint16(nil, uint16(number))
	sum := sha256.Sum256(append(b, owner...))
	return binary.BigEndian.Uint64(sum[:])
}

// learn notes the place of an owner, which never changes.
func (o *owners) learn(owner task.Owner, number int) (*shard, error) {
	s := o.db.shard(number)
	if s == nil {
		return nil, fmt.Errorf("%w: shard %d is missing in store.databases of this hub", task.ErrPartly, number)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.places == nil || len(o.places) >= maxPlaces {
		o.places = make(map[task.Owner]int)
	}
	o.places[owner] = number
	return s, nil
}
