package shards

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// maxPlaces bounds the places of owners that are known without asking the home.
const maxPlaces = 1 << 17

// owners knows the places of owners, and the operations that use them.
type owners struct {
	db *DB

	mu     sync.Mutex // guards the fields below
	places map[task.Owner]int
	// busy counts the operations of each owner.
	busy map[task.Owner]int
	// held are the owners that are about to change their places: their operations wait.
	held map[task.Owner]*hold
	// paused is not nil while this hub joins again: operations wait until it is closed. quiet is closed once none is
	// left that has begun before.
	paused, quiet chan struct{}
}

// hold makes the operations of an owner wait.
type hold struct {
	turn int64
	// idle is closed once no operation is left that has begun before, and ended once the owner has a place again.
	idle, ended chan struct{}
}

// enter waits until no owner is held, and keeps all where they are until leave is called.
func (o *owners) enter(ctx context.Context, all ...task.Owner) (leave func(), err error) {
	for {
		wait := o.tryEnter(all)
		if wait == nil {
			return func() { o.leave(all) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fmt.Errorf("an owner changes its database, or this hub joins again: %w: %w", task.ErrUnavailable, context.Cause(ctx))
		}
	}
}

// tryEnter counts an operation of owners; or it returns a channel to wait for before the next attempt.
func (o *owners) tryEnter(all []task.Owner) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.paused != nil {
		return o.paused
	}
	for _, owner := range all {
		if h := o.held[owner]; h != nil {
			return h.ended
		}
	}
	if o.busy == nil {
		o.busy = make(map[task.Owner]int)
	}
	for _, owner := range all {
		o.busy[owner]++
	}
	return nil
}

func (o *owners) leave(all []task.Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, owner := range all {
		if o.busy[owner]--; o.busy[owner] > 0 {
			continue
		}
		delete(o.busy, owner)
		if o.quiet != nil && len(o.busy) == 0 {
			close(o.quiet)
		}
		if h := o.held[owner]; h != nil {
			close(h.idle)
		}
	}
}

// pauseLimit is the time limit for operations that have begun before a pause. Usual ones end within ten seconds.
const pauseLimit = 15 * time.Second

// pause makes all operations wait until resume is called, and returns when those that had begun have ended.
func (o *owners) pause(ctx context.Context) (resume func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pauseLimit, errors.New("operations of owners do not end"))
	defer cancel()
	paused, quiet := make(chan struct{}), make(chan struct{})
	o.mu.Lock()
	if o.paused, o.quiet = paused, quiet; len(o.busy) == 0 {
		close(quiet)
	}
	o.mu.Unlock()
	resume = func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.paused, o.quiet = nil, nil
		close(paused)
	}
	select {
	case <-quiet:
		return resume, nil
	case <-ctx.Done():
		resume()
		return nil, context.Cause(ctx)
	}
}

// hold makes later operations of an owner wait.
func (o *owners) hold(owner task.Owner, turn int64) *hold {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h := o.held[owner]; h != nil {
		h.turn = turn
		return h
	}
	h := &hold{turn: turn, idle: make(chan struct{}), ended: make(chan struct{})}
	if o.busy[owner] == 0 {
		close(h.idle)
	}
	if o.held == nil {
		o.held = make(map[task.Owner]*hold)
	}
	o.held[owner] = h
	return h
}

// release lets the operations of an owner continue. The next one asks the home for its place.
func (o *owners) release(owner task.Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.places, owner)
	if h := o.held[owner]; h != nil {
		delete(o.held, owner)
		close(h.ended)
	}
}

// holds returns the turns of the owners that are held.
func (o *owners) holds() map[task.Owner]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[task.Owner]int64, len(o.held))
	for owner, h := range o.held {
		all[owner] = h.turn
	}
	return all
}

// forget forgets all places.
func (o *owners) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.places)
}

// find returns the shard of an owner; nil if it has none yet.
func (o *owners) find(ctx context.Context, owner task.Owner) (*shard, error) {
	o.mu.Lock()
	number, known := o.places[owner]
	o.mu.Unlock()
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
	number, err := o.db.home().db.PlaceOwner(ctx, owner, o.db.best(owner).number)
	if err != nil {
		return nil, err
	}
	return o.learn(owner, number)
}

// best returns the shard for an owner without one.
func (db *DB) best(owner task.Owner) *shard {
	var best *shard
	for _, s := range db.all {
		if s.away.Load() || s.drained.Load() {
			continue
		}
		if best == nil || score(s.number, owner) > score(best.number, owner) {
			best = s
		}
	}
	if best == nil {
		return db.home()
	}
	return best
}

// score orders the shards for an owner by rendezvous hashing.
func score(number int, owner task.Owner) uint64 {
	b := binary.BigEndian.AppendUint16(nil, uint16(number))
	sum := sha256.Sum256(append(b, owner...))
	return binary.BigEndian.Uint64(sum[:])
}

// learn notes the place of an owner.
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

// ofOwner lets f use the shard of an owner, which the owner keeps meanwhile. It returns ErrNotFound for an
// owner without a shard, and so without tasks.
func (db *DB) ofOwner(ctx context.Context, owner task.Owner, f func(pgstore.Tasks) error) error {
	return db.at(ctx, owner, db.owners.find, func(s *shard) error { return s.use(f) })
}

// at lets f use the shard of an owner that find returns.
func (db *DB) at(ctx context.Context, owner task.Owner, find func(context.Context, task.Owner) (*shard, error), f func(*shard) error) error {
	leave, err := db.owners.enter(ctx, owner)
	if err != nil {
		return err
	}
	defer leave()
	s, err := find(ctx, owner)
	if err == nil && s == nil {
		err = task.ErrNotFound
	}
	if err != nil {
		return err
	}
	return f(s)
}

// ofTask lets f use the shard of a task.
func (db *DB) ofTask(ctx context.Context, key task.Key, f func(pgstore.Tasks) error) error {
	owner, err := db.ownerOf(ctx, key)
	if err != nil {
		return err
	}
	return db.ofOwner(ctx, owner, f)
}

// ofTasks lets f use each shard that has some of the tasks. at are the positions of their keys. Tasks that are
// in no shard that answers are left out.
func (db *DB) ofTasks(ctx context.Context, keys []task.Key, f func(s *shard, at []int) error) error {
	names := make([]task.Owner, len(keys))
	all := make(map[task.Owner]*shard)
	for i, key := range keys {
		owner, err := db.ownerOf(ctx, key)
		if away(err) != nil && !isMissing(err) {
			return err
		}
		if err == nil {
			names[i], all[owner] = owner, nil
		}
	}
	leave, err := db.owners.enter(ctx, slices.Collect(maps.Keys(all))...)
	if err != nil {
		return err
	}
	defer leave()
	for owner := range all {
		if all[owner], err = db.owners.find(ctx, owner); away(err) != nil {
			return err
		}
	}
	for _, s := range db.all {
		var at []int
		for i := range keys {
			if names[i] != "" && all[names[i]] == s {
				at = append(at, i)
			}
		}
		if len(at) > 0 {
			if err := f(s, at); err != nil {
				return err
			}
		}
	}
	return nil
}
