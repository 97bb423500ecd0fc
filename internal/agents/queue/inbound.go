package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

// claim is a worker's request for a job. from is the agent that the broker has authenticated;
// it may be empty.
type claim struct {
	protocol.Claim
	from string
}

// mayServe reports whether the worker of the claim may have work of an agent. It must not be known
// to belong to another agent.
func (c *claim) mayServe(name task.Agent) bool {
	if c.from != "" && c.from != string(name) {
		return false
	}
	return !strings.Contains(c.Worker, ".") || protocol.WorksFor(c.Worker, name)
}

// heartbeat is a worker's sign of life for one job.
type heartbeat struct {
	epoch  int64
	token  string
	worker string
}

// queuesLost is put into the mailbox when the bus may have lost its queues.
type queuesLost struct{}

// undeliverable is put into the mailbox when the bus has moved work to Dead.
type undeliverable struct {
	delivery int64
	reason   string
}

// control handles the messages of workers at the hub's topic.
func (d *Dispatcher) control(ctx context.Context, delivery *bus.Delivery) {
	if err := protocol.CheckSender(delivery); err != nil {
		d.log().Warn("envelope ignored", "at", delivery.At, "type", delivery.Type, "task", delivery.Task, "error", err)
		return
	}
	switch delivery.Type {
	case protocol.TypeBatch:
		all, err := protocol.Split(delivery.Envelope)
		if err != nil {
			d.log().Warn("batch ignored in whole or in part", "from", delivery.Source, "error", err)
		}
		for _, e := range all {
			d.control(ctx, &bus.Delivery{Envelope: e, At: delivery.At, From: delivery.From, Number: delivery.Number})
		}
	case protocol.TypeClaim:
		d.handleClaim(ctx, delivery)
	case protocol.TypeHeartbeat:
		d.handleHeartbeat(ctx, delivery.Envelope)
	case protocol.TypeReport:
		d.report(ctx, delivery)
	case protocol.TypeFetch:
		d.handleFetch(ctx, delivery.Envelope)
	default:
		d.log().Debug("envelope ignored", "at", delivery.At, "type", delivery.Type, "from", delivery.Source)
	}
}

func keyOf(e *bus.Envelope) taskKey { return taskKey{e.Owner, a2a.TaskID(e.Task)} }

// decodeOf decodes a message of a worker, whose name is a member of it.
func decodeOf[T any](text json.RawMessage, body *T, worker *string) error {
	if err := protocol.Decode(text, body); err != nil {
		return err
	}
	return protocol.WorkerAt(*worker).Check()
}

func (d *Dispatcher) handleClaim(ctx context.Context, e *bus.Delivery) {
	c := claim{from: e.From}
	if err := decodeOf(e.Body, &c.Claim, &c.Worker); err != nil {
		d.log().Warn("claim ignored", "from", e.Source, "task", e.Task, "error", err)
		return
	}
	k := keyOf(e.Envelope)
	if d.deliver(k, &c) || d.ignores(k) {
		return
	}
	deny := protocol.Deny{Nonce: c.Nonce}
	switch status, err := d.statusOf(ctx, k); {
	case err != nil, status == elsewhere:
		return // the worker asks again, and the other hub receives that, too
	case status == queued && d.Runs != nil && d.park(ctx, k, &c):
		return
	case status == queued:
		deny.Later, deny.Reason = true, "the hub is starting"
	default:
		deny.Reason = status.reason()
	}
	d.send(ctx, &workerMessage{to: c.Worker, about: k, kind: protocol.TypeDeny, body: &deny})
}

func (d *Dispatcher) handleHeartbeat(ctx context.Context, e *bus.Envelope) {
	var b struct {
		Worker string            `json:"worker"`
		Jobs   []json.RawMessage `json:"jobs"` // protocol.HeldJob: one that cannot be read takes no lease of others
	}
	if err := decodeOf(e.Body, &b, &b.Worker); err != nil {
		d.log().Warn("heartbeat ignored", "from", e.Source, "error", err)
		return
	}
	for i, text := range b.Jobs {
		var h protocol.HeldJob
		if err := protocol.Decode(text, &h); err != nil {
			d.log().Warn("job of a heartbeat ignored", "from", e.Source, "index", i, "error", err)
			continue
		}
		n := &workerMessage{to: b.Worker, about: taskKey{h.Owner, a2a.TaskID(h.Task)}, epoch: h.Epoch}
		d.deliverOrStop(ctx, n, heartbeat{h.Epoch, h.Token, b.Worker})
	}
}

// deliverOrStop passes an item from a worker to the run of its task, or stops the worker with n if
// there is none and will be none.
func (d *Dispatcher) deliverOrStop(ctx context.Context, n *workerMessage, item any) {
	k := n.about
	if d.deliver(k, item) || d.ignores(k) {
		return
	}
	switch status, err := d.statusOf(ctx, k); {
	case err != nil, status == elsewhere:
	case !status.due():
		d.stop(ctx, n, status.reason())
	case d.Runs != nil:
		d.park(ctx, k, item)
	}
}

// report handles a report, at the hub's queue or its topic.
func (d *Dispatcher) report(ctx context.Context, delivery *bus.Delivery) {
	if delivery.Type != protocol.TypeReport {
		d.refuse(ctx, delivery, fmt.Sprintf("type %q is not known at the queue of a hub", delivery.Type))
		return
	}
	k := keyOf(delivery.Envelope)
	if d.deliver(k, delivery) || delivery.At.Kind == bus.TopicKind && d.ignores(k) {
		return
	}
	d.stray(ctx, k, delivery)
}

// taskStatus is the state of a task that has no run in this process.
type taskStatus uint8

const (
	queued  taskStatus = iota + 1 // it will have a run
	behind                        // it will have one, after others
	waiting                       // it waits for its caller
	ended
	elsewhere // another hub has it, and receives the messages of its worker
	moved     // another hub has it, and has published its work again
	unknown
)

func (f taskStatus) reason() string {
	switch f {
	case waiting:
		return "the job is over: the task waits for its caller"
	case ended:
		return "the task has ended"
	case behind:
		return "the task waits for its turn"
	case unknown:
		return "the hub has no such task"
	case elsewhere, moved:
		return "another hub has the task"
	}
	return "the task has no run yet"
}

// statusOf looks up the status of a task in the store.
func (d *Dispatcher) statusOf(ctx context.Context, k taskKey) (taskStatus, error) {
	h, err := d.Tasks.Head(ctx, k.owner, k.id)
	switch {
	case errors.Is(err, task.ErrNotFound):
		return unknown, nil
	case err != nil:
		d.log().Error("look up task", "task", k.id, "error", err)
		return 0, err
	case h.State.Terminal():
		return ended, nil
	case !h.Due():
		return waiting, nil
	}
	if d.Peers != nil {
		if checkpoint, ok := d.Peers.Elsewhere(ctx, &h); ok {
			return d.placeOf(checkpoint), nil
		}
	}
	if h.Run.Dispatch == task.Pending {
		return behind, nil
	}
	return queued, nil
}

// due reports whether the task will have a run in this process.
func (f taskStatus) due() bool { return f == queued || f == behind }

// placeOf returns the status of a task of another hub with a checkpoint.
func (d *Dispatcher) placeOf(checkpoint []byte) taskStatus {
	var s dispatchState
	if json.Unmarshal(checkpoint, &s) == nil && s.Hub == d.ID {
		return elsewhere
	}
	return moved
}

// strayDelay is the time after which a report is redelivered for whose task there was no room.
const strayDelay = 5 * time.Second

// stray settles a report for a task without a run. It parks the report if the task will have a
// run. If the worker's last event was accepted before, stray repeats the confirmation.
func (d *Dispatcher) stray(ctx context.Context, k taskKey, delivery *bus.Delivery) {
	rep, ok := d.reportOf(ctx, delivery)
	if !ok {
		return
	}
	status, err := d.statusOf(ctx, k)
	n := &workerMessage{to: rep.Worker, about: k, epoch: delivery.Epoch}
	switch {
	case err != nil:
		d.logSettlement(delivery.Nak(ctx, strayDelay))
		return
	case status == elsewhere:
		d.forward(ctx, delivery)
		return
	case status.due():
		if !d.park(ctx, k, delivery) {
			d.logSettlement(delivery.Nak(ctx, strayDelay))
		}
		return
	case status != unknown && finalOf(rep):
		n.kind, n.seq, n.body = protocol.TypeConfirm, delivery.Seq+int64(length(rep))-1, &protocol.Confirm{Final: true}
		d.send(ctx, n)
	default:
		d.stop(ctx, n, status.reason())
	}
	d.logSettlement(delivery.Ack(ctx))
}

// reportOf decodes a report; it refuses an invalid one.
func (d *Dispatcher) reportOf(ctx context.Context, delivery *bus.Delivery) (*protocol.Report, bool) {
	rep := new(protocol.Report)
	err := protocol.Decode(delivery.Body, rep)
	if err == nil {
		err = protocol.WorkerAt(rep.Worker).Check()
	}
	if err == nil && (rep.Piece == nil != (rep.Large == nil) || rep.Piece != nil && plain(rep) > 0) {
		err = errors.New("a piece of a large event comes with its reference, and alone")
	}
	if err != nil {
		d.refuse(ctx, delivery, "not a report: "+err.Error())
		return nil, false
	}
	return rep, true
}

// length returns the number of event numbers that a report uses.
func length(rep *protocol.Report) int {
	if rep.Piece != nil {
		return 1
	}
	return plain(rep)
}

// plain is length without pieces.
func plain(rep *protocol.Report) int {
	n := len(rep.Events)
	if rep.Error != "" || rep.Ended || rep.GivenBack {
		n++
	}
	return n
}

// finalOf reports whether a report ends the run.
func finalOf(rep *protocol.Report) bool {
	if rep.Error != "" || rep.Ended || rep.GivenBack {
		return true
	}
	if len(rep.Events) == 0 {
		return false
	}
	s := stateOf(rep.Events[len(rep.Events)-1])
	return s.Terminal() || s == task.InputRequired
}

// Undeliverable handles an envelope from bus.Dead. Work of this hub that could not be delivered
// ends its task, or is published again if an older version of the hub has published it; other
// envelopes are ignored. After an error, such as when the hub has just
// started and the task has no run yet, the caller must call it again.
func (d *Dispatcher) Undeliverable(ctx context.Context, e *bus.Envelope) error {
	if e.Type != protocol.TypeWork || e.Source != d.source() {
		return nil
	}
	var w protocol.Work
	if protocol.Decode(e.Body, &w) != nil {
		return nil // no run waits for it
	}
	k := keyOf(e)
	var item any = undeliverable{w.Delivery, e.Reason}
	if older(e) {
		item = lostWork{}
	}
	if d.deliver(k, item) {
		return nil
	}
	status, err := d.statusOf(ctx, k)
	if err == nil && status.due() {
		if d.passOn(ctx, k, item) {
			return nil
		}
		err = fmt.Errorf("undeliverable work of task %s: %s", k.id, status.reason())
	}
	return err
}
