package check

import (
	"context"
	"slices"

	agentcard "github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/internal/check/wire"
)

func sendRequirements() []requirement {
	return []requirement{
		must("send.answer", "§3.1.1", "The answer to a message is exactly one of a task and a message.", sendAnswer),
		must("send.blocking", "§3.2.2", "Unless told otherwise, the answer waits until the task has ended or is interrupted.", sendBlocking),
		must("send.immediately", "§3.2.2", "With returnImmediately the answer comes while the task is in progress.", sendImmediately),
		must("send.new-ids", "§3.4.2", "The server makes a new, unique id for each task.", sendNewIDs),
		must("send.context", "§3.4.1", "A context id that the server made is in its answer.", sendContext),
		must("send.context-kept", "§3.4.1", "A context id of the client is kept or refused, never replaced.", sendContextKept),
		must("send.unknown-task", "§3.4.2", "A message to a task that does not exist is a TaskNotFoundError.", sendUnknownTask),
		must("send.ended-task", "§3.1.1", "A message to a task that has ended is an UnsupportedOperationError.", sendEndedTask),
		must("send.continues", "§3.4.3", "A message with the id of an interrupted task continues it.", sendContinues),
		must("send.context-inferred", "§3.4.3", "With only a task id given, the context is that of the task.", sendContextInferred),
		must("send.context-mismatch", "§3.4.3", "A task id with the context id of another conversation is refused.", sendContextMismatch),
		must("send.history-zero", "§3.2.4", "With historyLength 0 the answer has no history.", sendHistoryZero),
		must("send.message-only", "§3.1.1", "A message as answer comes from the agent and has a context id.", sendMessageOnly),
		must("send.no-message", "§3.3.2", "A request without a message is refused as invalid.", sendNoMessage),
		should("send.no-id", "§5.7", "A message without a messageId is refused as invalid.", invalidMessage(map[string]any{"messageId": nil})),
		should("send.no-role", "§5.7", "A message without a role is refused as invalid.", invalidMessage(map[string]any{"role": nil})),
		should("send.no-parts", "§5.7", "A message without parts is refused as invalid.", invalidMessage(map[string]any{"parts": []any{}})),
		should("send.empty-part", "§4.1.6", "A part without content is refused as invalid.",
			invalidMessage(map[string]any{"parts": []any{map[string]any{}}})),
		should("send.double-part", "§4.1.6", "A part with two contents is refused as invalid.",
			invalidMessage(map[string]any{"parts": []any{map[string]any{"text": "a", "url": "https://example.com/b"}}})),
		should("send.bad-role", "§5.5", "A message with a role that does not exist is refused as invalid.", invalidMessage(map[string]any{"role": "ROLE_NOBODY"})),
		should("send.unknown-field", "§5.7", "Fields that the server does not know are ignored.", sendUnknownField),
	}
}

func sendAnswer(ctx context.Context, p *probe) error {
	x := p.plain(ctx)
	if err := ok(x); err != nil {
		return err
	}
	if got := arms(x.Result, "task", "message"); len(got) != 1 {
		return failf(x, "the answer has %q of task and message", got)
	}
	return nil
}

func sendBlocking(ctx context.Context, p *probe) error {
	x := p.plain(ctx)
	t, err := task(x)
	if err != nil {
		return err
	}
	if s := text(t, "status", "state"); !terminal(s) && !interrupted(s) {
		return failf(x, "the call returned while the task was %s", s)
	}
	return nil
}

func sendImmediately(ctx context.Context, p *probe) error {
	x := p.say(ctx, staysOpen, configured(map[string]any{"returnImmediately": true}))
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

func sendNewIDs(ctx context.Context, p *probe) error {
	first, err := task(p.plain(ctx))
	if err != nil {
		return err
	}
	x := p.say(ctx, completes)
	second, err := task(x)
	if err != nil {
		return err
	}
	if text(first, "id") == text(second, "id") {
		return failf(x, "two messages made the same task %q", text(first, "id"))
	}
	return nil
}

func sendContext(ctx context.Context, p *probe) error {
	x := p.plain(ctx)
	if err := ok(x); err != nil {
		return require(err)
	}
	for _, arm := range arms(x.Result, "task", "message") {
		if text(x.Result, arm, "contextId") == "" {
			return failf(x, "the %s has no contextId", arm)
		}
	}
	return nil
}

func sendContextKept(ctx context.Context, p *probe) error {
	id := "check-" + unknownID()
	x := p.say(ctx, completes, in(map[string]any{"contextId": id}))
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
	x := p.say(ctx, completes, in(map[string]any{"taskId": id}))
	if err := refused(x, wire.TaskNotFound); err == nil || !p.takesIDs() || x.Err != nil || x.Fault != nil {
		return err
	}
	if got := text(x.Result, "task", "id"); got != id {
		return failf(x, "the card declares %s, but the task of the message is %q, want %q", agentcard.ClientTaskIDs, got, id)
	}
	return declared("callers may choose the ids of new tasks, as the card declares: " + agentcard.ClientTaskIDs)
}

// takesIDs reports whether the card declares that callers may choose the ids of new tasks
// on the interface.
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

func sendEndedTask(ctx context.Context, p *probe) error {
	t, err := p.finished(ctx)
	if err != nil {
		return err
	}
	return refused(p.say(ctx, completes, in(map[string]any{"taskId": text(t, "id")})), wire.Unsupported)
}

// continued answers a task that waits for input.
func (p *probe) continued(ctx context.Context) (before any, x *wire.Exchange, err error) {
	before, err = p.asking(ctx)
	if err != nil {
		return nil, nil, err
	}
	x = p.say(ctx, completes, in(map[string]any{"taskId": text(before, "id")}))
	return before, x, nil
}

func sendContinues(ctx context.Context, p *probe) error {
	before, x, err := p.continued(ctx)
	if err != nil {
		return err
	}
	if err := ok(x); err != nil {
		return err
	}
	if got, want := text(x.Result, "task", "id"), text(before, "id"); got != want {
		return failf(x, "the answer is about task %q, want %q", got, want)
	}
	return nil
}

func sendContextInferred(ctx context.Context, p *probe) error {
	before, x, err := p.continued(ctx)
	if err != nil {
		return err
	}
	if err := ok(x); err != nil {
		return require(err)
	}
	if got, want := text(x.Result, "task", "contextId"), text(before, "contextId"); got != want {
		return failf(x, "the answer has contextId %q, want that of the task, %q", got, want)
	}
	return nil
}

func sendContextMismatch(ctx context.Context, p *probe) error {
	t, err := p.asking(ctx)
	if err != nil {
		return err
	}
	x := p.say(ctx, completes, in(map[string]any{"taskId": text(t, "id"), "contextId": "check-" + unknownID()}))
	return refused(x, wire.InvalidParams, wire.InvalidRequest, wire.Unsupported, wire.TaskNotFound)
}

func sendHistoryZero(ctx context.Context, p *probe) error {
	x := p.say(ctx, completes, configured(map[string]any{"historyLength": 0}))
	t, err := task(x)
	if err != nil {
		return err
	}
	if n := len(list(t, "history")); n > 0 {
		return failf(x, "the task has %d messages in its history, want none", n)
	}
	return nil
}

func sendMessageOnly(ctx context.Context, p *probe) error {
	x := p.say(ctx, answers)
	if err := ok(x); err != nil {
		return require(err)
	}
	m := at(x.Result, "message")
	switch {
	case m == nil:
		return notOfferedf("the agent has no %s", answers.text)
	case text(m, "role") != "ROLE_AGENT":
		return failf(x, "the message has role %q, want ROLE_AGENT", text(m, "role"))
	case text(m, "contextId") == "":
		return failf(x, "the message has no contextId")
	}
	return nil
}

func sendNoMessage(ctx context.Context, p *probe) error {
	return invalid(p.call(ctx, wire.SendMessage, map[string]any{"metadata": map[string]any{"why": "no message"}}))
}

// invalid is nil if x was refused as invalid.
func invalid(x *wire.Exchange) error { return refused(x, wire.InvalidParams, wire.InvalidRequest) }

// invalidMessage returns a check that a message with these fields is refused.
func invalidMessage(fields map[string]any) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error { return invalid(p.malformed(ctx, fields)) }
}

func sendUnknownField(ctx context.Context, p *probe) error {
	if err := ok(p.plain(ctx)); err != nil {
		return require(err)
	}
	x := p.say(ctx, completes, in(map[string]any{"fieldOfTomorrow": map[string]any{"deep": true}}),
		func(params map[string]any) { params["anotherField"] = 1 })
	return ok(x)
}
