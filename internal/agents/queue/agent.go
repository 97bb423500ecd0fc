package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// Agent is an executor whose tasks are performed by the workers at a queue. Fields must not
// change once it is in use; it is safe for concurrent use.
type Agent struct {
	// Dispatcher connects the hub to the bus. It is required.
	Dispatcher *Dispatcher
	// Queue is the name of the agent on the bus. If empty, it is the agent's name in the hub.
	Queue task.Agent
	// Serial runs the tasks of one context one after the other.
	Serial bool
	// Again gives the message of a lost idempotent worker to another one even if its caller has received
	// output.
	Again bool
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// Traits implements agent.Described. Work is published while its task is being stored, which is no
// effect yet: a worker does not start before its claim is granted, and the hub grants none before
// the task is stored. A worker counts as lost when its heartbeats stop; a long silence of its agent alone does
// not end a run.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{Away: true, Silence: -1, NoMessage: true, Serial: a.Serial}
}

// Kind returns "queue", the way in which the agent is reached, for operators.
func (a *Agent) Kind() string { return "queue" }

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		r, err := a.newRun(ctx, ec, yield)
		if err != nil {
			yield(nil, err)
			return
		}
		r.perform()
	}
}

func (a *Agent) newRun(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) (*run, error) {
	call := agent.CallFrom(ctx)
	if call == nil {
		return nil, errors.New("a queue agent needs a hub, which keeps its checkpoints")
	}
	r := &run{
		ctx: ctx, ec: ec, call: call, yield: yield, name: cmp.Or(a.Queue, call.Agent), serial: a.Serial, again: a.Again,
		key: taskKey{auth.PrincipalFrom(ctx).Owner(), ec.TaskID}, mail: &mailbox{wake: wake.New()}, gone: make(chan struct{}),
	}
	if err := protocol.JobAt(r.name).Check(); err != nil {
		return nil, err
	}
	saved := call.Saved
	if saved == nil {
		saved = call.Forgotten
	}
	var err error
	r.state, err = loadState(saved, string(r.name)+" "+call.Key)
	if call.Saved == nil && call.Forgotten != nil {
		if r.state.Tries > 0 || r.state.Published != 0 {
			r.state = dispatchState{Key: r.state.Key, Delivery: r.state.Delivery + 1, Epoch: r.state.Epoch}
		}
	}
	if err != nil {
		return nil, err
	}
	r.stored = r.state.Published != 0
	r.d, r.release = a.Dispatcher.actFor(ctx, r.state.Hub)
	return r, nil
}

// cancel is a request to a run to cancel its task.
type cancel struct {
	metadata json.RawMessage
	// unclaimed is closed if no worker has the task, and none will get it; refused if its
	// worker refuses.
	unclaimed, refused chan struct{}
}

// Cancel implements a2asrv.AgentExecutor.
func (a *Agent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		k := taskKey{auth.PrincipalFrom(ctx).Owner(), ec.TaskID}
		c := &cancel{unclaimed: make(chan struct{}), refused: make(chan struct{})}
		if len(ec.Metadata) > 0 {
			c.metadata, _ = json.Marshal(ec.Metadata) // decoded JSON can be encoded
		}
		d, r := a.Dispatcher, a.Dispatcher.find(k)
		if r == nil {
			if other, run := d.adopted.with(k); run != nil {
				d, r = other, run
			}
		}
		if r == nil || !d.deliver(k, c) {
			d.forget(k)
			d.adopted.forget(k)
			a.cancelStored(ctx, k)
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
			return
		}
		select {
		case <-c.unclaimed:
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
		case <-c.refused:
			yield(nil, a2a.ErrTaskNotCancelable)
		case <-r.gone:
			if h, err := a.Dispatcher.Tasks.Head(ctx, k.owner, k.id); err == nil && h.State.Terminal() && h.State != task.Canceled {
				yield(nil, a2a.ErrTaskNotCancelable)
			}
		case <-ctx.Done():
		}
	}
}

// cancelStored stops the worker of a task that has no run in this process.
func (a *Agent) cancelStored(ctx context.Context, k taskKey) {
	call := agent.CallFrom(ctx)
	if call == nil {
		return
	}
	var p dispatchState
	if json.Unmarshal(call.Saved, &p) == nil && p.claimed() {
		d, release := a.Dispatcher.actFor(ctx, p.Hub)
		defer release()
		d.stop(ctx, &workerMessage{to: p.Worker, about: k, epoch: p.Epoch}, "the task was canceled")
	}
}
