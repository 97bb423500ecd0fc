package events

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

const (
	// maxPending is the maximum number of notices that wait to be stored.
	maxPending = 4096
	// maxBatch is the maximum number of notices that are stored together.
	maxBatch = 256
	// retryPause is the pause after an error of the store.
	retryPause = time.Second
	// lastTime is the time to store the last notices when the hub stops.
	lastTime = 2 * time.Second
)

// Recorder stores notices and reads events. Its fields must not change after the first use.
type Recorder struct {
	// Store holds the timeline. It is required.
	Store task.Store
	// Version is the version of the hub, for the notice of its start.
	Version string
	// Appended is called with the time that the watched store has taken for each change that it
	// has stored. It may be nil.
	Appended func(took time.Duration)
	// Stored is sent after each change of the watched store, and after notices. It may be nil.
	Stored wake.Signal
	// Logger receives a record when notices cannot be stored. If nil, nothing is logged.
	Logger *slog.Logger

	once    sync.Once
	wake    wake.Signal   // a notice waits; set by once
	over    chan struct{} // is closed when readers end; set by once
	reading chan struct{} // has room for the reader that uses latest; set by once
	latest  task.TimelinePage
	changed wake.Broadcast

	mu      sync.Mutex // guards the fields below
	pending [][]byte
	lost    int // notices for which pending had no room
}

func (r *Recorder) init() {
	r.once.Do(func() { r.wake, r.over, r.reading = wake.New(), make(chan struct{}), make(chan struct{}, 1) })
}

func (r *Recorder) signal() wake.Signal {
	r.init()
	return r.wake
}

// Note adds a notice. It never blocks: if too many notices wait for the store, the notice is
// dropped and counted in a later Gap. A nil Recorder drops it.
func (r *Recorder) Note(e Event) {
	if r == nil {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	b := encode(&e)
	r.mu.Lock()
	if len(r.pending) < maxPending {
		r.pending = append(r.pending, b)
	} else {
		r.lost++
	}
	r.mu.Unlock()
	r.signal().Send()
}

// Changed wakes the readers. It is called after changes that the store has, or may have, made.
func (r *Recorder) Changed() {
	r.Stored.Send()
	r.changed.Send()
}

// Next returns a channel that is closed by the next change. Its caller reads the store after
// that, so that no change is missed.
func (r *Recorder) Next() <-chan struct{} { return r.changed.Next() }

// Over returns a channel that is closed by EndReaders.
func (r *Recorder) Over() <-chan struct{} {
	r.init()
	return r.over
}

// EndReaders ends the streams of all readers once they have got the events so far. It is called once.
func (r *Recorder) EndReaders() {
	r.init()
	close(r.over)
	r.changed.Send()
}

// Run stores notices until ctx ends, and then the remaining ones.
func (r *Recorder) Run(ctx context.Context) error {
	r.begin(ctx)
	failed := false
	for ctx.Err() == nil {
		err := r.flush(ctx)
		if err == nil {
			failed = false
			select {
			case <-r.signal():
			case <-ctx.Done():
			}
			continue
		}
		if !failed && ctx.Err() == nil {
			r.log().Error("events cannot be stored; retrying", "error", err)
		}
		failed = true
		_ = backoff.Sleep(ctx, retryPause) // an error means that ctx has ended
	}
	r.Note(Event{Type: HubStopped})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	if err := r.flush(last); err != nil {
		r.log().Warn("the last events were not stored", "error", err)
	}
	return nil
}

func (r *Recorder) log() *slog.Logger {
	if r.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.Logger
}

// begin notes the start of the hub before all waiting notices, and a gap before it if the last moment is not the end of
// an earlier hub: that one was killed, and may have had notices that were not stored.
func (r *Recorder) begin(ctx context.Context) {
	page, err := r.Store.Timeline(ctx, 0, 1)
	if err == nil && page.Newest > 0 {
		page, err = r.Store.Timeline(ctx, page.Newest-1, 1)
	}
	first := []Event{{Type: HubStarted, Time: time.Now(), Data: map[string]any{"version": r.Version}}}
	if n := len(page.Moments); err == nil && n > 0 && typeOf(page.Moments[n-1].Notice) != HubStopped {
		first = append([]Event{{Type: Gap, Time: time.Now(), Data: map[string]any{
			"reason": "the hub did not stop cleanly: notices of its last moments may be missing; changes of tasks are complete",
		}}}, first...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range first {
		r.pending = slices.Insert(r.pending, i, encode(&first[i]))
	}
}

func (r *Recorder) flush(ctx context.Context) error {
	for {
		batch, lost := r.take()
		if len(batch) == 0 {
			return nil
		}
		if err := r.Store.AddNotices(ctx, batch); err != nil {
			return err
		}
		r.stored(len(batch), lost)
		r.Changed()
	}
}

// take returns the next notices without removing them. A Gap for lost ones comes last, because
// they came after those that wait.
func (r *Recorder) take() (batch [][]byte, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch = append(batch, r.pending[:min(len(r.pending), maxBatch)]...)
	if len(batch) == len(r.pending) && r.lost > 0 {
		lost = r.lost
		batch = append(batch, encode(&Event{Type: Gap, Time: time.Now(), Data: map[string]any{
			"reason": "too many notices arrived at the same time", "lost": lost,
		}}))
	}
	return batch, lost
}

// stored removes notices that are stored.
func (r *Recorder) stored(n, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost > 0 {
		n--
		r.lost -= lost
	}
	if r.pending = r.pending[n:]; len(r.pending) == 0 {
		r.pending = nil
	}
}

// Watched returns s with an Append that wakes the readers.
func (r *Recorder) Watched(s task.Store) task.Store { return &watchedStore{s, r} }

type watchedStore struct {
	task.Store
	recorder *Recorder
}

// heads is engine.Heads.
type heads interface {
	Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error)
	AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (int, error)
}

// Revs implements engine.Heads, if the store does; otherwise it returns nothing.
func (s *watchedStore) Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error) {
	if h, ok := s.Store.(heads); ok {
		return h.Revs(ctx, keys)
	}
	return map[task.Key]int64{}, nil
}

// AtWork implements engine.Heads, if the store does; otherwise it returns zero.
func (s *watchedStore) AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (int, error) {
	if h, ok := s.Store.(heads); ok {
		return h.AtWork(ctx, owner, own, limit)
	}
	return 0, nil
}

// Append implements task.Log. After an error the change may be stored nevertheless.
func (s *watchedStore) Append(ctx context.Context, c *task.Change) error {
	begun := time.Now()
	err := s.Store.Append(ctx, c)
	if err == nil && s.recorder.Appended != nil {
		s.recorder.Appended(time.Since(begun))
	}
	s.recorder.Changed()
	return err
}
