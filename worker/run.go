package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/batch"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// run is one run of a Worker.
type run struct {
	Worker
	id       string
	began    task.Millis
	cardJSON []byte
	// slots has one element for each task in progress.
	slots chan struct{}
	// subscribed is closed, by once, when the worker first receives messages from hubs.
	subscribed chan struct{}
	once       sync.Once
	// announceNow is signaled when the worker begins to receive the inquiries of hubs. It has
	// room for one signal.
	announceNow wake.Signal
	// batched joins concurrent envelopes for the same hub.
	batched batch.Batcher[bus.Address, *bus.Envelope]

	// base outlives the tasks; end makes the run accept no further task.
	base context.Context
	// accepting ends when the run accepts no further task.
	accepting context.Context
	end       context.CancelCauseFunc
	pending   sync.WaitGroup // counts the goroutines of jobs
	idle      *time.Timer    // nil if the worker waits forever

	mu   sync.Mutex // guards the fields below
	jobs map[jobKey]*job
	// draining is set before the run waits for pending, which must not grow from then on.
	draining bool
	// interval is the time between two heartbeats; intervalCut is signaled when it shrinks.
	interval    time.Duration
	intervalCut wake.Signal
}

// jobKey identifies a job. Task ids are unique within one hub and owner alone.
type jobKey struct {
	hub   string
	owner task.Owner
	task  string
}

// Causes of the end of a run.
var (
	errWorkerEnds = errors.New("worker ends")
	errOnce       = errors.New("one task was performed")
	errIdle       = errors.New("there was nothing to do")
)

const (
	// grace is the time that hubs and executors have to react when a worker ends.
	grace = 3 * time.Second
	// leaveWithin is the timeout of the last announcement. If that is lost, the lease expires
	// instead.
	leaveWithin = 500 * time.Millisecond
	// busGrace is the time that a broker may be unreachable before the worker logs it.
	busGrace = time.Second
)

// serve performs tasks until ctx ends, and then drains.
func (r *run) serve(ctx context.Context) error {
	r.began = task.MillisOf(time.Now())
	ctx, r.end = context.WithCancelCause(ctx)
	defer r.end(nil)
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	r.base, r.accepting = base, ctx
	var wg sync.WaitGroup
	var listening, inquiries error
	wg.Go(func() {
		listening = r.listen(base)
		r.end(listening)
	})
	wg.Go(func() {
		inquiries = r.answerInquiries(base)
		r.end(inquiries)
	})
	wg.Go(func() { r.keepAlive(base) })
	err := r.performAll(ctx)
	r.announceLeave()
	stop(errWorkerEnds)
	wg.Wait()
	return errors.Join(err, listening, inquiries)
}

// performAll performs tasks until ctx or the bus ends, and then drains.
func (r *run) performAll(ctx context.Context) error {
	if r.Idle > 0 {
		r.idle = time.AfterFunc(r.Idle, func() { r.end(errIdle) })
		defer r.idle.Stop()
	}
	if !r.awaitBus(ctx) {
		if errors.Is(context.Cause(ctx), errIdle) {
			return fmt.Errorf("worker: no broker for %v: %w", r.Idle, bus.ErrUnavailable)
		}
		return nil
	}
	if r.idle != nil {
		r.idle.Reset(r.Idle)
	}
	receiving, release := context.WithCancel(r.base)
	defer release()
	drained := make(chan error, 1)
	go func() { // performAll waits for it
		<-ctx.Done()
		err := r.drain()
		release()
		drained <- err
	}()
	err := r.receive(receiving, ctx)
	r.end(err)
	release()
	return errors.Join(<-drained, err)
}

// awaitBus waits until the worker receives messages from hubs. It logs if the broker is
// unreachable for longer than busGrace. It returns false if ctx ends first.
func (r *run) awaitBus(ctx context.Context) bool {
	moment := time.NewTimer(busGrace)
	defer moment.Stop()
	for {
		select {
		case <-r.subscribed:
			return true
		case <-ctx.Done():
			return false
		case <-moment.C:
			r.Logger.Warn("waiting for the broker; no tasks run until it is available", "agent", r.Name)
		}
	}
}

// receive starts a job for each delivery until ctx ends. It settles no delivery that arrives
// after the end of accepting: the broker redelivers these to another worker once receive
// returns.
func (r *run) receive(ctx, accepting context.Context) error {
	sub := bus.Subscription{At: protocol.JobAt(r.Name), Prefetch: r.Concurrency}
	for d, err := range r.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		select {
		case <-accepting.Done():
			continue
		case r.slots <- struct{}{}:
		}
		if accepting.Err() != nil || !r.track() {
			continue // the slot is not released: no further task needs one
		}
		j := r.admit(d)
		if j == nil {
			r.pending.Done()
			<-r.slots
			continue
		}
		go func() { // drain waits for it
			defer r.pending.Done()
			defer func() { <-r.slots }()
			r.perform(accepting, j)
		}()
	}
	return nil
}

// track adds a job to pending. It returns false if the run is draining.
func (r *run) track() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.draining {
		r.pending.Add(1)
	}
	return !r.draining
}

// admit returns the job of a delivery. It returns nil if the delivery is invalid, or if its job
// runs already.
func (r *run) admit(d *bus.Delivery) *job {
	j, err := r.newJob(d)
	if err != nil {
		r.Logger.Warn("work rejected", "agent", r.Name, "task", d.Task, "from", d.Source, "error", err)
		r.logSettlement(d.DeadLetter(r.base, err.Error()))
		return nil
	}
	switch other := r.enter(j); {
	case other == nil:
		return j
	case j.work.Delivery > other.work.Delivery:
		other.end(errStopped)
		return j
	case j.work.Delivery == other.work.Delivery:
		other.redelivered(d)
	default:
		j.ack()
	}
	j.stop(errJobOver) // releases its contexts
	return nil
}

// enter registers j and returns the job that the task had before, or nil. A job of the same or a
// newer delivery keeps its place: the hub ignores older deliveries.
func (r *run) enter(j *job) (other *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	other = r.jobs[j.key]
	if other != nil && j.work.Delivery <= other.work.Delivery {
		return other
	}
	r.jobs[j.key] = j
	if r.idle != nil {
		r.idle.Stop()
	}
	return other
}

func (r *run) perform(accepting context.Context, j *job) {
	done := j.perform(accepting)
	r.mu.Lock()
	if r.jobs[j.key] == j {
		delete(r.jobs, j.key)
	}
	if r.idle != nil && len(r.jobs) == 0 {
		r.idle.Reset(r.Idle)
	}
	r.mu.Unlock()
	if done && r.Once {
		r.end(errOnce)
	}
}

// drain waits up to DrainTimeout for the jobs, and returns the remaining jobs to the hub.
func (r *run) drain() error {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends when the executors have ended
		defer close(ended)
		r.pending.Wait()
	}()
	if n := len(r.allJobs()); n > 0 && r.DrainTimeout > 0 {
		r.Logger.Info("stopping after the current tasks", "agent", r.Name, "tasks", n, "within", r.DrainTimeout)
	}
	if r.DrainTimeout > 0 && closedWithin(ended, r.DrainTimeout) {
		return nil
	}
	returned := false
	for _, j := range r.allJobs() {
		returned = j.giveBack() || returned
	}
	if returned && closedWithin(ended, grace) {
		return nil
	}
	for _, j := range r.allJobs() {
		j.end(errWorkerEnds)
	}
	if closedWithin(ended, grace) {
		return nil
	}
	return fmt.Errorf("worker: %d executors did not stop", len(r.allJobs()))
}

// closedWithin reports whether a channel is closed within d.
func closedWithin(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

func (r *run) allJobs() []*job {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*job, 0, len(r.jobs))
	for _, j := range r.jobs {
		all = append(all, j)
	}
	return all
}

func (r *run) find(k jobKey) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[k]
}

// listen receives the messages that hubs send to this worker.
func (r *run) listen(ctx context.Context) error {
	sub := bus.Subscription{At: protocol.WorkerAt(r.id), Ready: r.ready}
	for d, err := range r.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		if r.Keys != nil {
			if err := r.Keys.Verify(d.Envelope); err != nil {
				r.Logger.Warn("envelope ignored", "agent", r.Name, "error", err)
				continue
			}
		}
		if to := d.Destination; to != "" && to != r.source() {
			continue
		}
		all, err := protocol.Split(d.Envelope)
		if err != nil {
			r.Logger.Warn("batch ignored in whole or in part", "agent", r.Name, "error", err)
		}
		for _, e := range all {
			r.handle(ctx, e)
		}
	}
	return nil
}

// handle passes a message from a hub to its job.
func (r *run) handle(ctx context.Context, e *bus.Envelope) {
	if e.Type == protocol.TypeDeny && e.Task == "" {
		r.denied(e)
	} else if e.Type == protocol.TypeWork {
		r.takeOffer(e)
	} else if j := r.find(keyOf(e)); j != nil {
		j.handle(e)
	} else if e.Type == protocol.TypeGrant {
		r.decline(ctx, e)
	}
}

// denied logs that a hub gives the agent no tasks.
func (r *run) denied(e *bus.Envelope) {
	var deny protocol.Deny
	if err := protocol.Decode(e.Body, &deny); err != nil {
		r.Logger.Warn("envelope ignored", "agent", r.Name, "error", err)
		return
	}
	r.Logger.Warn("the hub gives this worker no tasks", "agent", r.Name, "from", e.Source, "reason", deny.Reason)
}

// decline returns a job to the hub if its grant arrived after the worker stopped waiting.
func (r *run) decline(ctx context.Context, grant *bus.Envelope) {
	var g protocol.Grant
	hub := keyOf(grant).hub
	if protocol.Decode(grant.Body, &g) != nil || protocol.ReportAt(hub).Check() != nil {
		return
	}
	e := r.envelope(protocol.TypeReport)
	e.Destination, e.Task, e.Owner, e.Epoch, e.Seq = grant.Source, grant.Task, grant.Owner, grant.Epoch, 1
	r.trySend(ctx, protocol.ReportAt(hub), e, &protocol.Report{Token: g.Token, Worker: r.id, GivenBack: true})
}

// ready is called after each connection to the broker. Reports published before the connection
// may be lost, so all unconfirmed ones are sent again.
func (r *run) ready() {
	r.once.Do(func() {
		r.Logger.Info("performing the tasks of an agent", "agent", r.Name, "concurrency", r.Concurrency)
		close(r.subscribed)
	})
	for _, j := range r.allJobs() {
		j.buffer.resendAll()
	}
}

func keyOf(e *bus.Envelope) jobKey {
	return jobKey{strings.TrimPrefix(e.Source, "hub/"), e.Owner, e.Task}
}
