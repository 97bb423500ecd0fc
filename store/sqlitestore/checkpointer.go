package sqlitestore

import (
	"os"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/file/diskspace"
	"github.com/parley-a2a/parley/internal/wake"
)

// checkpointEvery is the number of bytes of writes after which the checkpointer works.
const checkpointEvery = 8 << 20

// pagesOfCommit is about the number of bytes of the pages that each commit writes, and pagesOfChange of
// those that a change adds besides its own.
const (
	pagesOfCommit = 24 << 10
	pagesOfChange = 4 << 10
)

// Limits of one round of the checkpointer. Pages that are written meanwhile need a further pass.
const (
	maxPasses   = 4
	fewPages    = 256
	passesCache = 1 << 20
)

// checkpointer moves pages from the write-ahead log into the file while the writer commits. The
// writer moves the last ones itself once the log has walPages pages, because SQLite uses a log from
// its beginning again only when all its pages were moved. All callers wait for that, and for two
// further syncs. Errors have no effect: the writer meets them as well.
type checkpointer struct {
	opts  connOptions
	files *files
	wake  wake.Signal
	done  chan struct{}
	// bytes is about the number of bytes that were written since the last signal. It belongs to the
	// writer.
	bytes int
	// tight is set when the disk has no room for the rest of the log. The writer then gives the space of
	// the log back after its next commit.
	tight atomic.Bool
}

func newCheckpointer(opts connOptions, f *files) *checkpointer {
	opts.cache = passesCache
	return &checkpointer{opts: opts, files: f, wake: wake.New(), done: make(chan struct{})}
}

// wrote counts size bytes that the writer has written.
func (cp *checkpointer) wrote(size int) {
	if cp.bytes += size; cp.bytes >= checkpointEvery {
		cp.bytes = 0
		cp.wake.Send()
	}
}

// loop works until close.
func (cp *checkpointer) loop() {
	var c *conn
	defer func() {
		if c != nil {
			_ = c.close() // it has written a part
		}
	}()
	for {
		select {
		case <-cp.done:
			return
		case <-cp.wake:
		}
		if c == nil {
			// A file that was replaced has a log that is not ours.
			if s, err := cp.files.look(); s != intact || err != nil {
				continue
			}
			var err error
			if c, err = openConn(cp.opts); err != nil {
				c = nil
				continue
			}
		}
		if err := cp.round(c); err != nil {
			_ = c.close() // it has failed already
			c = nil
		}
	}
}

// round moves the pages of the log until few are left, and syncs the file, so that the writer has
// little left to do before it uses the log from its beginning again.
func (cp *checkpointer) round(c *conn) error {
	for range maxPasses {
		left, err := passive(c)
		if err != nil {
			return err
		}
		if left <= fewPages {
			break
		}
	}
	if err := cp.files.db.Sync(); err != nil {
		return err
	}
	if tight(cp.opts.path) {
		cp.tight.Store(true)
	}
	return nil
}

// tight reports whether the disk of the file at path has no room for a log of its full size. It is false
// if the free space is unknown.
func tight(path string) bool {
	log, err := os.Stat(path + "-wal")
	if err != nil {
		return false
	}
	free, total := diskspace.Of(path)
	return total > 0 && log.Size()+int64(min(free, maxWAL)) < maxWAL //nolint:gosec // not more than maxWAL
}

var qCheckpoint = prepared("PRAGMA wal_checkpoint(PASSIVE)")

// passive moves the pages that no reader needs, and returns the number of those that are left.
func passive(c *conn) (left int64, err error) {
	s := c.start(qCheckpoint)
	for s.next() {
		busy, log, moved := s.Int(), s.Int(), s.Int()
		if busy == 0 {
			left = log - moved
		}
	}
	return left, s.err
}

func (cp *checkpointer) close() { close(cp.done) }
