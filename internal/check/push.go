package check

import (
	"context"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// silentWebhook is registered where nothing needs to be delivered.
const silentWebhook = "https://example.com/parley-check"

func pushRequirements() []requirement {
	return []requirement{
		must("push.create", "§3.1.7", "Creating a webhook returns it with an id and its URL.", pushCreate),
		must("push.get", "§3.1.8", "A webhook that was created can be read.", pushGet),
		must("push.list", "§3.1.9", "The list of a task has its webhooks.", pushList),
		must("push.delete", "§3.1.10", "A webhook that was deleted is gone.", pushDelete),
		must("push.delete-again", "§3.1.10", "Deleting a webhook again succeeds.", pushDeleteAgain),
		must("push.get-unknown", "§3.1.8", "A webhook that does not exist is a TaskNotFoundError.", pushGetUnknown),
		must("push.unknown-task", "§3.1.7", "A webhook for a task that does not exist is a TaskNotFoundError.", pushUnknownTask),
		must("push.delivers", "§4.3.3", "Each webhook is told at least once.", delivered(func(*delivery) error { return nil })),
		must("push.payload", "§4.3.3", "What a webhook is told is exactly one of task, message, statusUpdate and artifactUpdate.", delivered(pushPayload)),
		must("push.authenticates", "§4.3.3", "The request to a webhook carries the credentials that were registered.", delivered(pushAuthenticates)),
		should("push.type", "§4.3.3", "The request to a webhook is application/a2a+json.", delivered(pushType)),
		must("push.undeclared", "§3.3.4", "Without the capability, webhooks are a PushNotificationNotSupportedError.", pushUndeclared),
	}
}

// registered creates a webhook for a task that has ended, where nothing is delivered.
func (p *probe) registered(ctx context.Context) (taskID string, x *wire.Exchange, err error) {
	if err := p.needs("pushNotifications"); err != nil {
		return "", nil, err
	}
	t, err := p.finished(ctx)
	if err != nil {
		return "", nil, err
	}
	taskID = text(t, "id")
	return taskID, p.call(ctx, wire.CreatePush, map[string]any{"taskId": taskID, "url": silentWebhook}), nil
}

// hook is a webhook that exists.
func (p *probe) hook(ctx context.Context) (params map[string]any, created *wire.Exchange, err error) {
	id, x, err := p.registered(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := ok(x); err != nil {
		return nil, nil, require(err)
	}
	return map[string]any{"taskId": id, "id": text(x.Result, "id")}, x, nil
}

func pushCreate(ctx context.Context, p *probe) error {
	_, x, err := p.registered(ctx)
	if err != nil {
		return err
	}
	if err := ok(x); err != nil {
		return err
	}
	if text(x.Result, "id") == "" || text(x.Result, "url") != silentWebhook {
		return failf(x, "the webhook has id %q and URL %q", text(x.Result, "id"), text(x.Result, "url"))
	}
	return nil
}

func pushGet(ctx context.Context, p *probe) error {
	params, created, err := p.hook(ctx)
	if err != nil {
		return err
	}
	x := p.call(ctx, wire.GetPush, params)
	if err := ok(x); err != nil {
		return err
	}
	if text(x.Result, "id") != params["id"] || text(x.Result, "url") != silentWebhook {
		return with(failf(x, "the webhook has id %q and URL %q", text(x.Result, "id"), text(x.Result, "url")), created)
	}
	return nil
}

func pushList(ctx context.Context, p *probe) error {
	params, created, err := p.hook(ctx)
	if err != nil {
		return err
	}
	x := p.call(ctx, wire.ListPush, map[string]any{"taskId": params["taskId"]})
	if err := ok(x); err != nil {
		return err
	}
	for _, c := range list(x.Result, "configs") {
		if text(c, "id") == params["id"] {
			return nil
		}
	}
	return with(failf(x, "the list lacks webhook %q", params["id"]), created)
}

func pushDelete(ctx context.Context, p *probe) error {
	params, _, err := p.hook(ctx)
	if err != nil {
		return err
	}
	x := p.call(ctx, wire.DeletePush, params)
	if err := ok(x); err != nil {
		return err
	}
	return with(refused(p.call(ctx, wire.GetPush, params), wire.TaskNotFound), x)
}

func pushDeleteAgain(ctx context.Context, p *probe) error {
	params, _, err := p.hook(ctx)
	if err != nil {
		return err
	}
	if err := ok(p.call(ctx, wire.DeletePush, params)); err != nil {
		return require(err)
	}
	return ok(p.call(ctx, wire.DeletePush, params))
}

func pushGetUnknown(ctx context.Context, p *probe) error {
	params, _, err := p.hook(ctx)
	if err != nil {
		return err
	}
	params["id"] = unknownID()
	return refused(p.call(ctx, wire.GetPush, params), wire.TaskNotFound)
}

func pushUnknownTask(ctx context.Context, p *probe) error {
	if err := p.needs("pushNotifications"); err != nil {
		return err
	}
	return refused(p.call(ctx, wire.CreatePush, map[string]any{"taskId": unknownID(), "url": silentWebhook}), wire.TaskNotFound)
}

func pushUndeclared(ctx context.Context, p *probe) error {
	if p.declares("pushNotifications") {
		return notOffered("the card declares pushNotifications")
	}
	params := map[string]any{"taskId": unknownID(), "id": unknownID()}
	for _, op := range []wire.Op{wire.GetPush, wire.DeletePush} {
		if err := refused(p.call(ctx, op, params), wire.PushNotSupported); err != nil {
			return err
		}
	}
	delete(params, "id")
	if err := refused(p.call(ctx, wire.ListPush, params), wire.PushNotSupported); err != nil {
		return err
	}
	params["url"] = silentWebhook
	return refused(p.call(ctx, wire.CreatePush, params), wire.PushNotSupported)
}

// delivery is what a webhook was told.
type delivery struct {
	header http.Header
	body   []byte
	shown  *wire.Exchange
	secret string
}

// delivered returns a check of what a webhook is told about a task that is canceled.
func delivered(f func(*delivery) error) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		d, err := p.delivery(ctx)
		if err != nil {
			return err
		}
		return f(d)
	}
}

// delivery registers a webhook for a task in progress, ends the task and waits for
// what the webhook is told. It does so once for all checks of an interface.
func (p *probe) delivery(ctx context.Context) (*delivery, error) {
	if err := p.needs("pushNotifications"); err != nil {
		return nil, err
	}
	if p.run.hooks == nil {
		return nil, notOffered("there is no address at which the agent could reach a webhook (--webhook)")
	}
	x := p.once("webhook", func() *wire.Exchange { return p.registration(ctx) })
	if x.Err != nil && x.Op == "" {
		return nil, notOffered(x.Err.Error())
	}
	if err := ok(x); err != nil {
		return nil, notOffered("the agent takes no webhook at " + p.run.hooks.base + ": " + err.Error())
	}
	got := p.run.hooks.wait(ctx, p.path(), p.run.options.Wire.Timeout)
	if got == nil {
		return nil, failf(x, "the webhook was not told that the task had ended")
	}
	return got, nil
}

// path is the path of the webhook of this interface.
func (p *probe) path() string { return "/" + string(p.iface.Binding) }

// registration creates the webhook and ends its task.
func (p *probe) registration(ctx context.Context) *wire.Exchange {
	t, err := p.working(ctx)
	if err != nil {
		return &wire.Exchange{Err: err}
	}
	id := text(t, "id")
	x := p.call(ctx, wire.CreatePush, map[string]any{
		"taskId": id, "url": p.run.hooks.base + p.path(), "token": p.run.hooks.secret,
		"authentication": map[string]any{"scheme": "Bearer", "credentials": p.run.hooks.secret},
	})
	if err := p.end(ctx, id); err != nil && x.Fault == nil {
		return &wire.Exchange{Err: err}
	}
	return x
}

func pushPayload(d *delivery) error {
	v, err := wire.Decode(d.body)
	if err != nil {
		return failf(d.shown, "the webhook was told something that is not JSON: %v", err)
	}
	if got := arms(v, eventArms...); len(got) != 1 {
		return failf(d.shown, "the webhook was told %q, want exactly one", got)
	}
	return nil
}

func pushAuthenticates(d *delivery) error {
	if got := d.header.Get("Authorization"); !strings.EqualFold(got, "Bearer "+d.secret) {
		return failf(d.shown, "the request to the webhook has no Authorization with the registered credentials")
	}
	return nil
}

func pushType(d *delivery) error {
	if got := wire.MediaType(d.header); got != "application/a2a+json" {
		return failf(d.shown, "the request to the webhook is %q", got)
	}
	return nil
}
