package check

import (
	"context"
	"slices"

	agentcard "github.com/parley-a2a/parley/agent/card"
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
	id := unknownID()
	x := p.send(ctx, completes, in(map[string]any{"taskId": id}))
	if err := refused(x, wire.TaskNotFound); err == nil || !p.takesIDs() || x.Err != nil || x.Fault != nil {
		return err
	}
	if got := text(x.Result, "task", "id"); got != id {
		return failf(x, "the card declares %s, but the task of the message is %q, want %q", agentcard.ClientTaskIDs, got, id)
	}
	return declared("callers may choose the ids of new tasks, as the card declares: " + agentcard.ClientTaskIDs)
}

// takesIDs reports whether the card declares that callers may choose the ids of new tasks on
// the interface.
func (p *probe) takesIDs() bool {
	for _, x := range list(p.run.card, "capabilities", "extensions") {
		if text(x, "uri") != agentcard.ClientTaskIDs {
			continue
		}
		named := at(x, "params", "bindings")
		return named == nil || slices.ContainsFunc(list(named), func(name any) bool {
			b, ok := name.(string)
			return ok && bindings[b] == p.iface.Binding
		})
	}
	return false
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
