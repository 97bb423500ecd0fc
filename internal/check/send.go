package check

import (
	"context"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func sendImmediately(ctx context.Context, p *probe) error {
	x := p.send(ctx, staysOpen, configured(map[string]any{"returnImmediately": true}))
	if err := ok(x); err != nil {
		return err
	}
	id, state := text(x.Result, "task", "id"), text(x.Result, "task", "status", "state")
	if id == "" || terminal(state) {
		return notOfferedf("the agent has no %s", staysOpen.text)
	}
	p.open[id] = true
	return nil
}

func sendContextKept(ctx context.Context, p *probe) error {
	id := "check-" + unknownID()
	x := p.send(ctx, completes, in(map[string]any{"contextId": id}))
	if x.Fault != nil {
		return nil
	}
	if err := ok(x); err != nil {
		return err
	}
	for _, arm := range arms(x.Result, "task", "message") {
		if got := text(x.Result, arm, "contextId"); got != id {
			return failf(x, "the contextId %q became %q", id, got)
		}
	}
	return nil
}

func sendUnknownTask(ctx context.Context, p *probe) error {
	return refused(p.send(ctx, completes, in(map[string]any{"taskId": unknownID()})), wire.TaskNotFound)
}

// continued sends a message to a task that waits for input.
func (p *probe) continued(ctx context.Context) (before any, x *wire.Exchange, err error) {
	before, err = p.asking(ctx)
	if err != nil {
		return nil, nil, err
	}
	x = p.send(ctx, completes, in(map[string]any{"taskId": text(before, "id")}))
	return before, x, nil
}
