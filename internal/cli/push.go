package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/front/adminapi"
)

type pushCmd struct {
	List      pushListCmd      `cmd:"" help:"List the webhooks of a hub with their state."`
	Listen    pushListenCmd    `cmd:"" help:"Receive notifications as a webhook and print them."`
	Redeliver pushRedeliverCmd `cmd:"" help:"Retry failed webhook deliveries."`
}

const pushPath = adminapi.Root + "/push"

type pushListCmd struct {
	hubFlags
	watched
	Task string `help:"Only webhooks of this task, with their undelivered versions." placeholder:"ID"`
	Dead bool   `help:"Only webhooks with undelivered versions, and those versions."`
	format
}

func (c *pushListCmd) Run(in interrupts, o *OS) error {
	q := url.Values{}
	if c.Task != "" {
		q.Set("task", c.Task)
	}
	if c.Dead {
		q.Set("dead", strconv.FormatBool(c.Dead))
	}
	t := &table[*adminapi.Webhook]{
		heads: "TASK\tCONFIG\tSTATE\tDELIVERED\tURL\tTROUBLE", none: "No webhooks.", format: c.format,
		row: func(k *adminapi.Webhook) []any {
			return []any{
				printable(k.Task), printable(k.Config), k.State, fmt.Sprintf("%d/%d", k.Delivered, k.Version), printable(k.URL),
				dash(printable(hookTrouble(k))),
			}
		},
	}
	list := pages(in.soft, &c.hubFlags, pushPath+"?"+q.Encode(), func(p *adminapi.WebhookList) ([]adminapi.Webhook, string) {
		return p.Webhooks, nextPage("pageToken", p.NextPageToken)
	})
	if c.Watch {
		return t.keep(in.soft, o, news{&c.hubFlags, "/events?kind=webhook,task.created,audit.push", true}, list)
	}
	return t.print(o, list)
}

// hookTrouble returns the problem of a webhook, or an empty text.
func hookTrouble(k *adminapi.Webhook) string {
	switch {
	case k.NextTry != nil:
		return fmt.Sprintf("%s; try %d at %s", k.LastError, k.Tries+1, timeName(k.NextTry))
	case k.BreakerUntil != nil:
		return "its endpoint does not respond; next attempt at " + timeName(k.BreakerUntil)
	case len(k.Dead) == 1:
		return notDelivered(&k.Dead[0])
	case len(k.Dead) > 1:
		last := &k.Dead[len(k.Dead)-1]
		return fmt.Sprintf("%s, and %d times before", notDelivered(last), len(k.Dead)-1)
	}
	return ""
}

func notDelivered(d *adminapi.DeadLetter) string {
	if d.First == d.Last {
		return fmt.Sprintf("not delivered %d: %s", d.First, d.Reason)
	}
	return fmt.Sprintf("not delivered %d to %d: %s", d.First, d.Last, d.Reason)
}

type pushRedeliverCmd struct {
	hubFlags
	format
	Task   string `arg:"" help:"The id of the task."`
	Config string `arg:"" optional:"" help:"The id of the config; without it, all of the task with undelivered versions."`
}

func (c *pushRedeliverCmd) Run(ctx context.Context, o *OS) error {
	return (&asking[adminapi.WebhookList]{
		hubFlags: &c.hubFlags, request: "POST " + pushPath + "/" + url.PathEscape(c.Task) + "/redeliver",
		in: &adminapi.Redeliver{Config: c.Config}, text: redelivered, format: c.format,
	}).print(ctx, o)
}

func redelivered(l *adminapi.WebhookList) string {
	if len(l.Webhooks) == 0 {
		return "Nothing to redeliver.\n"
	}
	var b strings.Builder
	for i := range l.Webhooks {
		k := &l.Webhooks[i]
		fmt.Fprintf(&b, "%s of %s is notified again from version %d\n", printable(k.Config), printable(k.Task), k.Delivered+1)
	}
	return b.String()
}
