package push

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
)

// errStopping is the cause with which tries end that take longer than the grace.
var errStopping = errors.New("hub is stopping")

// Dispatcher tells webhooks what happens to their tasks. It is the Pusher of an
// engine. Run does the work.
type Dispatcher struct {
	cfg       Config
	policy    *safedial.Policy
	transport http.RoundTripper
	closeIdle func()
	logger    *slog.Logger
	secrets   [][]byte
	known     registry
	wake      chan struct{}
	save      chan struct{}

	// saving is held while positions are made durable, and while an operator moves a
	// hook back; it is taken before all other locks.
	saving sync.Mutex

	mu     sync.Mutex // guards the fields below, and hooks and lanes; never held while calling out
	lanes  map[string]*lane
	ready  []*lane // with something to do and a place free; the first is next
	alarms alarms
	busy   int
	dirty  []*hook
	// warm are the hooks whose target is kept, the oldest at the next place.
	warm     [maxWarm]*hook
	warmNext int
	stopping bool
	// reported counts the dead letters that were reported in the minute since.
	reported struct {
		since time.Time
		n     int
	}
	// blocked is until when the store is left alone, warned when that was logged.
	blocked, warned time.Time
}

// maxWarm is how many targets are kept beside those of the sessions under way.
const maxWarm = 1024

// New returns a Dispatcher. The error is one in the options.
func New(cfg Config) (*Dispatcher, error) {
	cfg.Options = cfg.withDefaults()
	policy, err := safedial.ParsePolicy(cfg.Allow)
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	policy.HTTPS = cfg.RequireHTTPS
	d := &Dispatcher{
		cfg: cfg, policy: policy, transport: cfg.Transport, closeIdle: func() {}, logger: cfg.Logger,
		wake: make(chan struct{}, 1), save: make(chan struct{}, 1), lanes: make(map[string]*lane),
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

// sealer returns the configured Sealer, or one of KeyFile.
func (c *Config) sealer() (Sealer, error) {
	switch {
	case c.Sealer != nil:
		return c.Sealer, nil
	case c.KeyFile != "":
		return seal.Load(c.KeyFile)
	}
	return seal.New(), nil
}

// Run tells webhooks until ctx ends; then it lets tries under way come to their end
// for the grace and makes the last positions durable. It returns nil.
func (d *Dispatcher) Run(ctx context.Context) error {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var sessions, helpers sync.WaitGroup
	helpers.Go(func() { d.load(ctx) })
	helpers.Go(func() { d.keepSaving(ctx) })
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
		d.logger.Warn("positions of webhooks were not saved; they will be told some things again", "error", err)
	}
	d.closeIdle()
	return nil
}

// Around runs the work of a hub and tells webhooks beside it, until the work has
// returned. A nil Dispatcher tells nobody.
func (d *Dispatcher) Around(ctx context.Context, work func(context.Context) error) error {
	if d == nil {
		return work(ctx)
	}
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	var told error
	wg.Go(func() { told = d.Run(beside) })
	err := work(ctx)
	cancel()
	wg.Wait()
	return errors.Join(err, told)
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

// pick returns the hooks whose sessions begin now, and how long it is to the next
// alarm; negative if there is none.
func (d *Dispatcher) pick(now time.Time) ([]*hook, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rest := d.blocked.Sub(now); rest > 0 {
		return nil, rest
	}
	wait := d.ringLocked(now)
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
		h.phase = telling
		l.busy++
		d.busy++
		hooks = append(hooks, h)
		d.readyLocked(l)
	}
	return hooks, wait
}

// ringLocked lets everything happen that is due, and returns how long it is to the
// next alarm.
func (d *Dispatcher) ringLocked(now time.Time) time.Duration {
	for len(d.alarms) > 0 {
		if at := d.alarms[0].due(); at > now.UnixNano() {
			return time.Duration(at - now.UnixNano())
		}
		switch due := heap.Pop(&d.alarms).(type) {
		case *hook:
			d.queueLocked(due)
		case *lane:
			due.breaker = halfOpen
			d.readyLocked(due)
			d.tidyLocked(due)
		}
	}
	return -1
}

// tidyLocked closes the breaker of a lane that nobody uses, and forgets it.
func (d *Dispatcher) tidyLocked(l *lane) {
	if l.hooks == 0 && l.breaker == halfOpen {
		l.breaker = closed
	}
	d.dropLocked(l)
}

// dropLocked forgets a lane that has nothing to remember.
func (d *Dispatcher) dropLocked(l *lane) {
	if l.idle() && d.lanes[l.endpoint] == l {
		delete(d.lanes, l.endpoint)
	}
}

// queueLocked puts a hook into the line of its endpoint.
func (d *Dispatcher) queueLocked(h *hook) {
	h.phase = queued
	h.lane.push(h)
	d.readyLocked(h.lane)
}

// readyLocked notes that a lane can go on, if it can.
func (d *Dispatcher) readyLocked(l *lane) {
	if !l.ready && l.first != nil && l.free(d.cfg.PerEndpoint) {
		l.ready = true
		d.ready = append(d.ready, l)
		d.poke()
	}
}

// poke wakes the scheduler.
func (d *Dispatcher) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// sleepLocked wakes a hook after a time.
func (d *Dispatcher) sleepLocked(h *hook, wait time.Duration) {
	h.phase = asleep
	h.at = time.Now().Add(wait).UnixNano()
	d.alarmLocked(h)
}

// alarmLocked puts something into the heap, or in order there.
func (d *Dispatcher) alarmLocked(t timed) {
	if at := *t.slot(); at > 0 {
		heap.Fix(&d.alarms, int(at)-1)
	} else {
		heap.Push(&d.alarms, t)
	}
	if d.alarms[0] == t {
		d.poke()
	}
}

// stirLocked lets a hook go on that has nothing under way, or settles it.
func (d *Dispatcher) stirLocked(h *hook) {
	if h.phase != idle || h.settled {
		return
	}
	switch {
	case h.answered:
		// The caller was never told of the task.
		h.told = h.last
		d.settleLocked(h)
	case h.wants():
		d.queueLocked(h)
	case h.ended && h.told >= h.last:
		d.settleLocked(h)
	}
}

// settleLocked notes that nothing is left to tell.
func (d *Dispatcher) settleLocked(h *hook) {
	h.settled = true
	d.dirtyLocked(h)
}

// joinLocked gives a hook its lane.
func (d *Dispatcher) joinLocked(h *hook, endpoint string) {
	l := d.lanes[endpoint]
	if l == nil {
		l = &lane{endpoint: endpoint}
		d.lanes[endpoint] = l
	}
	l.hooks++
	h.lane = l
}

// leaveLocked takes a hook out of everything but the registry and the line of its
// lane, which skips it.
func (d *Dispatcher) leaveLocked(h *hook) {
	if h.phase == gone {
		return
	}
	d.disarmLocked(h)
	if h.stop != nil {
		h.stop(errForgotten)
	}
	h.phase, h.target = gone, nil
	h.lane.hooks--
	d.tidyLocked(h.lane)
}

// disarmLocked takes something out of the heap.
func (d *Dispatcher) disarmLocked(t timed) {
	if at := *t.slot(); at > 0 {
		heap.Remove(&d.alarms, int(at)-1)
	}
}

// jitter returns a random time up to most, so that what failed together is not tried
// again together.
func jitter(most time.Duration) time.Duration {
	return minRetry + rand.N(max(most-minRetry, 1))
}
