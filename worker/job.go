package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// job is the work for one message of a task, from its delivery to its acknowledgment.
type job struct {
	run   *run
	key   jobKey
	env   *bus.Envelope
	work  protocol.Work
	nonce string
	// hubTopic receives the worker's messages, reportQueue those reports that must not be lost.
	hubTopic, reportQueue bus.Address
	buffer                *sendBuffer
	// answer receives the hub's answer to the claim.
	answer chan *bus.Envelope
	// pieces receives the fetched pieces of a large message.
	pieces chan *protocol.Piece
	// asked is closed once a further message of the caller waits.
	asked chan struct{}
	// ctx and stop are those of the job, exec and stopExec those of its executor.
	ctx, exec      context.Context
	stop, stopExec context.CancelCauseFunc
	// goroutines counts the goroutines of the job besides the one that performs it.
	goroutines sync.WaitGroup

	mu sync.Mutex // guards the fields below, and the fetched parts of work
	// deliveries are the unsettled deliveries of the work: besides the first one its
	// redeliveries, and those of copies that the bus has. settlement is how the job has settled
	// all of them; its Disposition is zero before.
	deliveries  []*bus.Delivery
	settlement  bus.Settlement
	epoch       int64 // zero before the grant
	token       string
	askedClosed bool
	ended       bool // goroutines must not grow any more
	// canceling is set while the executor's Cancel runs. refusal is the reason of its last
	// refusal, at the time refused.
	canceling bool
	refusal   string
	refused   time.Time
}

// newJob checks a delivery and returns its job.
func (r *run) newJob(d *bus.Delivery) (*job, error) {
	if d.Type != protocol.TypeWork {
		return nil, fmt.Errorf("unknown type %q at the queue of an agent", d.Type)
	}
	if r.Keys != nil && d.At.Kind == bus.QueueKind { // listen has verified those of its topic
		if err := r.Keys.Verify(d.Envelope); err != nil {
			return nil, err
		}
	}
	hub, ok := strings.CutPrefix(d.Source, "hub/")
	if !ok || d.Task == "" {
		return nil, fmt.Errorf("task %q from %q: work has a task and comes from a hub", d.Task, d.Source)
	}
	if to := d.Destination; to != "" && to != "agent/"+string(r.Name) && d.At.Kind == bus.QueueKind {
		return nil, fmt.Errorf("it is for %q but arrived at agent %q", to, r.Name)
	}
	j := &job{
		run: r, key: jobKey{hub, d.Owner, d.Task}, env: d.Envelope, deliveries: []*bus.Delivery{d}, nonce: uuid.NewString(),
		hubTopic: bus.Topic(d.ReplyTo), buffer: newSendBuffer(), answer: make(chan *bus.Envelope, 1), asked: make(chan struct{}),
		pieces: make(chan *protocol.Piece, 1),
	}
	if err := protocol.Decode(d.Body, &j.work); err != nil {
		return nil, fmt.Errorf("decode work: %w", err)
	}
	if j.work.Large != nil {
		if err := j.work.Large.Check(); err != nil {
			return nil, err
		}
	}
	j.reportQueue = bus.Queue(j.work.Reports)
	if err := errors.Join(j.hubTopic.Check(), j.reportQueue.Check()); err != nil {
		return nil, fmt.Errorf("work without a way back: %w", err)
	}
	j.ctx, j.stop = context.WithCancelCause(r.base)
	j.exec, j.stopExec = context.WithCancelCause(j.ctx)
	return j, nil
}

// perform claims the job and executes it. It returns false if the hub has not granted it.
func (j *job) perform(accepting context.Context) bool {
	defer j.stop(errWorkerEnds)
	if !j.claim(accepting) {
		return false
	}
	j.goroutines.Go(j.report)
	j.goroutines.Go(j.execute)
	select {
	case <-j.buffer.settled:
	case <-j.ctx.Done(): // stopped by the hub, or by the end of the worker
	}
	if !errors.Is(context.Cause(j.ctx), errWorkerEnds) {
		j.ack()
	}
	j.end(errJobOver)
	j.mu.Lock()
	j.ended = true
	j.mu.Unlock()
	j.goroutines.Wait()
	return true
}

// Causes of the cancellation of an executor's context.
var (
	errJobOver  = errors.New("run has ended")
	errStopped  = errors.New("the hub has stopped the run")
	errCanceled = errors.New("task was canceled")
)

// The time between two claims.
const (
	claimFirst = 500 * time.Millisecond
	claimMost  = 5 * time.Second
)

// claim requests the job until the hub has answered. A worker that ends returns the delivery to
// the broker, so that another worker receives it.
func (j *job) claim(accepting context.Context) (granted bool) {
	pause := claimFirst
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		e := j.envelope(protocol.TypeClaim)
		e.Trace = j.env.Trace
		err := j.post(accepting, e, &protocol.Claim{
			Delivery: j.work.Delivery, Worker: j.run.id, Nonce: j.nonce, Idempotent: j.run.repeats(), Batches: true,
			Slots: j.run.offered(),
		})
		if err != nil && accepting.Err() == nil {
			j.run.Logger.Debug("not published", "type", e.Type, "at", j.hubTopic, "error", err)
		}
		for waiting := true; waiting; {
			select {
			case e := <-j.answer:
				done, granted := j.handleAnswer(e)
				if done {
					return granted
				}
			case <-timer.C:
				waiting = false
			case <-j.ctx.Done():
				if !errors.Is(context.Cause(j.ctx), errWorkerEnds) {
					j.ack() // a newer delivery has replaced this one, and gets the hub's answers
				}
				return false
			case <-accepting.Done():
				j.settle(bus.Settlement{Disposition: bus.Refused})
				return false
			}
		}
		pause = min(2*pause, claimMost)
		timer.Reset(pause)
	}
}

// handleAnswer handles an answer to the claim. done is set if no other answer is expected.
func (j *job) handleAnswer(e *bus.Envelope) (done, granted bool) {
	if e.Type == protocol.TypeDeny {
		var deny protocol.Deny
		if json.Unmarshal(e.Body, &deny) != nil || deny.Nonce != j.nonce || deny.Later {
			return false, false
		}
		j.run.Logger.Info("work is no longer needed", "agent", j.run.Name, "task", j.key.task, "reason", deny.Reason)
		j.ack()
		return true, false
	}
	return j.handleGrant(e), true
}

// handleGrant stores a grant. It returns false if it is for another claim.
func (j *job) handleGrant(e *bus.Envelope) bool {
	var g protocol.Grant
	if protocol.Decode(e.Body, &g) != nil || g.Nonce != j.nonce || e.Epoch == 0 {
		return false
	}
	j.mu.Lock()
	same := j.epoch == 0 || j.epoch == e.Epoch
	if same {
		j.epoch, j.token = e.Epoch, g.Token
	}
	j.mu.Unlock()
	if same {
		j.run.limitInterval(time.Duration(g.Lease) * time.Millisecond)
	}
	return same
}

// handle handles a message from the hub.
func (j *job) handle(e *bus.Envelope) {
	j.mu.Lock()
	epoch := j.epoch
	j.mu.Unlock()
	if epoch == 0 {
		if e.Type == protocol.TypeGrant || e.Type == protocol.TypeDeny {
			select {
			case j.answer <- e:
			default:
			}
		}
		return
	}
	if e.Epoch != epoch {
		return // about another run
	}
	switch e.Type {
	case protocol.TypeGrant:
		j.handleGrant(e)
	case protocol.TypeConfirm:
		var c protocol.Confirm
		if protocol.Decode(e.Body, &c) == nil {
			j.buffer.confirm(e.Seq, c.Final)
			if c.Resend > 0 {
				j.buffer.resendFrom(c.Resend)
			}
			if c.MessageWaiting {
				j.messageWaiting()
			}
		}
	case protocol.TypePiece:
		j.handlePiece(e)
	case protocol.TypeCancel:
		j.cancel(e)
	case protocol.TypeDeny:
		var deny protocol.Deny
		_ = json.Unmarshal(e.Body, &deny) // the reason is for people
		j.run.Logger.Info("run stopped", "agent", j.run.Name, "task", j.key.task, "epoch", e.Epoch, "reason", deny.Reason)
		j.end(fmt.Errorf("%w: %s", errStopped, deny.Reason))
	}
}

// end stops the job at once and closes its buffer.
func (j *job) end(cause error) {
	j.stop(cause)
	j.buffer.close()
}

// messageWaiting notifies the executor that a further message waits.
func (j *job) messageWaiting() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.askedClosed {
		j.askedClosed = true
		close(j.asked)
	}
}

// giveBack returns the job to the hub and stops its executor. It returns false if the job is
// complete, and only the hub's confirmation is missing.
func (j *job) giveBack() bool {
	defer j.stopExec(errWorkerEnds)
	return j.buffer.add(j.ctx, output{end: &protocol.Report{GivenBack: true}}, true)
}

// redelivered adds a further delivery of the same work, which is settled like the first one. An
// earlier delivery is not dropped: it may be of another copy, and a broker without a lease would
// hold that one for as long as the worker is connected.
func (j *job) redelivered(d *bus.Delivery) {
	j.mu.Lock()
	how := j.settlement
	if how.Disposition == 0 {
		j.deliveries = append(j.deliveries, d)
	}
	j.mu.Unlock()
	if how.Disposition != 0 {
		j.apply(how, d)
	}
}

// ack acknowledges the deliveries.
func (j *job) ack() { j.settle(bus.Settlement{Disposition: bus.Acked}) }

func (j *job) settle(how bus.Settlement) {
	j.mu.Lock()
	all := j.deliveries
	j.deliveries, j.settlement = nil, how
	j.mu.Unlock()
	j.apply(how, all...)
}

func (j *job) apply(how bus.Settlement, deliveries ...*bus.Delivery) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(j.ctx), grace)
	defer stop()
	for _, d := range deliveries {
		if d.Settle != nil { // not of work from the topic
			j.run.logSettlement(d.Settle(ctx, how))
		}
	}
}

// held returns the entry of the job in a heartbeat; false before the grant.
func (j *job) held() (protocol.HeldJob, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return protocol.HeldJob{Task: j.key.task, Owner: j.key.owner, Epoch: j.epoch, Token: j.token}, j.epoch != 0
}

// post publishes e with a body at the hub's topic.
func (j *job) post(ctx context.Context, e *bus.Envelope, body any) error {
	if j.work.Batches {
		return j.run.post(ctx, j.hubTopic, e, body)
	}
	return j.run.publish(ctx, j.hubTopic, e, body)
}

// envelope returns an envelope about the job.
func (j *job) envelope(kind bus.Type) *bus.Envelope {
	e := j.run.envelope(kind)
	e.Destination, e.Task, e.Owner = "hub/"+j.key.hub, j.key.task, j.key.owner
	e.Correlation = j.env.Correlation
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Epoch = j.epoch
	return e
}
