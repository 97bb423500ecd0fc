package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/internal/batch"
	"github.com/parley-a2a/parley/task"
)

// Tasks is what is known of tasks that no run of this process is about. A task.Store is
// one.
type Tasks interface {
	// Head returns the head of the owner's task, or task.ErrNotFound.
	Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error)
}

// Signer vouches for what a hub says; a *bus.Signer is one.
type Signer interface {
	Sign(e *bus.Envelope) error
}

// DefaultPrefetch is the Prefetch of a Dispatcher without one.
const DefaultPrefetch = 1024

// Dispatcher is the place of a hub on a bus. Fields must not change once it is in use.
type Dispatcher struct {
	// Bus carries the envelopes. It is required.
	Bus bus.Bus
	// ID names the hub on the bus, and stays the same when it is started again: a word of
	// a–z, A–Z, 0–9, "-" and "_". It is required.
	ID string
	// Tasks tells what became of tasks that have no run. It is required.
	Tasks Tasks
	// Signer vouches for what the hub says. If nil, nobody does.
	Signer Signer
	// Lease is how long a worker may be silent before its jobs are given to others. Zero
	// means protocol.Lease. The time in which Bus is away from its broker does not count, if Bus
	// is a bus.Monitor.
	Lease time.Duration
	// MaxWait is how long work waits for a worker before its task fails. Zero means
	// protocol.MaxWait; negative means for ever.
	MaxWait time.Duration
	// Prefetch is how many reports may be under way to tasks at one time. Zero means
	// DefaultPrefetch.
	Prefetch int
	// Large is how many bytes of content and events that do not fit into an envelope are in
	// memory at one time; what is too much waits. Zero means DefaultLarge; it should not be
	// less than protocol.MaxLarge.
	Large int64
	// Lost is told of workers that have given no sign of life for a lease. It is called on
	// the goroutines of runs and must not wait. If nil, nobody is told.
	Lost func(name task.Agent, worker string)
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	notes batch.Convoy[string, *bus.Envelope] // by worker

	mu   sync.Mutex // guards the fields below
	runs map[taskKey]*run
	// parked are reports for tasks that will have a run soon.
	parked map[taskKey][]*bus.Delivery
	count  int   // of all parked
	held   int64 // of Large
}

// taskKey finds a task. Its id alone is unique within its owner only.
type taskKey struct {
	owner task.Owner
	id    a2a.TaskID
}

// reviewEvery is the time between two looks at the reports that wait for a run.
const reviewEvery = 10 * time.Second

// reportLease is how long a report may wait for its run before the bus delivers it again.
const reportLease = time.Minute

// Run hears what workers say until ctx ends. It returns an error if something is missing
// in d, or if the bus does not work and will not.
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
	reports := d.receive(ctx, bus.Subscription{
		At: protocol.ReportAt(d.ID), Prefetch: d.prefetch(), Lease: reportLease, Ready: d.mended(),
	}, d.report)
	stop()
	wg.Wait()
	return errors.Join(control, reports)
}

func (d *Dispatcher) check() error {
	switch {
	case d.Bus == nil:
		return errors.New("queue: Dispatcher.Bus is missing")
	case d.Tasks == nil:
		return errors.New("queue: Dispatcher.Tasks is missing")
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

// refuse gives up an envelope that is not for the hub, or no envelope at all.
func (d *Dispatcher) refuse(ctx context.Context, delivery *bus.Delivery, reason string) {
	d.log().Warn("envelope refused", "at", delivery.At, "type", delivery.Type, "from", delivery.Source, "reason", reason)
	d.settled(delivery.Bury(ctx, reason))
}

// settled notes a settlement that has failed: the delivery comes again.
func (d *Dispatcher) settled(err error) {
	if err != nil {
		d.log().Debug("delivery not settled", "error", err)
	}
}

// mended returns what is called when the connection is there, and each time that it is
// there again: then work that nobody has claimed may be lost.
func (d *Dispatcher) mended() func() {
	var once sync.Once
	return func() {
		first := false
		once.Do(func() { first = true })
		if first || d.keeps() {
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, r := range d.runs {
			r.mail.put(lost{})
		}
	}
}

// keeps reports whether the bus keeps what it has if it is started again.
func (d *Dispatcher) keeps() bool {
	k, ok := d.Bus.(bus.Keeper)
	return ok && k.Keeps()
}

// enter makes r the run of its task, and gives it what waits for it.
func (d *Dispatcher) enter(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs == nil {
		d.runs = make(map[taskKey]*run)
	}
	d.runs[r.key] = r
	for _, delivery := range d.parked[r.key] {
		r.mail.put(delivery)
	}
	d.count -= len(d.parked[r.key])
	delete(d.parked, r.key)
}

// leave takes r out, and returns what has come for it and was not looked at.
func (d *Dispatcher) leave(r *run) []any {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs[r.key] == r {
		delete(d.runs, r.key)
	}
	return r.mail.take()
}

// deliver puts something into the mailbox of a task's run; it reports whether there is
// one.
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

// park keeps a report for a run that will be there soon; it reports whether there was
// room.
func (d *Dispatcher) park(k taskKey, delivery *bus.Delivery) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.runs[k]; r != nil {
		r.mail.put(delivery)
		return true
	}
	if d.count >= d.prefetch()/2 {
		return false // the others are for tasks that have a run
	}
	if d.parked == nil {
		d.parked = make(map[taskKey][]*bus.Delivery)
	}
	d.parked[k] = append(d.parked[k], delivery)
	d.count++
	return true
}

// unpark takes all parked reports out.
func (d *Dispatcher) unpark() []*bus.Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*bus.Delivery
	for _, some := range d.parked {
		all = append(all, some...)
	}
	d.parked, d.count = nil, 0
	return all
}

// review looks again at reports whose run has not come.
func (d *Dispatcher) review(ctx context.Context) {
	ticker := time.NewTicker(reviewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, delivery := range d.unpark() {
			d.report(ctx, delivery)
		}
	}
}

func (d *Dispatcher) source() string { return "hub/" + d.ID }

func (d *Dispatcher) prefetch() int {
	if d.Prefetch > 0 {
		return d.Prefetch
	}
	return DefaultPrefetch
}

func (d *Dispatcher) lease() time.Duration {
	if d.Lease > 0 {
		return d.Lease
	}
	return protocol.Lease
}

// deaf returns when a worker that was not heard for a lease is to be looked at again,
// because the hub itself was away from the broker in that time; zero if it was not.
func (d *Dispatcher) deaf(now time.Time) time.Time {
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

func (d *Dispatcher) maxWait() time.Duration {
	if d.MaxWait == 0 {
		return protocol.MaxWait
	}
	return d.MaxWait
}

func (d *Dispatcher) log() *slog.Logger {
	if d.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Logger
}
