package audit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"
)

// ErrUnwritable says that entries cannot be written down now.
var ErrUnwritable = errors.New("the audit log cannot be written")

// Options say where a log is and how it is kept. Dir and Key are required.
type Options struct {
	// Dir is the folder of the segments. It is made if it is not there, for its user
	// alone.
	Dir string
	// Key signs the log.
	Key ed25519.PrivateKey
	// Level says what is written down: Tasks if it is empty. A log that is Off has no
	// Open.
	Level Level
	// SegmentSize is how large a segment grows: 16 MiB if it is zero.
	SegmentSize int64
	// KeepAge and KeepSize say how old entries and how large all segments may become
	// before the oldest segments are removed. Zero means for ever, and any size.
	KeepAge  time.Duration
	KeepSize int64
	// Logger is told when the log cannot be written, and what Open has found. If nil,
	// nobody is.
	Logger *slog.Logger
}

const (
	defaultSegment = 16 << 20
	// maxBatch is how many bytes wait for the disk at most.
	maxBatch = 1 << 20
	// soon is how long an entry that nobody waits for may wait for others.
	soon = 100 * time.Millisecond
	// tidyEvery is how often what is due by the time is done.
	tidyEvery = 10 * time.Second
	// signEvery and signEntries are how long, and for how many entries, the log goes
	// without a signature.
	signEvery   = 10 * time.Minute
	signEntries = 4096
)

// Log is a log that is written. Open makes one.
type Log struct {
	o    Options
	id   string
	wake chan struct{} // somebody waits for an entry
	note chan struct{} // there is an entry that nobody waits for
	quit chan struct{}
	wg   sync.WaitGroup
	// closing lets a second Close wait for the first.
	closing sync.Once

	mu      sync.Mutex // guards the fields below; never held while the disk is used
	place   position   // of the next entry
	batch   *batch     // what the writer takes next
	fresh   bool       // the batch begins a segment
	closed  bool
	trouble error // why the last batch was not written; nil if it was
	lost    uint64
	since   time.Time // when the first of them was lost
	unsaid  int       // entries since the last signature
	signed  time.Time // when that was
	tally   tally
	head    Mark   // the last entry on the disk
	spare   []byte // for the next batch

	// The writer alone uses these, once it runs.
	disk    disk
	plan    plan
	planned time.Time
}

// batch are entries that are written together.
type batch struct {
	buf []byte
	n   int
	// asked is how many of them are not of the log itself.
	asked int
	// lost is how many lost entries they tell of.
	lost uint64
	// seal says that head.json names the last of them before anybody is told.
	seal bool
	// rotate says that the segment ends with them.
	rotate bool
	// remove are segments that go once the entries are there.
	remove []string
	first  uint64
	last   Mark
	done   chan struct{} // closed once err is known
	err    error
}

// Pending is an entry on its way to the disk. The zero value is there already.
type Pending struct {
	// Seq is the number of the entry; zero if nothing is written down.
	Seq   uint64
	batch *batch
}

// Wait returns when the entry is on the disk, or an error that wraps ErrUnwritable if it
// cannot be written; then it is not in the log.
func (p Pending) Wait() error {
	if p.batch == nil {
		return nil
	}
	<-p.batch.done
	return p.batch.err
}

// Has reports whether an action is written down. A nil Log has none.
func (l *Log) Has(a Action) bool { return l != nil && l.o.Level.Has(a) }

// ID is the random name of the log, which is in each of its segments.
func (l *Log) ID() string { return l.id }

// Dir returns the folder of the log.
func (l *Log) Dir() string { return l.o.Dir }

// Key is the public key that the log is signed for.
func (l *Log) Key() ed25519.PublicKey { return l.o.Key.Public().(ed25519.PublicKey) }

// Head returns the last entry that is on the disk.
func (l *Log) Head() Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Trouble returns why entries cannot be written now; nil if they can.
func (l *Log) Trouble() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// Begin hands an entry to the writer. Whoever has to know that it is there calls Wait, and
// can do something else in the meantime. While entries cannot be written, Begin tries
// and waits itself, so that its error comes before anything else was done.
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

// Append writes an entry down and returns when it is on the disk.
func (l *Log) Append(r *Record) error {
	p, err := l.Begin(r)
	if err != nil {
		return err
	}
	return p.Wait()
}

// Note hands over an entry that nobody waits for. It is on the disk a moment later; if it
// cannot be, or if too many wait already, it is counted as lost.
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

// enter adds an entry to the batch. If it is full, it returns the batch instead.
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
		// After trouble nothing is well before there is room for head.json, too: a change
		// that could be asked for and not be told would be worse than one that is refused.
		l.batch.seal = l.batch.seal || l.trouble != nil || r.Action.level() == Changes
		poke(l.wake)
	} else {
		poke(l.note)
	}
	return p, nil, nil
}

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// addLocked gives an entry its place in the chain.
func (l *Log) addLocked(r *Record) Pending {
	b := l.batch
	var sum Hash
	b.buf, sum = appendEntry(b.buf, l.place, time.Now(), r)
	if b.n++; b.n == 1 {
		b.first = l.place.seq
	}
	b.last = Mark{l.place.seq, sum}
	l.place = position{l.place.seq + 1, sum}
	l.unsaid++
	return Pending{Seq: b.last.Seq, batch: b}
}

// newBatchLocked returns an empty batch, or one with the first entry of a segment.
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

// itself is who does what nobody has asked for.
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

// Close signs the log and returns when all entries are on the disk. After that, entries are
// refused. Close may be called again, also side by side: the others wait, and return nil.
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

// unwritable wraps what the system says about a file.
func unwritable(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the disk is full: %w", ErrUnwritable, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the disk is read-only: %w", ErrUnwritable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnwritable, err)
}
