package check

import (
	"context"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// delivery is a request to a webhook.
type delivery struct {
	header http.Header
	body   []byte
	shown  *wire.Exchange
	secret string
}

// delivered returns a check of the notification about a task that is canceled.
func delivered(f func(*delivery) error) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		d, err := p.delivery(ctx)
		if err != nil {
			return err
		}
		return f(d)
	}
}

// delivery registers a webhook for a task in progress, ends the task and waits for the
// notification. It does so once for all checks of an interface.
func (p *probe) delivery(ctx context.Context) (*delivery, error) {
	if p.run.hooks == nil {
		return nil, notOffered("there is no address at which the agent could reach a webhook (--webhook)")
	}
	x := p.once("webhook", func() *wire.Exchange { return p.registration(ctx) })
	if x.Err != nil && x.Op == "" {
		return nil, notOffered(x.Err.Error())
	}
	if err := ok(x); err != nil {
		return nil, notOffered("the agent accepts no webhook at " + p.run.hooks.base + ": " + err.Error())
	}
	got := p.run.hooks.wait(ctx, p.path(), p.run.options.Wire.Timeout)
	if got == nil {
		return nil, failf(x, "the webhook received no notification that the task had ended")
	}
	return got, nil
}

// path returns the webhook's path for this interface.
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
		return failf(d.shown, "the notification is not JSON: %v", err)
	}
	if got := arms(v, eventArms...); len(got) != 1 {
		return failf(d.shown, "the notification has %q, want exactly one", got)
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
