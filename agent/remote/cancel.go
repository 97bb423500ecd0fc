package remote

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Cancel implements a2asrv.AgentExecutor. It cancels the task at the peer, and confirms
// what the peer confirms. A task that has ended there first ends here as it did there.
func (a *Agent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c := &cancellation{agent: a, ec: ec, call: agent.CallFrom(ctx), run: a.runs.last(runKey{ownerOf(ctx), ec.TaskID})}
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
	// run is the one that is under way; nil if there is none.
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
	if err != nil && !lost(err) {
		c.canceling(false)
	}
	switch {
	case ctx.Err() != nil:
		return
	case lost(err):
		yield(a2a.NewStatusUpdateEvent(c.ec, a2a.TaskStateCanceled, nil), nil)
	case err != nil:
		yield(nil, err)
	case c.run != nil:
		c.ends(ctx, ev, yield)
	default:
		c.tell(ev, yield)
	}
}

// canceling lets the run that is under way know whether its task may be canceled there.
func (c *cancellation) canceling(on bool) {
	if c.run != nil {
		c.run.canceling.Store(on)
	}
}

// soon is how long the answer to a message on its way is waited for before the peer is
// asked whether it has arrived.
const soon = 500 * time.Millisecond

// task returns the id of the peer's task; it is empty if the peer has none. If the
// message is on its way, its answer is waited for, or it is looked for at the peer.
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
		if ev, err := c.run.sought(ctx, p); err == nil && ev != nil {
			return ev.TaskID, nil
		}
	}
}

// cancel asks the peer until it has answered, and then until the task has ended.
func (c *cancellation) cancel(ctx context.Context, id a2a.TaskID) (*peer.Event, error) {
	asked := false
	for tries := 1; ; tries++ {
		ev, err := c.ask(ctx, id, asked)
		switch {
		case err == nil && ev.State.Terminal():
			return ev, nil
		case err == nil:
			asked = true
		case errors.Is(err, a2a.ErrTaskNotCancelable):
			// It may have ended in the meantime.
			if ev, other := c.ask(ctx, id, true); other == nil && ev.State.Terminal() {
				return ev, nil
			}
			return nil, a2a.ErrTaskNotCancelable
		case lost(err):
			return nil, err
		case refused(err), untold(err):
			c.agent.logger().Warn("remote task cannot be canceled", "agent", c.call.Agent, "task", c.ec.TaskID, "error", err)
			return nil, a2a.ErrTaskNotCancelable
		}
		if !pause(ctx, retryGap(tries)) {
			return nil, context.Cause(ctx)
		}
	}
}

// ask asks the peer to cancel its task, or only how it is.
func (c *cancellation) ask(ctx context.Context, id a2a.TaskID, asked bool) (*peer.Event, error) {
	p, err := c.agent.peer(ctx)
	if err != nil {
		return nil, err
	}
	ev, err := peer.Event{}, error(nil)
	if asked {
		ev, err = p.Get(ctx, id, c.agent.HistoryLength)
	} else {
		ev, err = p.Cancel(ctx, id)
	}
	return &ev, err
}

// lastWords is how long a run may take to tell how its task has ended.
const lastWords = 2 * time.Second

// ends lets the run that is under way tell how the task has ended, so that nothing is
// lost of what it had to say before.
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

// tell passes on how the task has ended.
func (c *cancellation) tell(ev *peer.Event, yield func(a2a.Event, error) bool) {
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
