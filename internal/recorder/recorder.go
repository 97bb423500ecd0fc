package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// Store is what a Recorder reads. Every store of this module is one.
type Store interface {
	task.Marks
	// Read is that of task.Log.
	Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error)
}

// Options say what is written down. A zero field means its default.
type Options struct {
	// Primary is the session of the hub itself; "primary".
	Primary string
	// Owner is in whose memory outcomes are written; "local".
	Owner task.Owner
	// ResultTTL is how long a result is kept; 60 min.
	ResultTTL time.Duration
	// OutcomeTTL is how long an outcome and a notification are kept; 8 h.
	OutcomeTTL time.Duration
	// SessionTTL is how long after its last message a session is taken for gone; 24 h.
	SessionTTL time.Duration
	// Outcomes says of which agents outcomes are remembered. If nil, of none.
	Outcomes func(task.Agent) bool
}

func (o Options) withDefaults() Options {
	o.Primary = cmp.Or(o.Primary, "primary")
	o.Owner = cmp.Or(o.Owner, "local")
	o.ResultTTL = cmp.Or(o.ResultTTL, time.Hour)
	o.OutcomeTTL = cmp.Or(o.OutcomeTTL, 8*time.Hour)
	o.SessionTTL = cmp.Or(o.SessionTTL, 24*time.Hour)
	if o.Outcomes == nil {
		o.Outcomes = func(task.Agent) bool { return false }
	}
	return o
}

// Config says how a Recorder works.
type Config struct {
	Options
	// Notes are where it writes. They are required, and their Fetch is to be that of the
	// Recorder (see Fetch).
	Notes *memory.Notes
	// Store is where the tasks are. It is required.
	Store Store
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Recorder writes down what has come of tasks. It is the Recorder of an engine.
type Recorder struct {
	cfg    Config
	logger *slog.Logger
	wake   chan struct{}

	mu sync.Mutex // guards the fields below; never held while calling out
	// open are the marked tasks that have not ended, as far as this process knows.
	open map[task.Key]struct{}
	// queue are the tasks that have, in the order of their ends.
	queue []task.Key
	// loaded is set once open has those of an earlier process. Until then every task that
	// ends may be marked.
	loaded bool
}

// New returns a Recorder. Run does the work.
func New(cfg Config) *Recorder {
	cfg.Options = cfg.withDefaults()
	r := &Recorder{cfg: cfg, logger: cfg.Logger, wake: make(chan struct{}, 1), open: make(map[task.Key]struct{})}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// mark is what is remembered about a message until its task has ended.
type mark struct {
	Session string      `json:"session,omitempty"`
	Skill   string      `json:"skill,omitempty"`
	Caller  string      `json:"caller"`
	Outcome bool        `json:"outcome,omitempty"`
	At      task.Millis `json:"at"`
}

// Mark implements engine.Recorder.
func (r *Recorder) Mark(c *op.Caller, s *op.Send, agent task.Agent) []byte {
	m := mark{Session: sessionOf(s), Outcome: r.cfg.Outcomes(agent)}
	if m.Session == "" && !m.Outcome {
		return nil
	}
	m.Skill, m.At = s.Message.Skill, task.MillisOf(time.Now())
	m.Caller = cmp.Or(c.Principal.DisplayName, c.Principal.ID)
	b, err := json.Marshal(&m)
	if err != nil {
		return nil // it holds nothing that cannot be written
	}
	return b
}

// maxSession is the length of the longest id of a session in bytes; the rest of a longer
// one does not count.
const maxSession = 512

// sessionOf returns the session that a request names: in its metadata, or in that of its
// message.
func sessionOf(s *op.Send) string {
	for _, meta := range [][]byte{s.Metadata, field(s.Message.Body, "metadata")} {
		if len(meta) == 0 {
			continue
		}
		for _, name := range []string{"sessionId", "parley.session"} {
			if id, ok := rawjson.String(field(meta, name)); ok && id != "" {
				return id[:min(len(id), maxSession)]
			}
		}
	}
	return ""
}

// field returns the value of a member of an object, or nil.
func field(object []byte, name string) []byte {
	for n, value := range rawjson.Fields(object) {
		if n == name {
			return value
		}
	}
	return nil
}

// Moved implements engine.Recorder.
func (r *Recorder) Moved(h *task.Head, marked bool) {
	ended := h.State.Terminal()
	if !marked && !ended {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.open[h.Key]
	switch {
	case !ended:
		r.open[h.Key] = struct{}{}
	case known || marked || !r.loaded:
		delete(r.open, h.Key)
		r.queue = append(r.queue, h.Key)
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// loadPage is how many marked tasks are read at one time.
const loadPage = 256

// load finds the marked tasks of an earlier process.
func (r *Recorder) load(ctx context.Context) error {
	type end struct {
		key task.Key
		at  task.Millis
	}
	var ends []end
	for after := task.Key(0); ; {
		page, err := r.cfg.Store.Marked(ctx, after, loadPage)
		if err != nil {
			return fmt.Errorf("load marks: %w", err)
		}
		if len(page) == 0 {
			break
		}
		r.mu.Lock()
		for i := range page {
			h := &page[i].Head
			after = h.Key
			if h.State.Terminal() {
				ends = append(ends, end{h.Key, h.StatusAt})
			} else {
				r.open[h.Key] = struct{}{}
			}
		}
		r.mu.Unlock()
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	r.mu.Lock()
	defer r.mu.Unlock()
	old := make([]task.Key, 0, len(ends)+len(r.queue))
	for _, e := range ends {
		old = append(old, e.key)
	}
	// Those that ended meanwhile are in the line; one that is there twice is found
	// without a mark the second time.
	r.queue, r.loaded = append(old, r.queue...), true
	for _, key := range r.queue {
		delete(r.open, key)
	}
	return nil
}

// Delays between tries.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 30 * time.Second
	// grace is how long Run goes on after it was told to stop.
	grace = 3 * time.Second
)

// Run writes down what has come of tasks until ctx ends, and then what had ended before,
// if that does not take long. What is left is written at the next start.
func (r *Recorder) Run(ctx context.Context) {
	retry := minRetry
	for ctx.Err() == nil {
		err := r.work(ctx)
		if err == nil {
			retry = minRetry
			select {
			case <-ctx.Done():
			case <-r.wake:
			}
			continue
		}
		if ctx.Err() == nil {
			r.logger.Warn("what came of a task was not written down; it is tried again", "in", retry, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
		retry = min(2*retry, maxRetry)
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	if err := r.work(last); err != nil {
		r.logger.Warn("what came of tasks is written down at the next start", "error", err)
	}
}

// work does what there is to do.
func (r *Recorder) work(ctx context.Context) error {
	r.mu.Lock()
	loaded := r.loaded
	r.mu.Unlock()
	if !loaded {
		if err := r.load(ctx); err != nil {
			return err
		}
	}
	for {
		r.mu.Lock()
		if len(r.queue) == 0 {
			r.mu.Unlock()
			return nil
		}
		key := r.queue[0]
		r.mu.Unlock()
		if err := r.record(ctx, key); err != nil {
			return err
		}
		r.mu.Lock()
		r.queue = r.queue[1:]
		r.mu.Unlock()
	}
}

// record writes down what has come of one task, and forgets that it was to do so.
func (r *Recorder) record(ctx context.Context, key task.Key) error {
	m, err := r.cfg.Store.Mark(ctx, key)
	if errors.Is(err, task.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = r.write(ctx, &m)
	}
	if err != nil && (errors.Is(err, task.ErrUnavailable) || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		// It would be the same the next time.
		r.logger.Error("what came of a task cannot be written down", "task", m.Head.ID, "error", err)
	}
	return r.cfg.Store.Unmark(ctx, key)
}

// Around runs the work of a hub and writes beside it, until the work has returned; and
// lets notes and turns be swept. A nil Recorder does nothing of this.
func (r *Recorder) Around(ctx context.Context, turns *memory.Turns, work func(context.Context) error) error {
	if r == nil {
		return work(ctx)
	}
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { r.Run(beside) })
	wg.Go(func() { r.cfg.Notes.Run(beside) })
	if turns != nil {
		wg.Go(func() { turns.Run(beside) })
	}
	err := work(ctx)
	cancel()
	wg.Wait()
	return err
}
