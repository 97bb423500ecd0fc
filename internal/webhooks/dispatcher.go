package webhooks

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// errStopping is the cancel cause of tries that outlast the grace period.
var errStopping = errors.New("hub is stopping")

// Dispatcher accepts webhooks and notifies them of the changes of their tasks. Nothing is sent
// unless Run is running. Its methods are safe for concurrent use.
type Dispatcher struct {
	cfg       Config
	policy    *safedial.Policy
	transport http.RoundTripper
	closeIdle func()
	logger    *slog.Logger
	secrets   [][]byte
	known     registry
	wake      wake.Signal
	save      wake.Signal
	hint      wake.Signal

	// saving is held while positions are made durable, and while an operator moves a hook back.
	// It is locked before all other locks.
	saving sync.Mutex

	// sharing is held from the reading of webhooks of other processes to their registration, and while some
	// are forgotten because another process delivers them.
	sharing sync.Mutex

	mu     sync.Mutex // guards the fields below, and hooks and queues; never held while calling out
	queues map[string]*endpointQueue
	ready  []*endpointQueue // with work and a free place; the first is next
	alarms alarms
	busy   int
	dirty  []*hook
	// start is the origin of the times of alarms. They do not depend on the wall clock, which may
	// be set back.
	start time.Time
	// cached is a ring of the hooks whose target is cached; the oldest is at cachedNext.
	cached     [maxCached]*hook
	cachedNext int
	stopping   bool
	// hinted are the tasks whose webhooks are to be read; manyHinted is set if all are.
	hinted     []task.Key
	manyHinted bool
	// reported counts the dead letters that were logged in the minute since the time since.
	reported struct {
		since time.Time
		n     int
	}
	// blocked is the time until which the store is not read, warned the time of the last log
	// record about that.
	blocked, warned time.Time
}

// maxCached is the number of targets cached beside those of running sessions.
const maxCached = 1024

// New returns a Dispatcher. It fails if the options are invalid or the key file cannot be
// loaded.
func New(cfg Config) (*Dispatcher, error) {
	cfg.Options = withDefaults(cfg.Options)
	policy, err := safedial.ParsePolicy(cfg.Allow)
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	policy.HTTPS = cfg.RequireHTTPS
	d := &Dispatcher{
		cfg: cfg, policy: policy, transport: cfg.Transport, closeIdle: func() {}, logger: cfg.Logger,
		wake: wake.New(), save: wake.New(), hint: wake.New(), queues: make(map[string]*endpointQueue), start: time.Now(),
	}
	if d.secrets, err = parseSecrets(cfg.SigningSecrets); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	if d.logger == nil {
		d.logger = slog.New(slog.DiscardHandler)
	}
	if d.cfg.Sealer, err = cfg.sealer(); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	if d.transport == nil {
		t := policy.Transport()
		d.transport, d.closeIdle = t, t.CloseIdleConnections
	}
	return d, nil
}

// sealer returns the configured Sealer, one with the key of KeyFile, or one with a random key.
func (c *Config) sealer() (Sealer, error) {
	switch {
	case c.Sealer != nil:
		return c.Sealer, nil
	case c.KeyFile != "":
		return seal.Load(c.KeyFile)
	}
	return seal.New(), nil
}

// Run delivers notifications until ctx ends. Then it waits for running tries, at most for the
// grace period, and saves the last positions. It returns nil. Call it once.
func (d *Dispatcher) Run(ctx context.Context) error {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var sessions, helpers sync.WaitGroup
	helpers.Go(func() { d.load(ctx) })
	helpers.Go(func() { d.keepSaving(ctx) })
	if d.cfg.Holds != nil {
		helpers.Go(func() { d.keepFollowing(ctx) })
	}
	d.schedule(ctx, func(h *hook) {
		sessions.Go(func() { d.session(work, h) })
	})
	grace := time.AfterFunc(d.cfg.Grace, func() { cancel(errStopping) })
	sessions.Wait()
	grace.Stop()
	helpers.Wait()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Grace)
	defer done()
	if err := d.saveAll(last); err != nil {
		d.logger.Warn("positions of webhooks were not saved; some notifications will be sent again", "error", err)
	}
	d.closeIdle()
	return nil
}

// Around calls work and runs the dispatcher beside it until work has returned. A nil Dispatcher
// only calls work.
func (d *Dispatcher) Around(ctx context.Context, work func(context.Context) error) error {
	if d == nil {
		return work(ctx)
	}
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	var errRun error
	wg.Go(func() { errRun = d.Run(beside) })
	err := work(ctx)
	cancel()
	wg.Wait()
	return errors.Join(err, errRun)
}

// schedule starts sessions until ctx ends.
func (d *Dispatcher) schedule(ctx context.Context, start func(*hook)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		hooks, wait := d.pick(time.Now())
		for _, h := range hooks {
			start(h)
		}
		if wait >= 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-timer.C:
		}
	}
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
}

// pick returns the hooks whose sessions begin now, and the time until the next alarm; negative
// if there is none.
func (d *Dispatcher) pick(now time.Time) ([]*hook, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rest := d.blocked.Sub(now); rest > 0 {
		return nil, rest
	}
	wait := d.fireAlarmsLocked(now.Sub(d.start))
	var hooks []*hook
	for d.busy < d.cfg.Concurrency && len(d.ready) > 0 {
		l := d.ready[0]
		d.ready[0] = nil
		d.ready, l.ready = d.ready[1:], false
		h := l.pop()
		if h == nil {
			d.dropLocked(l)
			continue
		}
		h.phase = running
		l.busy++
		d.busy++
		hooks = append(hooks, h)
		d.readyLocked(l)
	}
	return hooks, wait
}

// fireAlarmsLocked handles all alarms that are due, and returns the time until the next one;
// negative if there is none.
func (d *Dispatcher) fireAlarmsLocked(now time.Duration) time.Duration {
	for len(d.alarms) > 0 {
		if at := d.alarms[0].due(); at > now {
			return at - now
		}
		switch due := heap.Pop(&d.alarms).(type) {
		case *hook:
			d.queueLocked(due)
		case *endpointQueue:
			due.breaker = halfOpen
			d.readyLocked(due)
			d.tidyLocked(due)
		}
	}
	return -1
}

// tidyLocked closes the half-open breaker of an endpoint without hooks, and drops it if it is
// idle.
func (d *Dispatcher) tidyLocked(l *endpointQueue) {
	if l.hooks == 0 && l.breaker == halfOpen {
		l.breaker = closed
	}
	d.dropLocked(l)
}

// dropLocked removes a queue that holds no state.
func (d *Dispatcher) dropLocked(l *endpointQueue) {
	if l.idle() && d.queues[l.endpoint] == l {
		delete(d.queues, l.endpoint)
	}
}

// queueLocked appends a hook to the queue of its endpoint.
func (d *Dispatcher) queueLocked(h *hook) {
	h.phase = queued
	h.queue.push(h)
	d.readyLocked(h.queue)
}

// readyLocked lists a queue as ready if it has a waiting hook and a free place.
func (d *Dispatcher) readyLocked(l *endpointQueue) {
	if !l.ready && l.first != nil && l.free(d.cfg.PerEndpoint) {
		l.ready = true
		d.ready = append(d.ready, l)
		d.wake.Send()
	}
}

// sleepLocked sets an alarm that queues a hook after a wait.
func (d *Dispatcher) sleepLocked(h *hook, wait time.Duration) {
	h.phase = asleep
	h.at = time.Since(d.start) + wait
	d.alarmLocked(h)
}

// alarmLocked adds an item to the heap, or moves it to its new position.
func (d *Dispatcher) alarmLocked(t timed) {
	if at := *t.slot(); at > 0 {
		heap.Fix(&d.alarms, int(at)-1)
	} else {
		heap.Push(&d.alarms, t)
	}
	if d.alarms[0] == t {
		d.wake.Send()
	}
}

// rescheduleLocked queues or settles an idle hook, if its state asks for that.
func (d *Dispatcher) rescheduleLocked(h *hook) {
	if h.phase != idle || h.settled {
		return
	}
	switch {
	case h.answered:
		// The caller never learned of the task.
		h.notified = h.last
		d.settleLocked(h)
	case h.wants():
		d.queueLocked(h)
	case h.ended && h.notified >= h.last:
		d.settleLocked(h)
	}
}

// settleLocked marks a hook as settled: no notification is left to send.
func (d *Dispatcher) settleLocked(h *hook) {
	h.settled = true
	d.dirtyLocked(h)
}

// assignLocked assigns a hook to the queue of its endpoint.
func (d *Dispatcher) assignLocked(h *hook, endpoint string) {
	l := d.queues[endpoint]
	if l == nil {
		l = &endpointQueue{endpoint: endpoint}
		d.queues[endpoint] = l
	}
	l.hooks++
	h.queue = l
}

// unregisterLocked removes a hook from everything but the registry and the queue of its
// endpoint; pop skips it there.
func (d *Dispatcher) unregisterLocked(h *hook) {
	if h.phase == gone {
		return
	}
	d.disarmLocked(h)
	if h.stop != nil {
		h.stop(errForgotten)
	}
	h.phase, h.target = gone, nil
	h.queue.hooks--
	d.tidyLocked(h.queue)
}

// disarmLocked removes an item from the heap.
func (d *Dispatcher) disarmLocked(t timed) {
	if at := *t.slot(); at > 0 {
		heap.Remove(&d.alarms, int(at)-1)
	}
}

// jitter returns a random time between minRetry and most, so that hooks that failed together do
// not retry together.
func jitter(most time.Duration) time.Duration {
	return minRetry + rand.N(max(most-minRetry, 1))
}
