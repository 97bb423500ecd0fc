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

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
)

// workJob is one piece of work of a worker, from its delivery to its acknowledgement.
type workJob struct {
	shift *shift
	key   jobKey
	env   *bus.Envelope
	work  protocol.Work
	nonce string
	// hub is the topic of the hub, reports its queue.
	hub, reports bus.Address
	out          *outbox
	// answer has the hub's answer to the claim.
	answer chan *bus.Envelope
	// pieces has what the worker has fetched.
	pieces chan *protocol.Piece
	// asked is closed once a further message waits.
	asked chan struct{}
	// ctx is that of the job, exec that of its executor.
	ctx, exec  context.Context
	stop, halt context.CancelCauseFunc
	// hands are the goroutines of the job but for its own.
	hands sync.WaitGroup

	mu       sync.Mutex // guards the fields below, and what of work is fetched
	delivery *bus.Delivery
	epoch    int64 // zero before the grant
	token    string
	told     bool // asked is closed
	over     bool // no goroutine may join hands any more
	// canceling is set while Cancel of the executor is at work. refusal is why it has
	// refused, refused when.
	canceling bool
	refusal   string
	refused   time.Time
}

// newJob checks a delivery.
func (s *shift) newJob(d *bus.Delivery) (*workJob, error) {
	if d.Type != protocol.TypeWork {
		return nil, fmt.Errorf("type %q is not known at the queue of an agent", d.Type)
	}
	if s.Keys != nil {
		if err := s.Keys.Verify(d.Envelope); err != nil {
			return nil, err
		}
	}
	hub, ok := strings.CutPrefix(d.Source, "hub/")
	if !ok || d.Task == "" {
		return nil, fmt.Errorf("task %q from %q: work has a task and comes from a hub", d.Task, d.Source)
	}
	if to := d.Destination; to != "" && to != "agent/"+string(s.Name) {
		return nil, fmt.Errorf("it is for %q, and arrived at agent %q", to, s.Name)
	}
	j := &workJob{
		shift: s, key: jobKey{hub, d.Owner, d.Task}, env: d.Envelope, delivery: d, nonce: uuid.NewString(),
		hub: bus.Topic(d.ReplyTo), out: newOutbox(), answer: make(chan *bus.Envelope, 1), asked: make(chan struct{}),
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
	j.reports = bus.Queue(j.work.Reports)
	if err := errors.Join(j.hub.Check(), j.reports.Check()); err != nil {
		return nil, fmt.Errorf("work without a way back: %w", err)
	}
	j.ctx, j.stop = context.WithCancelCause(s.base)
	j.exec, j.halt = context.WithCancelCause(j.ctx)
	return j, nil
}

// perform claims the job and does it; it reports whether it was given.
func (j *workJob) perform(accepting context.Context) bool {
	defer j.stop(errShiftOver)
	if !j.claim(accepting) {
		return false
	}
	j.hands.Go(j.report)
	j.hands.Go(j.execute)
	select {
	case <-j.out.settled:
	case <-j.ctx.Done(): // told to stop, by the hub or at the end of the shift
	}
	if !errors.Is(context.Cause(j.ctx), errShiftOver) {
		j.ack()
	}
	j.end(errJobOver)
	j.mu.Lock()
	j.over = true
	j.mu.Unlock()
	j.hands.Wait()
	return true
}

// Why the context of an executor ends.
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

// claim asks for the job until the hub has answered. A worker that ends leaves it to
// others.
func (j *workJob) claim(accepting context.Context) (granted bool) {
	pause := claimFirst
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		e := j.envelope(protocol.TypeClaim)
		e.Trace = j.env.Trace
		err := j.post(accepting, e, &protocol.Claim{
			Delivery: j.work.Delivery, Worker: j.shift.id, Nonce: j.nonce, Idempotent: agent.TraitsOf(j.shift.Executor).Idempotent, Batches: true,
		})
		if err != nil && accepting.Err() == nil {
			j.shift.Logger.Debug("not published", "type", e.Type, "at", j.hub, "error", err)
		}
		for waiting := true; waiting; {
			select {
			case e := <-j.answer:
				done, granted := j.answered(e)
				if done {
					return granted
				}
			case <-timer.C:
				waiting = false
			case <-accepting.Done():
				j.settle(bus.Settlement{Verdict: bus.Refused})
				return false
			}
		}
		pause = min(2*pause, claimMost)
		timer.Reset(pause)
	}
}

// answered looks at an answer to the claim; it reports whether the claim is done.
func (j *workJob) answered(e *bus.Envelope) (done, granted bool) {
	if e.Type == protocol.TypeDenial {
		var deny protocol.Denial
		if json.Unmarshal(e.Body, &deny) != nil || deny.Nonce != j.nonce || deny.Later {
			return false, false
		}
		j.shift.Logger.Info("work is not to be done", "agent", j.shift.Name, "task", j.key.task, "reason", deny.Reason)
		j.ack()
		return true, false
	}
	return j.granted(e), true
}

// granted takes a grant, the first one or another one.
func (j *workJob) granted(e *bus.Envelope) bool {
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
		j.shift.keepWithin(time.Duration(g.Lease) * time.Millisecond)
	}
	return same
}

// hear takes what the hub says.
func (j *workJob) hear(e *bus.Envelope) {
	j.mu.Lock()
	epoch := j.epoch
	j.mu.Unlock()
	if epoch == 0 {
		if e.Type == protocol.TypeGrant || e.Type == protocol.TypeDenial {
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
		j.granted(e)
	case protocol.TypeConfirm:
		var c protocol.Confirm
		if protocol.Decode(e.Body, &c) == nil {
			j.out.confirm(e.Seq, c.Final)
		}
	case protocol.TypeResend:
		j.out.from(e.Seq)
	case protocol.TypePiece:
		j.arrived(e)
	case protocol.TypeCancel:
		j.cancel(e)
	case protocol.TypeAsked:
		j.ask()
	case protocol.TypeStop:
		j.stopped(e)
	}
}

func (j *workJob) stopped(e *bus.Envelope) {
	var stop protocol.Stop
	_ = json.Unmarshal(e.Body, &stop) // the reason is for people
	j.shift.Logger.Info("run is stopped", "agent", j.shift.Name, "task", j.key.task, "epoch", e.Epoch, "reason", stop.Reason)
	j.end(fmt.Errorf("%w: %s", errStopped, stop.Reason))
}

// end ends the job as it is.
func (j *workJob) end(cause error) {
	j.stop(cause)
	j.out.close()
}

// ask lets the executor know that a further message waits.
func (j *workJob) ask() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.told {
		j.told = true
		close(j.asked)
	}
}

// giveBack says that the job will not be done here. It reports false if the job was done,
// and only the hub does not know.
func (j *workJob) giveBack() bool {
	defer j.halt(errShiftOver)
	return j.out.put(j.ctx, said{end: &protocol.Report{GivenBack: true}}, true)
}

// redelivered takes a delivery of the same work in the place of the one before.
func (j *workJob) redelivered(d *bus.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.delivery = d
}

// ack says that there is nothing to do any more.
func (j *workJob) ack() { j.settle(bus.Settlement{Verdict: bus.Acked}) }

// settle does something with the delivery.
func (j *workJob) settle(how bus.Settlement) {
	j.mu.Lock()
	d := j.delivery
	j.mu.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(j.ctx), grace)
	defer stop()
	j.shift.settled(d.Settle(ctx, how))
}

// extend keeps the delivery.
func (j *workJob) extend(ctx context.Context) error {
	j.mu.Lock()
	d := j.delivery
	j.mu.Unlock()
	return d.Extend(ctx)
}

// held returns what a beat says of the job, if it was granted.
func (j *workJob) held() (protocol.Held, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return protocol.Held{Task: j.key.task, Owner: j.key.owner, Epoch: j.epoch, Token: j.token}, j.epoch != 0
}

// post publishes e with a body at the hub's topic.
func (j *workJob) post(ctx context.Context, e *bus.Envelope, body any) error {
	if j.work.Batches {
		return j.shift.post(ctx, j.hub, e, body)
	}
	return j.shift.publish(ctx, j.hub, e, body)
}

// envelope returns an envelope about the job.
func (j *workJob) envelope(kind bus.Type) *bus.Envelope {
	e := j.shift.envelope(kind)
	e.Destination, e.Task, e.Owner = "hub/"+j.key.hub, j.key.task, j.key.owner
	e.Correlation = j.env.Correlation
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Epoch = j.epoch
	return e
}
