package httpfront

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/membudget"
)

const (
	// inMemory is the largest body that is read into memory while it arrives.
	inMemory = 1 << 20
	// spoolStep is the size of the steps in which files reserve their space.
	spoolStep = 1 << 20
)

// readLarge reads the rest of a body of which the buffer holds the beginning: into memory if it
// is of moderate size and there is room, otherwise into a file.
func (x *exchange) readLarge() error {
	limit := min(inMemory, x.front.cfg.Limits.Body)
	most := limit
	if known := x.r.ContentLength; known >= 0 {
		most = known
	}
	if hold, ok := x.tryAcquire(most, limit); ok {
		x.hold = hold
		if x.r.ContentLength >= 0 {
			x.in.b = append(make([]byte, 0, most+1), x.in.b...)
		}
		// One byte more shows the end of the body.
		ended, err := x.readUpTo(most + 1)
		if err != nil || ended {
			return err
		}
	}
	return x.readToFile()
}

// tryAcquire acquires n bytes of memory if they are at most limit and free.
func (x *exchange) tryAcquire(n, limit int64) (*membudget.Hold, bool) {
	if n > limit {
		return nil, false
	}
	return x.front.memory.TryAcquire(n)
}

// readToFile reads the rest of the body into a file.
func (x *exchange) readToFile() error {
	f, err := x.front.spool.create()
	if err != nil {
		return err
	}
	x.spooled = f
	if err := f.write(x.in.b); err != nil {
		return err
	}
	x.hold.Release()
	buf := make([]byte, membudget.Small)
	x.in.b = buf[:0]
	limit := x.front.cfg.Limits.Body
	for {
		n, err := x.r.Body.Read(buf)
		x.got += int64(n)
		if x.got > limit {
			return tooLarge(limit)
		}
		if err := f.write(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			x.readToEnd()
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

// reserve acquires the memory for decoding a large body that has arrived, and loads the body if
// it is in a file. The memory is released when the message is stored.
func (x *exchange) reserve() error {
	hold, err := x.front.memory.Acquire(x.r.Context(), membudget.MessageFactor*x.got)
	if err != nil {
		return err
	}
	x.hold.Release()
	x.hold = hold
	x.caller.Admitted = x.admitted
	if x.spooled == nil {
		return nil
	}
	defer x.closeSpooled()
	b := make([]byte, x.got)
	if _, err := x.spooled.file.ReadAt(b, 0); err != nil {
		return fmt.Errorf("load body: %w", err)
	}
	x.in.b = b
	return nil
}

// admitted releases the memory of a large body whose message is stored.
func (x *exchange) admitted() {
	if x.route.kind == atJob {
		return // an error names the id in the body
	}
	x.id = bytes.Clone(x.id)
	x.release()
	x.hold.Release()
}

// free releases what remains of a large body.
func (x *exchange) free() {
	x.hold.Release()
	x.closeSpooled()
}

func (x *exchange) closeSpooled() {
	if x.spooled != nil {
		x.spooled.close()
		x.spooled = nil
	}
}

// spool makes files for the bodies of large requests while they arrive. It bounds their bytes.
type spool struct {
	dir  string
	most int64
	used atomic.Int64
	// turns has a place for each file that is written now: with more, many large bodies would
	// take the processors from other requests.
	turns chan struct{}
}

// spoolFile is a file without a name.
type spoolFile struct {
	spool *spool
	file  *os.File
	// size is the number of bytes written, reserved that of the bytes counted in the spool.
	size, reserved int64
}

// create creates an empty file.
func (s *spool) create() (*spoolFile, error) {
	f, err := os.CreateTemp(s.dir, "body-*")
	if err != nil {
		return nil, unspooled(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(unspooled(err), f.Close())
	}
	return &spoolFile{spool: s, file: f}, nil
}

// write appends b.
func (f *spoolFile) write(b []byte) error {
	for f.size+int64(len(b)) > f.reserved {
		if f.spool.used.Add(spoolStep) > f.spool.most {
			f.spool.used.Add(-spoolStep)
			return errSpoolFull
		}
		f.reserved += spoolStep
	}
	f.spool.turns <- struct{}{}
	n, err := f.file.Write(b)
	<-f.spool.turns
	f.size += int64(n)
	if err != nil {
		return unspooled(err)
	}
	return nil
}

// close deletes the file.
func (f *spoolFile) close() {
	f.spool.used.Add(-f.reserved)
	f.file.Close()
}

// errSpoolFull is returned if the files of large bodies have reached their limit.
var errSpoolFull = &apierror.Error{
	Err: apierror.ErrExhausted, Message: "the hub receives too many large requests now; send it again later", RetryAfter: 5 * time.Second,
}

// unspooled returns the error for a body that could not be written to its file.
func unspooled(err error) error {
	return errors.Join(&apierror.Error{
		Err: apierror.ErrUnavailable, Message: "the hub cannot receive large requests now", RetryAfter: 5 * time.Second,
	}, fmt.Errorf("spool body: %w", err))
}
