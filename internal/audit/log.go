package audit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// ErrUnwritable is wrapped by errors about entries that cannot be written.
var ErrUnwritable = errors.New("the audit log cannot be written")

// Options configure a log. Dir and Key are required.
type Options struct {
	// Dir is the folder of the segments. If it does not exist, it is created with access for
	// its owner only.
	Dir string
	// Key signs the log.
	Key ed25519.PrivateKey
	// Level selects the entries that are logged; empty means Tasks. Open rejects Off.
	Level Level
	// SegmentSize is the size in bytes at which a segment ends; zero means 16 MiB.
	SegmentSize int64
	// KeepAge and KeepSize limit the age of entries and the total size of segments in bytes;
	// the oldest segments beyond them are removed. Zero means no limit.
	KeepAge  time.Duration
	KeepSize int64
	// Logger receives write errors, and the findings of Open. If nil, nothing is logged.
	Logger *slog.Logger
}

const (
	defaultSegment = 16 << 20
	// maxBatch is the maximum number of bytes that wait for the disk.
	maxBatch = 1 << 20
	// soon is the time for which an entry of Note may wait for others.
	soon = 100 * time.Millisecond
	// tidyEvery is the interval of periodic work.
	tidyEvery = 10 * time.Second
	// signEvery and signEntries limit the time and the number of entries between signatures.
	signEvery   = 10 * time.Minute
	signEntries = 4096
)

// Log is an open audit log. Open returns one. It is safe for concurrent use.
type Log struct {
	o    Options
	id   string
	wake wake.Signal // a caller waits for an entry
	note wake.Signal // an entry without a waiting caller was added
	quit chan struct{}
	wg   sync.WaitGroup
	// closing makes a second Close wait for the first.
	closing sync.Once

	mu      sync.Mutex                  // guards the fields below; never held during disk access
	observe func(seq uint64, r *Record) // nil for none
	place   position                    // position of the next entry
	batch   *batch                      // the next batch for the writer
	fresh   bool                        // the batch begins a segment
	closed  bool
	trouble error // error of the last write; nil if it succeeded
	lost    uint64
	since   time.Time // time of the first lost entry
	unsaid  int       // entries since the last signature
	signed  time.Time // time of the last signature
	tally   tally
	head    Mark   // the last entry on disk
	spare   []byte // buffer for the next batch

	// The fields below are used only by Open and then by the writer.
	disk    disk
	plan    plan
	planned time.Time
}

// batch is a group of entries that are written together.
type batch struct {
	buf []byte
	n   int
	// asked is the number of entries from callers, without those of the log itself.
	asked int
	// lost is the number of lost entries that this batch reports.
	lost uint64
	// seal makes the writer record the last entry in head.json before callers are notified.
	seal bool
	// rotate ends the segment after this batch.
	rotate bool
	// remove are segments that are deleted after this batch is written.
	remove []string
	first  uint64
	last   Mark
	done   chan struct{} // closed after err is set
	err    error
}

// Pending is an entry on its way to the disk. The zero value counts as written.
type Pending struct {
	// Seq is the number of the entry; zero if it is not logged.
	Seq   uint64
	batch *batch
}

// Wait returns nil as soon as the entry is on disk. If it cannot be written, the error wraps
// ErrUnwritable, and the entry is not in the log.
func (p Pending) Wait() error {
	if p.batch == nil {
		return nil
	}
	<-p.batch.done
	return p.batch.err
}

// Has reports whether an action is logged. A nil Log logs nothing.
func (l *Log) Has(a Action) bool { return l != nil && l.o.Level.Has(a) }

// ID returns the random name of the log, which is part of each segment.
func (l *Log) ID() string { return l.id }

// Dir returns the folder of the log.
func (l *Log) Dir() string { return l.o.Dir }

// Key returns the public key for the signatures of the log.
func (l *Log) Key() ed25519.PublicKey { return l.o.Key.Public().(ed25519.PublicKey) }

// Head returns the last entry on disk.
func (l *Log) Head() Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Trouble returns the error that prevents writes; nil if there is none.
func (l *Log) Trouble() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// Observe makes the log call f with each new entry and its number, before it is on disk. f must
// return at once, must not retain the record, and must not call the log. A nil Log ignores it.
func (l *Log) Observe(f func(seq uint64, r *Record)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.observe = f
}

// Begin passes an entry to the writer and returns before it is written. A caller that must know
// the result calls Wait, possibly after other work. While entries cannot be written, Begin
// itself waits for a write, so that the caller gets the error before it acts.
func (l *Log) Begin(r *Record) (Pending, error) {
	if !l.Has(r.Action) {
		return Pending{}, nil
	}
	for {
		p, full, err := l.enter(r, true)
		if err != nil {
			return Pending{}, err
		}
		if full == nil {
			if l.Trouble() != nil {
				return p, p.Wait()
			}
			return p, nil
		}
		<-full.done
	}
}

// Append writes an entry and returns after it is on disk.
func (l *Log) Append(r *Record) error {
	p, err := l.Begin(r)
	if err != nil {
		return err
	}
	return p.Wait()
}

// Note passes an entry to the writer without waiting for it. It is written shortly afterwards;
// if it cannot be written, or if too many entries wait already, it is counted as lost.
func (l *Log) Note(r *Record) {
	if !l.Has(r.Action) {
		return
	}
	if _, full, err := l.enter(r, false); full != nil || err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.loseLocked(1)
	}
}

// enter adds an entry to the batch. If the batch is full, enter returns it instead.
func (l *Log) enter(r *Record, urgent bool) (p Pending, full *batch, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return Pending{}, nil, fmt.Errorf("%w: it is closed", ErrUnwritable)
	case len(l.batch.buf) >= maxBatch:
		return Pending{}, l.batch, nil
	}
	p = l.addLocked(r)
	l.batch.asked++
	if urgent {
		// After an error, writes succeed only if head.json can be written too. Otherwise a
		// change could be admitted whose outcome cannot be logged, which would be worse than
		// refusing it.
		l.batch.seal = l.batch.seal || l.trouble != nil || r.Action.level() == Changes
		l.wake.Send()
	} else {
		l.note.Send()
	}
	return p, nil, nil
}

// addLocked assigns an entry its position in the chain.
func (l *Log) addLocked(r *Record) Pending {
	b := l.batch
	var sum Hash
	b.buf, sum = appendEntry(b.buf, l.place, time.Now(), r)
	if b.n++; b.n == 1 {
		b.first = l.place.seq
	}
	b.last = Mark{l.place.seq, sum}
	if l.observe != nil {
		l.observe(l.place.seq, r)
	}
	l.place = position{l.place.seq + 1, sum}
	l.unsaid++
	return Pending{Seq: b.last.Seq, batch: b}
}

// newBatchLocked starts a batch, with the first entry of a segment if one begins.
func (l *Log) newBatchLocked() {
	l.batch = &batch{buf: l.spare[:0], done: make(chan struct{})}
	l.spare = nil
	if l.fresh {
		l.addLocked(&Record{
			Actor: itself, Action: auditSegment, Subject: Subject{Kind: "audit", ID: l.id},
			Detail: []Field{{"key", KeyText(l.Key())}},
		})
	}
}

// itself is the actor of the hub's own actions.
var itself = Actor{ID: "hub"}

// loseLocked counts entries that are not in the log.
func (l *Log) loseLocked(n int) {
	if l.since.IsZero() {
		l.since = time.Now()
	}
	l.lost += uint64(n)
}

// signLocked adds an entry with a signature over the chain before it.
func (l *Log) signLocked() {
	signature := ed25519.Sign(l.o.Key, checkpointText(l.id, l.place))
	l.addLocked(&Record{
		Actor: itself, Action: auditSigned, Subject: Subject{Kind: "audit", ID: l.id},
		Detail: []Field{{"signature", encode(signature)}},
	})
	l.batch.seal = true
	l.unsaid, l.signed = 0, time.Now()
}

// Close signs the log and returns after all entries are on disk. Later entries are refused.
// Close may be called repeatedly and concurrently: further calls wait for the first and return
// nil.
func (l *Log) Close() (err error) {
	l.closing.Do(func() { err = l.close() })
	return err
}

func (l *Log) close() error {
	l.mu.Lock()
	l.tally.flushLocked(l, time.Time{})
	l.signLocked()
	l.closed = true
	b := l.batch
	l.mu.Unlock()
	close(l.quit)
	l.wg.Wait()
	if b.err != nil {
		return fmt.Errorf("close audit log: %w", b.err)
	}
	return l.disk.close()
}

// unwritable wraps a file error in ErrUnwritable.
func unwritable(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the disk is full: %w", ErrUnwritable, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the disk is read-only: %w", ErrUnwritable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnwritable, err)
}
