package remote

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/taskruns"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Cancel implements a2asrv.AgentExecutor. It cancels the task at the peer, and confirms the
// cancellation when the peer does. If the task has already ended at the peer, it ends here in
// the same state.
func (a *Agent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c := &cancellation{agent: a, ec: ec, call: agent.CallFrom(ctx)}
		if runs := a.runs.Of(taskruns.KeyOf(ctx, ec.TaskID)); len(runs) > 0 {
			c.run = runs[len(runs)-1]
		}
		if c.call == nil {
			c.call = new(agent.Call)
		}
		c.perform(peer.WithExtensions(ctx, extensionsOf(ec)), yield)
	}
}

type cancellation struct {
	agent *Agent
	ec    *a2asrv.ExecutorContext
	call  *agent.Call
	// run is the run in progress; nil if none exists.
	run *run
}

func (c *cancellation) perform(ctx context.Context, yield func(a2a.Event, error) bool) {
	id, err := c.task(ctx)
	if err != nil {
		return // nothing is confirmed
	}
	if id == "" {
		yield(a2a.NewStatusUpdateEvent(c.ec, a2a.TaskStateCanceled, nil), nil)
		return
	}
	c.canceling(true)
	ev, err := c.cancel(ctx, id)
	if err != nil && !taskUnknown(err) {
		c.canceling(false)
	}
	switch {
	case ctx.Err() != nil:
		return
	case taskUnknown(err):
		yield(a2a.NewStatusUpdateEvent(c.ec, a2a.TaskStateCanceled, nil), nil)
	case err != nil:
		yield(nil, err)
	case c.run != nil:
		c.ends(ctx, ev, yield)
	default:
		c.yieldFinal(ev, yield)
	}
}

// canceling notifies the run in progress whether its task may be canceled at the peer.
func (c *cancellation) canceling(on bool) {
	if c.run != nil {
		c.run.canceling.Store(on)
	}
}

// soon is how long Cancel waits for the answer to a message in flight before it asks the peer
// whether the message has arrived.
const soon = 500 * time.Millisecond

// task returns the id of the peer's task; it is empty if the peer has none. If the message is
// in flight, task waits for its answer or searches the tasks of the peer for it.
func (c *cancellation) task(ctx context.Context) (a2a.TaskID, error) {
	if c.run == nil {
		h, err := decodeHandle(c.call.Saved)
		return h.Task, err
	}
	for {
		select {
		case <-c.run.known:
			return c.run.task(), nil
		case <-c.run.gone:
			return c.run.task(), nil
		case <-time.After(soon):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		p, err := c.agent.peer(ctx)
		if err != nil {
			continue
		}
		if ev, err := c.run.search(ctx, p); err == nil && ev != nil {
			return ev.TaskID, nil
		}
	}
}

// mostRefusals is how often a peer is asked to cancel a task that it calls open and not cancelable. Some
// servers answer so in the moment between the claim of a task and the start of its run.
const mostRefusals = 3

// cancel retries until the peer has answered, and then until the task has ended.
func (c *cancellation) cancel(ctx context.Context, id a2a.TaskID) (*peer.Event, error) {
	asked, refusals := false, 0
	for tries := 1; ; tries++ {
		ev, err := c.ask(ctx, id, asked)
		switch {
		case err == nil && ev.State.Terminal():
			return ev, nil
		case err == nil:
			asked = true
		case errors.Is(err, a2a.ErrTaskNotCancelable):
			// The task may have ended in the meantime.
			if ev, other := c.ask(ctx, id, true); other == nil && ev.State.Terminal() {
				return ev, nil
			}
			if refusals++; refusals == mostRefusals {
				return nil, a2a.ErrTaskNotCancelable
			}
		case unreadable(err) && ev.State.Terminal():
			return ev, nil
		case unreadable(err) && !asked:
			asked = true
		case taskUnknown(err), unreadable(err):
			return nil, err
		case refused(err), withoutIdentity(err):
			c.agent.logger().Warn("remote task cannot be canceled", "agent", c.call.Agent, "task", c.ec.TaskID, "error", err)
			return nil, a2a.ErrTaskNotCancelable
		}
		if !pause(ctx, retryGap(tries)) {
			return nil, context.Cause(ctx)
		}
	}
}

// ask asks the peer to cancel its task, or, if asked is set, reads the task only.
func (c *cancellation) ask(ctx context.Context, id a2a.TaskID, asked bool) (*peer.Event, error) {
	p, err := c.agent.peer(ctx)
	if err != nil {
		return nil, err
	}
	ev, err := peer.Event{}, error(nil)
	if asked {
		ev, err = p.Get(ctx, id, c.agent.HistoryLength)
	} else {
		ev, err = p.Cancel(ctx, id, c.call.Metadata)
	}
	return &ev, err
}

// lastWords is how long a run may take to report the end of its task.
const lastWords = 2 * time.Second

// ends lets the run in progress report the end of the task, so that its pending events are not
// lost.
func (c *cancellation) ends(ctx context.Context, ev *peer.Event, yield func(a2a.Event, error) bool) {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-c.run.gone:
		if c.run.call.Flush(ctx) == nil && ev.State != a2a.TaskStateCanceled {
			yield(nil, a2a.ErrTaskNotCancelable)
		}
	case <-timer.C:
		yield(&agent.Raw{JSON: statusUpdate(member(ev.Body(), "status"), nil)}, nil)
	case <-ctx.Done():
	}
}

// yieldFinal passes on the final state of the task.
func (c *cancellation) yieldFinal(ev *peer.Event, yield func(a2a.Event, error) bool) {
	var r relay
	r.restore(c.call.Task, c.call.Sealed)
	news, err := r.take(ev, false)
	if err != nil {
		yield(nil, err)
		return
	}
	for _, json := range news {
		if !yield(&agent.Raw{JSON: json}, nil) {
			return
		}
	}
}
