package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/batch"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

// Tasks looks up tasks that have no run in this process. A task.Store implements it.
type Tasks interface {
	// Head returns the head of the owner's task, or task.ErrNotFound.
	Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error)
}

// Runs continues and ends tasks without a run.
type Runs interface {
	// Rouse continues the execution of a task that has ended with execution.ErrResting. begun, if
	// set, is called once the run has begun, or if there will be none soon, unless Rouse returns
	// an error.
	Rouse(ctx context.Context, owner task.Owner, id a2a.TaskID, begun func()) error
	// GiveUp fails a task with a reason for its caller.
	GiveUp(ctx context.Context, owner task.Owner, id a2a.TaskID, reason string) (task.Head, error)
}

// Signer signs the envelopes of a hub. A *bus.Signer implements it.
type Signer interface {
	Sign(e *bus.Envelope) error
}

// DefaultPrefetch is the Prefetch of a Dispatcher without one.
const DefaultPrefetch = 1024

// Dispatcher connects a hub to a bus. Fields must not change once it is in use; it is safe for
// concurrent use.
type Dispatcher struct {
	// Bus carries the envelopes. It is required.
	Bus bus.Bus
	// ID names the hub on the bus, and stays the same across restarts: a word of a–z, A–Z, 0–9,
	// "-" and "_". It is required.
	ID string
	// Tasks looks up the state of tasks without a run. It is required.
	Tasks Tasks
	// Signer signs the envelopes of the hub. If nil, they are not signed.
	Signer Signer
	// Lease is the time for which a worker may be silent before its jobs are given to others.
	// Zero means protocol.Lease. If Bus is a bus.Monitor, the time in which it is disconnected
	// does not count.
	Lease time.Duration
	// MaxWait is the time for which work waits for a worker before its task fails. Zero means
	// protocol.MaxWait; negative means no limit.
	MaxWait time.Duration
	// Reconcile is the time between two comparisons of the queues with the tasks that wait in
	// them. Work that was missing in two comparisons is published again. Zero means
	// DefaultReconcile. A Bus that is no bus.Operator is not compared.
	Reconcile time.Duration
	// Prefetch is the largest number of reports that are processed at one time. Zero means
	// DefaultPrefetch.
	Prefetch int
	// Large limits the bytes in memory of content and events that do not fit into an envelope;
	// further ones wait. Zero means DefaultLarge; it should not be less than protocol.MaxLarge.
	Large int64
	// Runs continues the executions of tasks that rest while they wait for a worker. If nil, each
	// of them has a run all the time. An engine of a hub implements it.
	Runs Runs
	// Peers are the other hubs on the store, whose tasks this one may take over; nil if there are
	// none. Their workers then report to this hub. Signer must be set as well.
	Peers Peers
	// Lost is called with workers that have been silent for a lease. It is called on the
	// goroutines of runs and must not block. It may be nil.
	Lost func(name task.Agent, worker string)
	// Claimed is called with each claim of a worker that was granted, like Lost. It may be nil.
	Claimed func(Claim)
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	outgoing batch.Batcher[string, *bus.Envelope] // by worker

	clock   wallClock
	adopted adoption
	// acts is set if this Dispatcher acts for another hub.
	acts bool

	mu   sync.Mutex // guards the fields below
	runs map[taskKey]*run
	// parked holds items for the mailboxes of tasks that will soon have a run.
	parked   map[taskKey][]any
	count    int   // of all parked
	reserved int64 // of Large
	// resting are the tasks whose work waits in its queue, and that have no run.
	resting map[taskKey]rest
	slots   slots
}

// Claim is a granted claim of a worker.
type Claim struct {
	Owner   task.Owner
	Task    a2a.TaskID
	Context string
	Agent   task.Agent
	Worker  string
	// Epoch is the number of the run among those of the task.
	Epoch int64
}

// maxParked is the number of parked items of a task.
const maxParked = 16

// taskKey identifies a task: an id is unique only within its owner.
type taskKey struct {
	owner task.Owner
	id    a2a.TaskID
}

// reviewInterval is the interval at which parked reports are processed again.
const reviewInterval = 10 * time.Second

// reportLease is the time for which a report may wait for its run before the bus redelivers it.
const reportLease = time.Minute

// Run receives the messages of workers until ctx ends. It returns an error if a required field
// of d is missing or invalid, or if the bus fails permanently.
func (d *Dispatcher) Run(ctx context.Context) error {
	if err := d.check(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var control error
	wg.Go(func() {
		defer stop()
		control = d.receive(ctx, bus.Subscription{At: protocol.ControlAt(d.ID)}, d.control)
	})
	wg.Go(func() { d.review(ctx) })
	defer d.adopted.begin(ctx)()
	wg.Go(func() { d.reconcile(ctx) })
	reports := d.receive(ctx, bus.Subscription{
		At: protocol.ReportAt(d.ID), Prefetch: d.prefetch(), Lease: reportLease, Ready: d.onReconnect(),
	}, d.report)
	stop()
	wg.Wait()
	return errors.Join(control, reports)
}

func (d *Dispatcher) check() error {
	switch {
	case d.Bus == nil:
		return errors.New("queue: Dispatcher.Bus is required")
	case d.Tasks == nil:
		return errors.New("queue: Dispatcher.Tasks is required")
	}
	if err := protocol.ReportAt(d.ID).Check(); err != nil {
		return fmt.Errorf("queue: Dispatcher.ID: %w", err)
	}
	return nil
}

func (d *Dispatcher) receive(ctx context.Context, s bus.Subscription, handle func(context.Context, *bus.Delivery)) error {
	for delivery, err := range d.Bus.Receive(ctx, s) {
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		if to := delivery.Destination; to != "" && to != d.source() {
			d.refuse(ctx, delivery, fmt.Sprintf("it is for %q, and arrived at %q", to, d.source()))
			continue
		}
		handle(ctx, delivery)
	}
	return nil
}

// refuse moves an invalid envelope, or one for another hub, to Dead.
func (d *Dispatcher) refuse(ctx context.Context, delivery *bus.Delivery, reason string) {
	d.log().Warn("envelope rejected", "at", delivery.At, "type", delivery.Type, "from", delivery.Source, "reason", reason)
	d.logSettlement(delivery.DeadLetter(ctx, reason))
}

// logSettlement logs a settlement that has failed: the bus then redelivers the envelope.
func (d *Dispatcher) logSettlement(err error) {
	if err != nil {
		d.log().Debug("delivery not settled", "error", err)
	}
}

// onReconnect returns the function that the bus calls when it is connected, and after each
// reconnection. After a reconnection unclaimed work may be lost, and the runs publish it again.
func (d *Dispatcher) onReconnect() func() {
	var once sync.Once
	return func() {
		first := false
		once.Do(func() { first = true })
		if first || d.durable() {
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, r := range d.runs {
			r.mail.put(queuesLost{})
		}
	}
}

// durable reports whether the bus keeps its queues when it is restarted.
func (d *Dispatcher) durable() bool {
	k, ok := d.Bus.(bus.Durability)
	return ok && k.Durable()
}

// register registers r as the run of its task, and passes it the parked items. It reports
// whether the work of the task is known to be in its queue: the task has rested, or a worker has
// the work.
func (d *Dispatcher) register(r *run) (roused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs == nil {
		d.runs = make(map[taskKey]*run)
	}
	d.runs[r.key] = r
	at, rested := d.resting[r.key]
	if rested {
		r.repeats, r.since = at.repeats, at.waiting
		d.wakeLocked(r.key, at)
	}
	items := d.parked[r.key]
	for _, item := range items {
		r.mail.put(item)
	}
	d.count -= len(items)
	delete(d.parked, r.key)
	return rested || len(items) > 0
}

// unregister removes r, and returns the unread content of its mailbox.
func (d *Dispatcher) unregister(r *run) []any {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs[r.key] == r {
		delete(d.runs, r.key)
		if r.resting {
			at := rest{name: r.name, agent: r.call.Agent, queued: r.queued.Load(), waiting: r.waiting.Load(), repeats: r.repeats}
			if !r.schedule.limit.IsZero() {
				at.limit = r.schedule.limit.UnixMilli()
			}
			if d.resting == nil {
				d.resting = make(map[taskKey]rest)
			}
			d.resting[r.key] = at
		} else if r.waiting.Load() > 0 {
			d.slots.note(r.name, -1)
		}
	}
	return r.mail.take()
}

// deliver puts an item into the mailbox of a task's run; it reports whether there is a run.
func (d *Dispatcher) deliver(k taskKey, item any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[k]
	if r != nil {
		r.mail.put(item)
	}
	return r != nil
}

// find returns the run of a task, or nil.
func (d *Dispatcher) find(k taskKey) *run {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[k]
}

// park keeps an item for a run that will soon exist; it reports whether there was room. It
// rouses the task if that rests.
func (d *Dispatcher) park(ctx context.Context, k taskKey, item any) bool {
	if !d.keep(k, item) {
		return false
	}
	d.rouse(ctx, k, nil)
	return true
}

func (d *Dispatcher) keep(k taskKey, item any) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.runs[k]; r != nil {
		r.mail.put(item)
		return true
	}
	if d.count >= d.prefetch()/2 || len(d.parked[k]) >= maxParked {
		return false // the rest is for tasks that have a run, and for other tasks
	}
	if d.parked == nil {
		d.parked = make(map[taskKey][]any)
	}
	d.parked[k] = append(d.parked[k], item)
	d.count++
	return true
}

// takeParked removes and returns all parked items.
func (d *Dispatcher) takeParked() map[taskKey][]any {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.parked
	d.parked, d.count = nil, 0
	return all
}

// again processes an item for a task whose run has not started or has ended. Senders repeat all
// but reports, if the task has ended.
func (d *Dispatcher) again(ctx context.Context, k taskKey, item any) {
	if delivery, ok := item.(*bus.Delivery); ok {
		d.report(ctx, delivery)
		return
	}
	if d.deliver(k, item) {
		return
	}
	if status, err := d.statusOf(ctx, k); err == nil && status == queued {
		d.park(ctx, k, item)
	}
}

// review processes parked items again whose run has not started.
func (d *Dispatcher) review(ctx context.Context) {
	ticker := time.NewTicker(reviewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		d.adopted.review()
		for k, items := range d.takeParked() {
			for _, item := range items {
				d.again(ctx, k, item)
			}
		}
	}
}

func (d *Dispatcher) source() string { return "hub/" + d.ID }

func (d *Dispatcher) prefetch() int { return cmp.Or(max(d.Prefetch, 0), DefaultPrefetch) }

func (d *Dispatcher) lease() time.Duration { return cmp.Or(max(d.Lease, 0), protocol.Lease) }

// disconnectedUntil returns the time at which a silent worker is to be checked again, because
// the hub itself was disconnected from the broker during its lease; zero if it was not.
func (d *Dispatcher) disconnectedUntil(now time.Time) time.Time {
	m, ok := d.Bus.(bus.Monitor)
	if !ok {
		return time.Time{}
	}
	switch c := m.Connection(); {
	case !c.Up:
		return now.Add(d.lease())
	case c.Since.Add(d.lease()).After(now):
		return c.Since.Add(d.lease())
	}
	return time.Time{}
}

func (d *Dispatcher) maxWait() time.Duration { return cmp.Or(d.MaxWait, protocol.MaxWait) }

func (d *Dispatcher) log() *slog.Logger {
	if d.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Logger
}
