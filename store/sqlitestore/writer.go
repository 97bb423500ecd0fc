package sqlitestore

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// keyBlock is the number of keys that the writer takes from the sequence at once. The remainder
// of a block is lost when the process ends.
const keyBlock = 4096

// writer is the only writer of the file. Its fields, except queue, belong to the goroutine that
// runs loop.
type writer struct {
	queue *sqlstore.Queue[*request]
	opts  connOptions
	tune  func(*conn) error
	// committed is called after each commit; nil if not configured.
	committed func(Commit)
	// damaged is called after a commit has met damaged data; nil before the writer runs.
	damaged func(subject, error)
	// replaced is called after rescue; nil if not configured.
	replaced func(error)

	files *files
	mark  markFile
	// checkpointer is nil before the writer runs.
	checkpointer *checkpointer
	// accept allows a file that has lost data, and loss describes it.
	accept bool
	loss   *Loss
	// gone is set when the files are no longer those that were opened.
	gone atomic.Pointer[error]

	// notShrunk is the time of the last failed attempt to shrink the log on a full disk.
	notShrunk time.Time

	// known is the identity of the file with its last commit.
	known    mark
	conn     *conn // nil after a failure, until the next batch
	scopes   tables.Scopes
	counters tables.Counters
	// The keys from nextKey up to lastKey, exclusive, are free for new tasks.
	nextKey, lastKey int64
	// nextPiece is the id of the next piece; zero until the first one. staged are the first pieces of
	// the changes that are being written in pieces by this process.
	nextPiece int64
	staged    map[int64]bool
	moments   moments
	// keepMoments is the number of moments that the timeline keeps.
	keepMoments int64
}

func newWriter(opts connOptions, tune func(*conn) error) *writer {
	return &writer{queue: sqlstore.NewQueue[*request](errClosed), opts: opts, tune: tune, moments: moments{last: -1}, staged: map[int64]bool{}}
}

// first opens the file, migrates it to the newest layout and prepares all statements, which
// fails if the layout is not as recorded.
func (w *writer) first() error {
	steps, err := sqlstore.Migrations(schema)
	if err != nil {
		return err
	}
	have, claim, err := w.inspect(steps)
	if err != nil {
		return err
	}
	c, err := openConn(w.opts)
	if err != nil {
		return err
	}
	if err = migrate(c, steps, have); err == nil {
		err = w.begin(c, claim)
	}
	if err == nil {
		err = w.use(c)
	}
	if err != nil {
		return errors.Join(err, c.close())
	}
	for q := range queries {
		if s := c.start(query(q)); s.err != nil {
			return errors.Join(fmt.Errorf("%w: %w", ErrDamaged, s.err), c.close())
		}
	}
	return nil
}

// inspect returns the layout of the file and its mark, before anything is changed. A connection
// that may write would merge the write-ahead log into the file when it is closed.
func (w *writer) inspect(steps []sqlstore.Migration) (have int, claim *mark, err error) {
	opts := w.opts
	opts.readOnly = true
	c, err := openConn(opts)
	if sqlite.ErrCode(err) == sqlite.ResultReadOnlyRollback {
		if err = w.rollBack(); err == nil {
			c, err = openConn(opts)
		}
	}
	if err != nil {
		return 0, nil, err
	}
	if have, err = recognize(c, steps); err == nil {
		claim, err = w.compare(c)
	}
	return have, claim, errors.Join(err, c.close())
}

// rollBack undoes the unfinished creation of the file, whose process was killed before the file had a
// write-ahead log.
func (w *writer) rollBack() error {
	c, err := openConn(w.opts)
	if err != nil {
		return err
	}
	return c.close()
}

// begin reads the identity of the file, and opens its mark, which continues with claim.
func (w *writer) begin(c *conn, claim *mark) (err error) {
	if w.known, err = identity(c); err != nil {
		return err
	}
	if claim == nil {
		// The commits that were found may not be synced yet; the next commit syncs them.
		claim = &mark{store: w.known.store}
	}
	w.mark, err = openMark(w.opts.path, claim)
	return err
}

func (w *writer) use(c *conn) error {
	if w.tune != nil {
		if err := w.tune(c); err != nil {
			return err
		}
	}
	w.conn = c
	return nil
}

// open opens the connection if there is none.
func (w *writer) open() error {
	if w.conn != nil {
		return nil
	}
	c, err := openConn(w.opts)
	if err != nil {
		return err
	}
	if err := w.use(c); err != nil {
		return errors.Join(err, c.close())
	}
	return nil
}

// forget closes the connection and clears all data cached from it. The connection may be the
// last one, which removes the write-ahead log.
func (w *writer) forget() {
	if w.conn != nil {
		_ = w.conn.close() // it has failed already
		w.conn = nil
	}
	if w.files != nil {
		w.files.writeFailed()
	}
	w.scopes.Clear()
	w.counters.Clear()
	w.nextKey, w.lastKey, w.moments.last = 0, 0, -1
}

// loop writes until the queue is closed and empty.
func (w *writer) loop() {
	batch := make([]*request, 0, sqlstore.MaxBatch)
	for {
		// Callers that just got an answer often have another write at once. Letting them run
		// first makes batches several times as large on a busy machine.
		runtime.Gosched()
		batch = w.queue.Take(batch[:0])
		if len(batch) == 0 {
			return
		}
		w.commit(batch)
		clear(batch)
		if w.gone.Load() != nil {
			w.rescue()
			if w.replaced != nil {
				w.replaced(*w.gone.Load())
			}
			return
		}
	}
}

func (w *writer) close() error {
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}

// commit writes a batch and answers its requests.
func (w *writer) commit(batch []*request) {
	began := time.Now()
	err := w.try(batch)
	if err == nil {
		err = w.confirm()
	}
	if err != nil {
		err = w.failed(err)
	} else if w.checkpointer.tight.Swap(false) {
		_ = w.truncate() // the next round of the checkpointer asks again
	}
	if w.committed != nil {
		w.committed(Commit{Changes: len(batch), Took: time.Since(began), Err: err})
	}
	w.checkpointer.wrote(pagesOfCommit)
	for _, r := range batch {
		w.checkpointer.wrote(r.size + pagesOfChange)
		// After the answer, the caller may reuse r.
		if err != nil {
			r.done <- err
		} else {
			r.done <- r.err
		}
	}
}

// failed prepares the next attempt after an error, and returns the error for the callers.
func (w *writer) failed(err error) error {
	if !errors.Is(err, ErrReplaced) {
		w.forget()
		if err = unavailable(err); errors.Is(err, task.ErrFull) {
			w.shrink()
		}
		if w.damaged != nil {
			w.damaged(subject{}, err)
		}
		return err
	}
	// The connection still has the files, and is needed to rescue their data.
	err = unavailable(err)
	w.gone.Store(&err)
	w.queue.Fail(err)
	return err
}

var qTruncate = prepared("PRAGMA wal_checkpoint(TRUNCATE)")

// errBusy is returned by truncate if a reader needs the log.
var errBusy = errors.New("a reader needs the log")

// truncate moves all pages of the log into the file and gives the space of the log back.
func (w *writer) truncate() error {
	w.conn.raw.SetBusyTimeout(0)
	defer w.conn.raw.SetBusyTimeout(busyTimeout)
	s := w.conn.start(qTruncate)
	busy, err := s.only()
	if err == nil && busy != 0 {
		return errBusy
	}
	return err
}

// shrinkEvery is the time after a failed attempt to shrink the log of a full disk. An attempt reads the
// whole log.
const shrinkEvery = time.Second

// shrink gives the space of the log back to a full disk, for the next commits and other files of the
// folder. It fails if the file must grow for pages that the checkpointer has not moved yet.
func (w *writer) shrink() {
	if time.Since(w.notShrunk) < shrinkEvery || w.open() != nil {
		return
	}
	if w.truncate() != nil {
		w.notShrunk = time.Now()
	}
	w.forget()
}

// try writes a batch in one transaction. After an error, the outcome of the whole batch is
// unknown.
func (w *writer) try(batch []*request) error {
	if err := w.examined(w.files.before()); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	if err := w.conn.run(qBeginNow); err != nil {
		return err
	}
	w.moments.Reset()
	for _, r := range batch {
		if err := w.apply(r); err != nil {
			return err
		}
	}
	if err := w.counters.Flush(w.count); err != nil {
		return err
	}
	if err := w.flushMoments(); err != nil {
		return err
	}
	s := w.conn.start(qCountCommit)
	n, err := s.only()
	if err != nil {
		return fmt.Errorf("count commit: %w", err)
	}
	if err := w.conn.run(qCommit); err != nil {
		return err
	}
	w.known.commits, w.known.at = n, task.MillisOf(time.Now())
	return nil
}

// confirm checks that the commit is in the files of the folder, and marks it.
func (w *writer) confirm() error {
	if err := w.examined(w.files.after()); err != nil {
		return err
	}
	w.mark.write(&w.known)
	return nil
}

func (w *writer) apply(r *request) error {
	if r.job != nil {
		return r.job(w)
	}
	var err error
	r.err, err = w.store(&r.change)
	return err
}

var qTakeKeys = prepared("UPDATE sequence SET next_key = next_key + ? WHERE one = 1 RETURNING next_key")

// peekKey returns the key for the next new task.
func (w *writer) peekKey() (int64, error) {
	if w.nextKey < w.lastKey {
		return w.nextKey, nil
	}
	s := w.conn.start(qTakeKeys)
	s.int(keyBlock)
	end, err := s.only()
	if err != nil {
		return 0, fmt.Errorf("take keys: %w", err)
	}
	if end > sqlstore.MaxKey {
		return 0, errors.New("no keys are left")
	}
	w.nextKey, w.lastKey = end-keyBlock, end
	return w.nextKey, nil
}
