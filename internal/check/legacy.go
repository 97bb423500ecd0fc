package check

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// The methods of v0.3 that are asked for.
const (
	oldSend        = wire.LegacySend
	oldStream      = wire.LegacyStream
	oldGet         = wire.LegacyGet
	oldCancel      = wire.LegacyCancel
	oldResubscribe = wire.LegacySubscribe
	oldPushSet     = wire.LegacyCreatePush
	oldPushGet     = wire.LegacyGetPush
	oldPushList    = wire.LegacyListPush
	oldPushDelete  = wire.LegacyDeletePush
)

func legacyRequirements() []requirement {
	return []requirement{
		must("v03.send", "v0.3 §7.1", "message/send answers with a bare task or message, told apart by kind.", oldSendAnswer),
		must("v03.task", "v0.3 §6.1", "A task has kind, id, contextId and a status.", oldTask),
		must("v03.states", "v0.3 §6.3", "States are lower-case words, such as input-required.", oldData(oldStates)),
		must("v03.roles", "v0.3 §6.4", "Roles are user and agent.", oldData(oldRoles)),
		must("v03.parts", "v0.3 §6.5", "Each part has a kind: text, file or data.", oldData(oldParts)),
		must("v03.get", "v0.3 §7.3", "tasks/get returns the task.", oldGetTask),
		must("v03.get-unknown", "v0.3 §7.3", "A task that does not exist is error -32001.", oldUnknown(oldGet)),
		must("v03.cancel-unknown", "v0.3 §7.4", "Canceling a task that does not exist is error -32001.", oldUnknown(oldCancel)),
		must("v03.cancel-ended", "v0.3 §7.4", "Canceling a task that has ended is error -32002.", oldCancelEnded),
		must("v03.continues", "v0.3 §7.1", "A message with the id of a task that waits for input continues it.", oldContinues),
		must("v03.unknown-method", "v0.3 §8.1", "A method that does not exist is error -32601.", oldUnknownMethod, wire.JSONRPC),
		must("v03.envelope", "v0.3 §3.2.1", "An answer is a JSON-RPC 2.0 object with the id of the request.", oldEnvelope, wire.JSONRPC),
		must("v03.stream", "v0.3 §7.2", "The events of a stream have a kind, and are JSON-RPC answers.", oldStreamKinds),
		must("v03.final", "v0.3 §7.2", "The last status update of a stream is final, and only that one.", oldStreamFinal),
		must("v03.resubscribe-unknown", "v0.3 §7.9", "Resubscribing to a task that does not exist is error -32001.", oldResubscribeUnknown),
		must("v03.push", "v0.3 §7.5", "A webhook that was set can be read, is listed and can be deleted.", oldPush),
		must("v03.push-undeclared", "v0.3 §7.5", "Without the capability, webhooks are error -32003.", oldPushUndeclared),
	}
}

// oldMessage returns the parameters of message/send.
func oldMessage(b behaviour) map[string]any {
	params := b.message()
	in(map[string]any{"kind": "message", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": b.text + " please"}}})(params)
	params["configuration"] = map[string]any{"blocking": true}
	return params
}

func (p *probe) oldSay(ctx context.Context, b behaviour) *wire.Exchange {
	return p.once("old "+b.text, func() *wire.Exchange { return p.call(ctx, oldSend, oldMessage(b)) })
}

func oldSendAnswer(ctx context.Context, p *probe) error {
	x := p.oldSay(ctx, completes)
	if err := ok(x); err != nil {
		return err
	}
	if k := text(x.Result, "kind"); k != "task" && k != "message" {
		return failf(x, "the answer has the kind %q, want task or message", k)
	}
	return nil
}

// oldFinished is a task that has ended.
func (p *probe) oldFinished(ctx context.Context) (*wire.Exchange, error) {
	x := p.oldSay(ctx, completes)
	if err := ok(x); err != nil {
		return nil, require(err)
	}
	if text(x.Result, "status", "state") != "completed" {
		return nil, notOffered("the agent does not answer with a task that is completed")
	}
	return x, nil
}

func oldTask(ctx context.Context, p *probe) error {
	x, err := p.oldFinished(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"kind", "id", "contextId"} {
		if text(x.Result, name) == "" {
			return failf(x, "the task has no %s", name)
		}
	}
	return nil
}

// oldData returns a check of everything that was answered.
func oldData(f finding) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		for _, b := range []behaviour{completes, answers, givesText, givesFile, givesURL, givesData} {
			p.oldSay(ctx, b)
		}
		return p.judgeSeen(f)
	}
}

var oldStateNames = []string{"submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required", "unknown"}

func oldStates(path string, v any) string {
	name, above := field(path)
	if s, _ := v.(string); name == "state" && above == "status" && !slices.Contains(oldStateNames, s) {
		return "the state is " + compact(v)
	}
	return ""
}

func oldRoles(path string, v any) string {
	if name, _ := field(path); name == "role" && v != "user" && v != "agent" {
		return "the role is " + compact(v)
	}
	return ""
}

func oldParts(path string, v any) string {
	if !isPart(path, v) {
		return ""
	}
	if k := text(v, "kind"); k != "text" && k != "file" && k != "data" || !has(v, k) {
		return "a part is " + compact(v)
	}
	return ""
}

func oldGetTask(ctx context.Context, p *probe) error {
	want, err := p.oldFinished(ctx)
	if err != nil {
		return err
	}
	x := p.call(ctx, oldGet, map[string]any{"id": text(want.Result, "id")})
	if err := ok(x); err != nil {
		return err
	}
	if text(x.Result, "id") != text(want.Result, "id") || text(x.Result, "status", "state") != "completed" {
		return with(failf(x, "the task is %q, %s", text(x.Result, "id"), text(x.Result, "status", "state")), want)
	}
	return nil
}

func oldUnknown(op wire.Op) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		return refused(p.call(ctx, op, map[string]any{"id": unknownID()}), wire.TaskNotFound)
	}
}

func oldCancelEnded(ctx context.Context, p *probe) error {
	t, err := p.oldFinished(ctx)
	if err != nil {
		return err
	}
	return refused(p.call(ctx, oldCancel, map[string]any{"id": text(t.Result, "id")}), wire.TaskNotCancelable)
}

func oldContinues(ctx context.Context, p *probe) error {
	before := p.call(ctx, oldSend, oldMessage(asks))
	if err := ok(before); err != nil {
		return require(err)
	}
	if text(before.Result, "status", "state") != "input-required" {
		return notOfferedf("the agent has no %s", asks.text)
	}
	params := oldMessage(completes)
	in(map[string]any{"taskId": text(before.Result, "id")})(params)
	x := p.call(ctx, oldSend, params)
	if err := ok(x); err != nil {
		return err
	}
	if text(x.Result, "id") != text(before.Result, "id") {
		return with(failf(x, "the answer is about task %q, want %q", text(x.Result, "id"), text(before.Result, "id")), before)
	}
	return nil
}

func oldUnknownMethod(ctx context.Context, p *probe) error {
	return refused(p.call(ctx, "tasks/doTheImpossible", map[string]any{}), wire.MethodNotFound)
}

func oldEnvelope(ctx context.Context, p *probe) error {
	x := p.do(ctx, wire.Request{Op: oldGet, Params: map[string]any{"id": unknownID()}, ID: 4711})
	if x.Err != nil {
		return ok(x)
	}
	if text(x.Envelope, "jsonrpc") != "2.0" || at(x.Envelope, "id") != json.Number("4711") {
		return failf(x, "jsonrpc is %s and the id %s", compact(at(x.Envelope, "jsonrpc")), compact(at(x.Envelope, "id")))
	}
	return nil
}

// oldEvents is a stream.
func (p *probe) oldEvents(ctx context.Context) (*wire.Exchange, error) {
	if err := p.needs("streaming"); err != nil {
		return nil, err
	}
	x := p.once("old stream", func() *wire.Exchange { return p.call(ctx, oldStream, oldMessage(streams)) })
	if len(x.Events) == 0 {
		if err := ok(x); err != nil {
			return nil, err
		}
		return nil, failf(x, "the answer is not a stream, or has no events")
	}
	return x, nil
}

func oldStreamKinds(ctx context.Context, p *probe) error {
	x, err := p.oldEvents(ctx)
	if err != nil {
		return err
	}
	for i, e := range x.Events {
		kind := text(e.Value, "kind")
		if !slices.Contains([]string{"task", "message", "status-update", "artifact-update"}, kind) {
			return failf(x, "event %d has the kind %q: %s", i+1, kind, compact(e.Envelope))
		}
		if p.iface.Binding == wire.JSONRPC && text(e.Envelope, "jsonrpc") != "2.0" {
			return failf(x, "event %d has jsonrpc %s", i+1, compact(at(e.Envelope, "jsonrpc")))
		}
	}
	return nil
}

func oldStreamFinal(ctx context.Context, p *probe) error {
	x, err := p.oldEvents(ctx)
	if err != nil {
		return require(err)
	}
	updates, final := 0, 0 // final is the first update that says so
	for _, e := range x.Events {
		if text(e.Value, "kind") == "status-update" {
			updates++
			if at(e.Value, "final") == true && final == 0 {
				final = updates
			}
		}
	}
	switch {
	case updates == 0:
		return notOffered("the stream has no status update")
	case final == 0:
		return failf(x, "none of %d status updates is final", updates)
	case final != updates:
		return failf(x, "status update %d of %d is final", final, updates)
	case !x.Ended:
		return failf(x, "the stream did not end after the final update: %v", x.Err)
	}
	return nil
}

func oldResubscribeUnknown(ctx context.Context, p *probe) error {
	if err := p.needs("streaming"); err != nil {
		return err
	}
	return oldUnknown(oldResubscribe)(ctx, p)
}

func oldPush(ctx context.Context, p *probe) error {
	if err := p.needs("pushNotifications"); err != nil {
		return err
	}
	t, err := p.oldFinished(ctx)
	if err != nil {
		return err
	}
	id := text(t.Result, "id")
	set := p.call(ctx, oldPushSet, map[string]any{"taskId": id, "pushNotificationConfig": map[string]any{"url": silentWebhook}})
	if err := ok(set); err != nil {
		return err
	}
	hook := text(set.Result, "pushNotificationConfig", "id")
	one := map[string]any{"id": id, "pushNotificationConfigId": hook}
	got := p.call(ctx, oldPushGet, one)
	if err := ok(got); err != nil {
		return err
	}
	if text(got.Result, "pushNotificationConfig", "url") != silentWebhook {
		return with(failf(got, "the webhook has another URL than was set"), set)
	}
	all := p.call(ctx, oldPushList, map[string]any{"id": id})
	if err := ok(all); err != nil {
		return err
	}
	if len(list(all.Result)) == 0 {
		return with(failf(all, "the list of webhooks is empty, or no array"), set)
	}
	return ok(p.call(ctx, oldPushDelete, one))
}

func oldPushUndeclared(ctx context.Context, p *probe) error {
	if p.declares("pushNotifications") {
		return notOffered("the card declares pushNotifications")
	}
	return refused(p.call(ctx, oldPushSet, map[string]any{
		"taskId": unknownID(), "pushNotificationConfig": map[string]any{"url": silentWebhook},
	}), wire.PushNotSupported)
}
