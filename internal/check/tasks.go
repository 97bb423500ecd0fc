package check

import (
	"context"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func getHistoryLimit(ctx context.Context, p *probe) error {
	before, _, err := p.continued(ctx)
	if err != nil {
		return err
	}
	all := p.call(ctx, wire.GetTask, map[string]any{"id": text(before, "id"), "historyLength": 50})
	if err := ok(all); err != nil {
		return err
	}
	history := list(all.Result, "history")
	if len(history) < 2 {
		return notOfferedf("the history of a task with two turns has %d messages", len(history))
	}
	x := p.call(ctx, wire.GetTask, map[string]any{"id": text(before, "id"), "historyLength": 1})
	if err := ok(x); err != nil {
		return err
	}
	got := list(x.Result, "history")
	switch {
	case len(got) > 1:
		return with(failf(x, "the history has %d messages, want at most 1", len(got)), all)
	case len(got) == 1 && text(got, 0, "messageId") != text(history, len(history)-1, "messageId"):
		return with(failf(x, "the history does not have the most recent message"), all)
	}
	return nil
}

// canceled cancels a task that is in progress.
func (p *probe) canceled(ctx context.Context) (id string, x *wire.Exchange, err error) {
	t, err := p.working(ctx)
	if err != nil {
		return "", nil, err
	}
	id = text(t, "id")
	delete(p.open, id)
	x = p.call(ctx, wire.CancelTask, map[string]any{"id": id})
	if x.Fault != nil && x.Fault.Is(wire.TaskNotCancelable) {
		return "", nil, notOffered("the agent does not cancel its tasks")
	}
	return id, x, nil
}

func cancelTask(ctx context.Context, p *probe) error {
	id, x, err := p.canceled(ctx)
	if err != nil {
		return err
	}
	if err := ok(x); err != nil {
		return err
	}
	if got := text(x.Result, "id"); got != id {
		return failf(x, "the answer is task %q, want %q", got, id)
	}
	if s := text(x.Result, "status", "state"); s != "TASK_STATE_CANCELED" {
		return failf(x, "the canceled task is %q, want TASK_STATE_CANCELED", s)
	}
	return nil
}

func cancelStays(ctx context.Context, p *probe) error {
	id, x, err := p.canceled(ctx)
	if err != nil {
		return err
	}
	if err := ok(x); err != nil {
		return require(err)
	}
	after := p.call(ctx, wire.GetTask, map[string]any{"id": id})
	if err := ok(after); err != nil {
		return err
	}
	if s := text(after.Result, "status", "state"); s != "TASK_STATE_CANCELED" {
		return with(failf(after, "after it was canceled the task is %q", s), x)
	}
	return nil
}
