package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/task"
)

// workerMessage is a message from the hub to a worker. It may be lost: then the worker asks again, or
// the hub repeats it at the worker's next sign of life.
type workerMessage struct {
	to    string // the worker
	about taskKey
	kind  bus.Type
	// correlation is the caller's id for the work.
	correlation string

	epoch int64
	seq   int64
	body  any
	// batches is set if the worker accepts protocol.Batch.
	batches bool
}

// sendTimeout limits the time to send a note.
const sendTimeout = 5 * time.Second

// send sends a note. It does so even if ctx has ended, because the worker waits for an
// answer.
func (d *Dispatcher) send(ctx context.Context, n *workerMessage) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer stop()
	e := d.envelope(n.kind, n.about)
	e.Destination, e.Correlation, e.Epoch, e.Seq = "worker/"+n.to, n.correlation, n.epoch, n.seq
	var err error
	if e.Body, err = protocol.Encode(n.body); err == nil {
		err = d.post(ctx, n, e)
	}
	if err != nil {
		d.log().Debug("send message to worker", "type", n.kind, "worker", n.to, "task", n.about.id, "error", err)
	}
}

// post publishes the envelope of a note, together with others for the same worker.
func (d *Dispatcher) post(ctx context.Context, n *workerMessage, e *bus.Envelope) error {
	at := protocol.WorkerAt(n.to)
	if !n.batches || len(e.Body) > protocol.MaxBatched {
		return d.sign(ctx, at, e)
	}
	return d.outgoing.Send(ctx, n.to, e, func(all []*bus.Envelope) error {
		joined, err := protocol.Join(all)
		if err != nil {
			return err
		}
		return d.sign(ctx, at, joined)
	})
}

// stop notifies a worker that its run does not count.
func (d *Dispatcher) stop(ctx context.Context, n *workerMessage, reason string) {
	n.kind, n.body = protocol.TypeDeny, &protocol.Deny{Reason: reason}
	d.send(ctx, n)
}

// envelope returns an envelope of the hub. It has no id: sign creates one, because most
// envelopes are sent in batches.
func (d *Dispatcher) envelope(kind bus.Type, about taskKey) *bus.Envelope {
	return &bus.Envelope{
		Type: kind, Time: task.MillisOf(time.Now()),
		Source: d.source(), ReplyTo: protocol.ControlAt(d.ID).Name,
		Task: string(about.id), Owner: about.owner,
	}
}

func (d *Dispatcher) publish(ctx context.Context, to bus.Address, e *bus.Envelope, body any) error {
	var err error
	if e.Body, err = protocol.Encode(body); err != nil {
		return err
	}
	return d.sign(ctx, to, e)
}

func (d *Dispatcher) sign(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	if d.Signer != nil {
		if err := d.Signer.Sign(e); err != nil {
			return err
		}
	}
	return d.Bus.Publish(ctx, to, e)
}
