package natsbus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/wake"
)

// pullFor is the time for which the server keeps a request for envelopes. At overdue it must
// have reported that none came.
const (
	pullFor = 10 * time.Second
	overdue = pullFor + 2*time.Second
)

// receiver is one loop over Receive at a queue.
type receiver struct {
	b        *Bus
	at       bus.Address
	prefetch int // how many envelopes it may hold
	lease    time.Duration
	ready    func() // nil once it was called
	inbox    string
	sub      *nats.Subscription
	msgs     chan *nats.Msg
	gone     chan struct{} // closed when sub has ended
	wake     wake.Signal   // sent when an envelope is settled

	leaving sync.Once // a second call waits for the first

	mu   sync.Mutex // guards the fields below
	held map[position]*item
	left bool
	// receiving is set while the loop may receive an envelope that is not held yet; received is
	// signalled when it is reset.
	receiving bool
	received  *sync.Cond

	// The fields below belong to the goroutine of the loop.
	pulls  int // requests so far
	asked  int // the number of envelopes that the last request may still bring
	answer time.Time
}

// receiveQueue yields the deliveries of a queue. It returns nil when the loop is left.
func (b *Bus) receiveQueue(ctx context.Context, s bus.Subscription, yield func(*bus.Delivery, error) bool) error {
	r := &receiver{
		b: b, at: s.At, prefetch: max(s.Prefetch, 1), lease: s.Lease, ready: s.Ready,
		inbox: b.nc.NewInbox(), wake: wake.New(), gone: make(chan struct{}), held: map[position]*item{},
	}
	r.received = sync.NewCond(&r.mu)
	if r.lease <= 0 {
		r.lease = bus.DefaultLease
	}
	// The channel has room for the envelopes and for some status messages of the server. There
	// is one request at a time.
	r.msgs = make(chan *nats.Msg, 2*r.prefetch+64)
	var err error
	if r.sub, err = b.nc.ChanSubscribe(r.inbox+".*", r.msgs); err != nil {
		return err
	}
	r.sub.SetClosedHandler(func(string) { close(r.gone) })
	if !b.enter(r) {
		_ = r.sub.Unsubscribe() // the connection ends
		return b.whyClosed()
	}
	defer r.leave()
	for {
		up, err := r.prepare(ctx)
		if err != nil {
			return err
		}
		if more, err := r.run(ctx, up, yield); !more {
			return err
		}
	}
}

// enter registers r for Close; it reports false if the bus is already closed.
func (b *Bus) enter(r *receiver) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return false
	}
	b.receivers[r] = struct{}{}
	return true
}

// prepare waits until the consumer of the queue exists, and returns a context that ends with
// the connection.
func (r *receiver) prepare(ctx context.Context) (up context.Context, err error) {
	for d := firstPause; ; d = min(2*d, lastPause) {
		if up, err = r.b.await(ctx); err != nil {
			return nil, err
		}
		err = r.consumer(ctx, up)
		switch {
		case err == nil:
			if r.ready != nil {
				r.b.onReconnect(r.sub, r.ready)
				r.ready()
				r.ready = nil
			}
			r.asked = 0
			return up, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case permanent(err):
			return nil, err
		case up.Err() == nil:
			r.b.log.Warn("bus: queue does not exist yet", "queue", r.at.Name, "error", err)
		}
		if err := backoff.Sleep(ctx, d); err != nil {
			return nil, err
		}
	}
}

// consumer ensures that the consumer of the queue exists. It waits no longer than the connection
// lasts: a server that ends answers no request.
func (r *receiver) consumer(ctx, up context.Context) error {
	ctx, cancel := r.b.bounded(ctx)
	defer cancel()
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	defer context.AfterFunc(up, func() { lost(errLost) })()
	return r.b.consumer(ctx, r.at, r.lease)
}

// run yields the deliveries of one connection. It returns true if the loop must continue with
// another prepare.
func (r *receiver) run(ctx, up context.Context, yield func(*bus.Delivery, error) bool) (more bool, err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		d, again, err := r.next(ctx, up, timer)
		if again || err != nil {
			return again, err
		}
		if d != nil && !yield(d, nil) {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
}

// next waits for the next event, and returns a delivery to yield, if any. again requests
// another prepare. leave waits for next: a received envelope is then either held or returned.
func (r *receiver) next(ctx, up context.Context, timer *time.Timer) (d *bus.Delivery, again bool, err error) {
	if !r.startReceiving() {
		return nil, false, bus.ErrClosed
	}
	defer r.endReceiving()
	if r.pull() != nil {
		return nil, true, nil // the connection is about to be lost
	}
	timer.Reset(r.untilExpiry())
	select {
	case m := <-r.msgs:
		d, again = r.arrived(ctx, m)
		return d, again, nil
	case <-r.wake:
	case <-timer.C:
		r.expire()
	case <-up.Done():
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	return nil, false, nil
}

// startReceiving marks the loop as receiving; it reports false if the receiver was left.
func (r *receiver) startReceiving() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receiving = !r.left
	return r.receiving
}

// endReceiving marks the loop as not receiving: the received envelope is held or returned.
func (r *receiver) endReceiving() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receiving = false
	r.received.Broadcast()
}

// pull requests envelopes from the server for the free part of the prefetch, unless a request
// is pending.
func (r *receiver) pull() error {
	if r.asked > 0 {
		return nil
	}
	r.mu.Lock()
	n := r.prefetch - len(r.held)
	r.mu.Unlock()
	if n <= 0 {
		return nil
	}
	request, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{n, pullFor})
	if err != nil {
		return err
	}
	r.pulls++
	to := "$JS.API.CONSUMER.MSG.NEXT." + r.b.options.Stream + "." + ConsumerName(r.at)
	if err := r.b.nc.PublishRequest(to, r.reply(), request); err != nil {
		return err
	}
	r.asked = n
	r.answer = time.Now().Add(overdue)
	return nil
}

// reply returns the subject for responses to the last request.
func (r *receiver) reply() string { return fmt.Sprintf("%s.%d", r.inbox, r.pulls) }

// untilExpiry returns the time until the next request or lease expires.
func (r *receiver) untilExpiry() time.Duration {
	if r.asked > 0 {
		return time.Until(r.answer)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	first := time.Now().Add(r.lease)
	for _, it := range r.held {
		if it.due.Before(first) {
			first = it.due
		}
	}
	return time.Until(first)
}

// expire forgets an overdue request, and envelopes whose lease has ended.
func (r *receiver) expire() {
	now := time.Now()
	if r.asked > 0 && !now.Before(r.answer) {
		r.asked = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, it := range r.held {
		if !now.Before(it.due) {
			delete(r.held, at)
		}
	}
}

// arrived returns the delivery of a message, if there is one to yield. again requests another
// prepare.
func (r *receiver) arrived(ctx context.Context, m *nats.Msg) (d *bus.Delivery, again bool) {
	if status := m.Header.Get("Status"); status != "" && m.Reply == "" {
		return nil, r.status(m, status)
	}
	r.asked = max(r.asked-1, 0)
	meta, err := m.Metadata()
	if err != nil {
		r.b.log.Warn("bus: not from a stream", "queue", r.at.Name, "error", err)
		return nil, false
	}
	it := &item{r: r, m: m, at: position{meta.Sequence.Stream, meta.Timestamp.UnixNano()}, number: int(meta.NumDelivered), due: time.Now().Add(r.lease)} //nolint:gosec // a count
	return it.open(ctx), false
}

// status handles a status message of the server.
func (r *receiver) status(m *nats.Msg, status string) (again bool) {
	if m.Subject != r.reply() {
		return false // about an abandoned request
	}
	text := m.Header.Get("Description")
	switch status {
	case "404", "408": // no envelope came in time
		r.asked = 0
		return false
	case "503": // no server is responsible
		r.b.undeclare()
		return true
	case "100":
		return false
	}
	// 409: the consumer was deleted, has another leader, or has too many waiting requests.
	r.b.log.Warn("bus: request for envelopes rejected", "queue", r.at.Name, "status", status, "reason", text)
	r.b.undeclare()
	return true
}

// hold adds an envelope to the held ones, and reports whether it may be yielded.
func (r *receiver) hold(it *item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left {
		return false
	}
	r.held[it.at] = it
	return true
}

// leave returns unsettled envelopes to the queue. It is called by the loop and by Close; both
// wait until that is done, because Close must not disconnect before.
func (r *receiver) leave() { r.leaving.Do(r.requeueAll) }

func (r *receiver) requeueAll() {
	r.mu.Lock()
	r.left = true
	for r.receiving { // not for long: Close has cancelled its context
		r.received.Wait()
	}
	r.mu.Unlock()
	r.drain()
	r.b.mu.Lock()
	delete(r.b.receivers, r)
	delete(r.b.listeners, r.sub)
	r.b.mu.Unlock()
}

// drain ends the subscription and returns its envelopes to the queue.
func (r *receiver) drain() {
	up, _ := r.b.link.state()
	if up == nil || r.sub.Drain() != nil {
		_ = r.sub.Unsubscribe() // the server detects it by itself
		return
	}
	// When the server has confirmed the end of the subscription, no further message can come.
	ctx, cancel := context.WithTimeout(up, r.b.options.Timeout)
	defer cancel()
	select {
	case <-r.gone:
	case <-ctx.Done():
	}
	for _, m := range r.unsettled() {
		r.b.requeue(m, 0)
	}
	for {
		select {
		case m := <-r.msgs:
			if m.Reply != "" {
				r.b.requeue(m, 0)
			}
		default:
			return
		}
	}
}

// unsettled returns the held envelopes in the order of the stream. The caller has stopped
// additions.
func (r *receiver) unsettled() []*nats.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := slices.SortedFunc(maps.Values(r.held), func(a, b *item) int { return cmp.Compare(a.at.seq, b.at.seq) })
	msgs := make([]*nats.Msg, len(held))
	for i, it := range held {
		msgs[i] = it.m
	}
	return msgs
}
