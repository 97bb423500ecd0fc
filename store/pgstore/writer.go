package pgstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/wake"
)

// keyBlock is the number of keys that the writer takes from the sequence at once, which is the increment of
// the sequence. The remainder of a block is lost when the process ends.
const keyBlock = 4096

// writer is the only writer of the database. Its fields, except queue and damages, belong to the goroutine
// that runs loop.
type writer struct {
	damages damages
	queue   *sqlstore.Queue[*request]
	place   *place
	o       *Options

	conn *conn // nil after a failure, until the next batch
	// epoch is the number of this use of the database: every Open begins a new one.
	epoch int64
	// joined is the epoch of the membership, which changes when a lost hub joins again.
	joined atomic.Int64
	// fence is the answer of qFence in a transaction of a member; slot is that of its counters.
	fence    *reply
	slot     int64
	hint     hint
	follower *follower
	scopes   tables.Scopes
	counters tables.Counters
	// The keys from nextKey up to lastKey, exclusive, are free for new tasks. In a shard, they are from home.
	nextKey, lastKey int64
	home             *DB
	moments          sqlstore.Moments
	// ending is set once the end of the transaction was sent.
	ending bool
}

func newWriter(store, direct *place, o *Options) *writer {
	f := &follower{wake: wake.New(), keep: o.KeepMoments, hints: side{place: store, timeout: o.Timeout}, numbers: side{place: store, timeout: o.Timeout}}
	f.others.Store(o.Member != nil)
	if o.Member == nil {
		store = direct // its session holds the lock
	}
	return &writer{queue: sqlstore.NewQueue[*request](errClosed), place: store, o: o, damages: damages{report: o.Damaged}, follower: f}
}

const (
	beginEpoch = "UPDATE sequence SET epoch = epoch + 1 WHERE one = 1 RETURNING epoch"
	readEpoch  = "SELECT epoch FROM sequence WHERE one = 1"
)

// epoch returns the number that a statement returns.
func (c *conn) epoch(ctx context.Context, text string) (int64, error) {
	result := c.raw.ExecParams(ctx, text, nil, nil, nil, formats[:1]).Read()
	if result.Err != nil {
		return 0, result.Err
	}
	if len(result.Rows) != 1 {
		return 0, fmt.Errorf("%w: the sequence is missing: restore a backup", ErrDamaged)
	}
	s := stmt{conn: c, row: result.Rows[0], at: -1}
	return s.Int(), s.err
}

// open connects if there is no connection. Without members, it fails if another hub uses the database, or has used
// it since the last connection: its changes are not known to this one. A member finds out by its fence.
func (w *writer) open() error {
	if w.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.o.Timeout+w.o.LockWait)
	defer cancel()
	c, err := dial(ctx, w.place)
	if err != nil {
		return err
	}
	if w.o.Member == nil {
		if err := w.resume(ctx, c); err != nil {
			return errors.Join(err, c.close())
		}
	}
	w.use(c)
	return nil
}

// use makes c the connection of the writer.
func (w *writer) use(c *conn) { w.conn, c.touched = c, w.touched }

// resume takes the lock of the only hub again.
func (w *writer) resume(ctx context.Context, c *conn) error {
	if err := lock(ctx, c, w.o); err != nil {
		return err
	}
	now, err := c.epoch(ctx, readEpoch)
	if err == nil && now != w.epoch {
		err = fmt.Errorf("%w, or has used it: start this hub again", ErrInUse)
	}
	return err
}

// forget closes the connection and clears all data cached from it.
func (w *writer) forget() {
	if w.conn != nil {
		_ = w.conn.close() // it may have failed already
		w.conn = nil
	}
	w.scopes.Clear()
	w.counters.Clear()
	w.nextKey, w.lastKey = 0, 0
}

// After a commit that took at least longCommit, the writer waits up to a gatherPart of its time for the next
// requests of the callers that it has answered.
const (
	longCommit = 2 * time.Millisecond
	gatherPart = 8
)

// loop writes until the queue is closed and empty.
func (w *writer) loop() {
	defer w.follower.close()
	batch := make([]*request, 0, sqlstore.MaxBatch)
	for {
		// Callers that just got an answer often have another write at once. Letting them run
		// first makes batches several times as large on a busy machine.
		runtime.Gosched()
		batch = w.queue.Take(batch[:0])
		if len(batch) == 0 {
			return
		}
		began := time.Now()
		w.commit(batch)
		if took := time.Since(began); took >= longCommit {
			w.queue.Gather(len(batch), took/gatherPart)
		}
		clear(batch)
	}
}

// commit writes a batch and answers its requests.
func (w *writer) commit(batch []*request) {
	began := time.Now()
	reused := w.conn != nil
	err := w.try(batch)
	for tries := 1; err != nil && !w.ending && tries < maxTries; tries++ {
		// No part of the batch is stored: the connection had ended before, or another hub had locked the same
		// rows in another order.
		if !hasCode(err, deadlock) && !(reused && broken(err)) {
			break
		}
		w.forget()
		reused = false
		err = w.try(batch)
	}
	if err != nil {
		w.forget()
		err = w.damages.met(unavailableNow(err))
	} else {
		w.follower.committed(w.epoch, &w.hint, w.moments.N > 0)
	}
	if w.o.Committed != nil {
		w.o.Committed(Commit{Changes: len(batch), Took: time.Since(began), Err: err})
	}
	for _, r := range batch {
		// After the answer, the caller may reuse r.
		if err != nil {
			r.done <- err
		} else {
			r.done <- r.err
		}
	}
}

// maxTries bounds the attempts to write a batch, and deadlock is the code of the reason for most.
const (
	maxTries = 4
	deadlock = "40P01"
)

var (
	qAddMoments = prepared("INSERT INTO moments (n, data) VALUES ($1, $2)")
	qAlone      = prepared("SELECT pg_advisory_xact_lock(" + strconv.FormatInt(aloneLock, 10) + ")")
)

// try writes a batch in one transaction. After an error, the outcome of the whole batch is unknown if
// ending is set; otherwise no part of it is stored.
func (w *writer) try(batch []*request) error {
	w.ending = false
	if err := w.open(); err != nil {
		return err
	}
	c := w.conn
	if err := c.limit(w.o.Timeout); err != nil {
		return err
	}
	w.moments.Reset()
	w.hint.reset()
	c.begin()
	if err := c.open(qBeginNow); err != nil {
		return err
	}
	if err := w.sendFence(); err != nil {
		return err
	}
	if w.o.Member != nil && slices.ContainsFunc(batch, func(r *request) bool { return r.alone }) {
		if err := c.run(qAlone); err != nil {
			return err
		}
	}
	return w.finish(batch)
}

// finish writes a batch in the transaction that has begun.
func (w *writer) finish(batch []*request) error {
	c := w.conn
	if err := w.applyAll(batch); err != nil {
		return err
	}
	if err := w.checkFence(); err != nil {
		return err
	}
	if err := w.counters.Flush(w.count); err != nil {
		return err
	}
	if w.moments.N > 0 {
		s := c.start(qAddMoments)
		s.int(w.moments.N)
		s.blob(w.moments.Data)
		if err := s.done(); err != nil {
			return fmt.Errorf("insert moments: %w", err)
		}
	}
	if err := w.countTopics(); err != nil {
		return err
	}
	w.ending = true
	if err := c.run(qCommit); err != nil {
		return err
	}
	return c.end()
}

// applyAll applies the changes of a batch and then its jobs: all of them wait at the same time, so
// any order is right.
func (w *writer) applyAll(batch []*request) error {
	if err := w.storeAll(batch); err != nil {
		return err
	}
	for _, r := range batch {
		if r.job == nil {
			continue
		}
		if err := r.job(w); err != nil {
			return err
		}
	}
	return nil
}

var qTakeKeys = prepared("SELECT nextval('task_keys')")

// takeKeys returns the first key of a block.
func (w *writer) takeKeys() (first int64, err error) {
	if w.home == nil {
		s := w.conn.start(qTakeKeys)
		return s.only()
	}
	err = w.home.read(context.Background(), func(c *conn) error {
		s := c.start(qTakeKeys)
		first, err = s.only()
		return err
	})
	return first, err
}

// takeKey returns the key for the next new task.
func (w *writer) takeKey() (int64, error) {
	if w.nextKey == w.lastKey {
		first, err := w.takeKeys()
		if err != nil {
			return 0, fmt.Errorf("take keys: %w", err)
		}
		if first+keyBlock > sqlstore.MaxKey {
			return 0, errors.New("no keys are left")
		}
		w.nextKey, w.lastKey = first, first+keyBlock
	}
	w.nextKey++
	return w.nextKey - 1, nil
}
