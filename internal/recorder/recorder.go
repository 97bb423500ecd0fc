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

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// Options select the notes to write. A zero field means its default.
type Options struct {
	// Primary is the session of the hub itself. The default is "primary".
	Primary string
	// Owner is the owner of the outcomes. The default is "local".
	Owner task.Owner
	// ResultTTL is the lifetime of a result. The default is 60 min.
	ResultTTL time.Duration
	// OutcomeTTL is the lifetime of an outcome and of a notification. The default is 8 h.
	OutcomeTTL time.Duration
	// SessionTTL is the time after which a session without messages counts as ended. The
	// default is 24 h.
	SessionTTL time.Duration
	// Outcomes reports whether the outcomes of an agent are remembered. If nil, none are.
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

// Config configures a Recorder.
type Config struct {
	Options
	// Notes receives the notes. It is required, and its Fetch must be the function Fetch of
	// this package.
	Notes *memory.Notes
	// Store holds the tasks. It is required.
	Store task.Store
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Recorder stores the results of tasks. It implements engine.Recorder.
type Recorder struct {
	cfg    Config
	logger *slog.Logger
	wake   wake.Signal

	mu sync.Mutex // guards the fields below; never held while calling out
	// open holds the tasks with a record request that have not ended, as far as known to this
	// process.
	open map[task.Key]struct{}
	// queue holds the ended tasks, in the order of their ends.
	queue []task.Key
	// loaded is set once open contains the tasks of an earlier process. Until then every task
	// that ends may have a record request.
	loaded bool
}

// New returns a Recorder. Nothing is written unless Run is running.
func New(cfg Config) *Recorder {
	cfg.Options = cfg.withDefaults()
	r := &Recorder{cfg: cfg, logger: cfg.Logger, wake: wake.New(), open: make(map[task.Key]struct{})}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// recordRequest is the data stored with a message until its task has ended.
type recordRequest struct {
	Session string      `json:"session,omitempty"`
	Skill   string      `json:"skill,omitempty"`
	Caller  string      `json:"caller"`
	Outcome bool        `json:"outcome,omitempty"`
	At      task.Millis `json:"at"`
}

// RecordRequest implements engine.Recorder.
func (r *Recorder) RecordRequest(c *op.Caller, s *op.Send, agent task.Agent) []byte {
	m := recordRequest{Session: sessionOf(s), Outcome: r.cfg.Outcomes(agent)}
	if m.Session == "" && !m.Outcome {
		return nil
	}
	m.Skill, m.At = s.Message.Skill, task.MillisOf(time.Now())
	m.Caller = cmp.Or(c.Principal.DisplayName, c.Principal.ID)
	b, err := json.Marshal(&m)
	if err != nil {
		return nil // a request can always be encoded
	}
	return b
}

// maxSession is the largest length of a session id in bytes; the rest of a longer one is
// ignored.
const maxSession = 512

// sessionOf returns the session in the metadata of a request or of its message.
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

// Moved notes that a task has changed, and whether a record request was stored. The calls for a
// task are in order. It returns at once and does not keep the head.
func (r *Recorder) Moved(h *task.Head, requested bool) {
	ended := h.State.Terminal()
	if !requested && !ended {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.open[h.Key]
	switch {
	case !ended:
		r.open[h.Key] = struct{}{}
	case known || requested || !r.loaded:
		delete(r.open, h.Key)
		r.queue = append(r.queue, h.Key)
		r.wake.Send()
	}
}

// loadPage is the number of record requests that are read at one time.
const loadPage = 256

// load finds the record requests of an earlier process.
func (r *Recorder) load(ctx context.Context) error {
	type end struct {
		key task.Key
		at  task.Millis
	}
	var ends []end
	for after := task.Key(0); ; {
		page, err := r.requests(ctx, after, loadPage)
		if err != nil {
			return fmt.Errorf("load record requests: %w", err)
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
	// Tasks that ended meanwhile are in the queue; one that is there twice has no request the
	// second time.
	r.queue, r.loaded = append(old, r.queue...), true
	for _, key := range r.queue {
		delete(r.open, key)
	}
	return nil
}

// Pauses between retries.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 30 * time.Second
	// grace is the time that Run continues after ctx has ended.
	grace = 3 * time.Second
)

// Run writes the notes of ended tasks until ctx ends, and then up to grace longer for tasks
// that had ended before. The next process writes the rest.
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
			r.logger.Warn("cannot record the outcome of a task; the hub tries again", "in", retry, "error", err)
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
		r.logger.Warn("cannot record the outcomes of ended tasks; the hub records them at its next start", "error", err)
	}
}

// work processes the queue.
func (r *Recorder) work(ctx context.Context) error {
	r.mu.Lock()
	loaded := r.loaded
	r.mu.Unlock()
	if !loaded {
		if err := r.load(ctx); err != nil {
			return err
		}
	}
	waiting := 0 // tasks at the end of the queue, for which a part of the store did not answer
	var away error
	for {
		r.mu.Lock()
		if len(r.queue) <= waiting {
			r.mu.Unlock()
			return away
		}
		key := r.queue[0]
		r.mu.Unlock()
		err := r.record(ctx, key)
		partly := errors.Is(err, task.ErrPartly)
		if err != nil && !partly {
			return err
		}
		r.mu.Lock()
		if r.queue = r.queue[1:]; partly {
			r.queue = append(r.queue, key)
			waiting++
			away = err
		}
		r.mu.Unlock()
	}
}

// record writes the notes of one task, and removes its record request.
func (r *Recorder) record(ctx context.Context, key task.Key) error {
	page, err := r.requests(ctx, key-1, 1)
	if err != nil || len(page) == 0 || page[0].Head.Key != key {
		return err
	}
	err = r.write(ctx, &page[0])
	if err != nil && (errors.Is(err, task.ErrUnavailable) || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		// A retry would fail in the same way.
		r.logger.Error("cannot record the outcome of a task", "task", page[0].Head.ID, "error", err)
	}
	return r.cfg.Store.DropSidecar(ctx, key, task.SidecarRecordRequest)
}

// requests returns the record requests of tasks with keys above after.
func (r *Recorder) requests(ctx context.Context, after task.Key, limit int) ([]task.Sidecar, error) {
	return r.cfg.Store.Sidecars(ctx, &task.SidecarQuery{Kind: task.SidecarRecordRequest, After: after, Limit: limit})
}

// Around calls work, and runs the recorder and the sweeping of notes and turns until work has
// returned. A nil Recorder only calls work.
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
