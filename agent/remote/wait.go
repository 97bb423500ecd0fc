package remote

import (
	"context"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// waitsAfter is how long the first connection to an agent may take until the message counts as
// waiting. It equals the time for which a hub hides the task of a message, because a checkpoint
// reveals the task.
const waitsAfter = time.Second

// wait is the state of a message to an agent that need not run yet (Agent.Awaited). While the
// message waits, the checkpoint states that nothing of it was sent, so that an execution after
// a crash sends it. That entry is removed before the first byte is sent. A run that never waits
// writes neither. The zero wait is that of a message that does not wait.
type wait struct {
	mu sync.Mutex // guards the fields below; held while a checkpoint becomes durable
	// sent states that something of the message may have been sent.
	sent bool
	// stored states that the stored checkpoint may mark the message as waiting.
	stored bool
	// logged states that the wait was logged.
	logged bool
}

// resume restores the waiting state of an earlier execution.
func (r *run) resume() {
	if r.wait.stored = r.h.Unsent != ""; r.h.Unsent != r.call.Key {
		r.h.Unsent = "" // it belongs to an earlier message
	}
}

// awaiting returns a context for the sends of a message. It records in the checkpoint that the
// message waits when the connection takes long, and removes that entry before the message is
// sent.
func (r *run) awaiting(ctx context.Context) (context.Context, func()) {
	if !r.agent.Awaited && !r.wait.stored {
		return ctx, func() {}
	}
	ctx = peer.BeforeSending(ctx, r.stopWaiting)
	ended := make(chan struct{})
	timer := time.AfterFunc(waitsAfter, func() {
		defer close(ended)
		r.wait.mu.Lock()
		defer r.wait.mu.Unlock()
		if !r.wait.sent {
			r.storeWaitLocked(ctx)
		}
	})
	return ctx, func() {
		if !timer.Stop() {
			<-ended
		}
	}
}

// startWaiting records that the message waits, because nothing of it has reached the agent. A
// message of which an earlier send may have arrived does not wait.
func (r *run) startWaiting(ctx context.Context) {
	if !r.agent.Awaited || r.resent > 0 {
		return
	}
	r.wait.mu.Lock()
	defer r.wait.mu.Unlock()
	r.wait.sent = false
	r.storeWaitLocked(ctx)
}

// storeWaitLocked stores durably that the message waits.
func (r *run) storeWaitLocked(ctx context.Context) {
	r.mu.Lock()
	if r.accepted() {
		r.mu.Unlock()
		return
	}
	before := r.h.Unsent
	r.h.Unsent = r.call.Key
	blob := r.h.encode()
	r.mu.Unlock()
	if before == "" {
		if r.call.Checkpoint(blob) != nil {
			return // the checkpoint is not kept, and the message is sent all the same
		}
		r.wait.stored = true
		if r.call.Flush(ctx) != nil {
			return // the run is over
		}
	}
	if !r.wait.logged {
		r.wait.logged = true
		r.agent.logger().Info("message waits until its agent is reachable", "agent", r.call.Agent, "task", r.ec.TaskID)
	}
}

// stopWaiting stores durably that the message waits no longer. It is called before each send; an
// error prevents the send.
func (r *run) stopWaiting(ctx context.Context) error {
	r.wait.mu.Lock()
	defer r.wait.mu.Unlock()
	r.wait.sent = true
	if !r.wait.stored {
		return nil
	}
	r.mu.Lock()
	r.h.Unsent = ""
	blob := r.h.encode()
	r.mu.Unlock()
	if err := r.call.Checkpoint(blob); err != nil {
		return err
	}
	if err := r.call.Flush(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the run may be over, and then nothing was stored
	}
	r.wait.stored = false
	return nil
}
