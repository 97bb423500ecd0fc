package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

type deadCmd struct {
	List   deadListCmd   `cmd:"" help:"List dead letters."`
	Show   deadShowCmd   `cmd:"" help:"Show a dead letter with its envelope."`
	Replay deadReplayCmd `cmd:"" help:"Publish dead letters again."`
	Drop   deadDropCmd   `cmd:"" help:"Delete dead letters."`
}

const deadPath = adminapi.Root + "/dead"

func letterPath(id string) string { return deadPath + "/" + url.PathEscape(id) }

type deadListCmd struct {
	hubFlags
	watched
	Queue string `help:"Only messages of this queue." placeholder:"NAME"`
	Task  string `help:"Only messages about this task." placeholder:"ID"`
	format
}

func (c *deadListCmd) Run(in interrupts, o *OS) error {
	t := &table[*queue.Letter]{
		heads: "LETTER\tSINCE\tQUEUE\tTYPE\tTASK\tBYTES\tREASON", none: "No dead letters.", format: c.format,
		row: func(l *queue.Letter) []any {
			return []any{l.ID, timeName(&l.At), plain(l.Queue), plain(l.Type), dash(plain(l.Task)), l.Size, dash(plain(l.Reason))}
		},
	}
	if c.Watch {
		return t.keep(in.soft, o, news{&c.hubFlags, "/events?kind=dead,audit.dead", true}, c.all(in.soft))
	}
	return t.print(o, c.all(in.soft))
}

// all returns the selected letters.
func (c *deadListCmd) all(ctx context.Context) iter.Seq2[*queue.Letter, error] {
	q := url.Values{"queue": {c.Queue}, "task": {c.Task}}
	return pages(ctx, &c.hubFlags, deadPath+"?"+q.Encode(), func(p *adminapi.DeadList) ([]queue.Letter, string) {
		return p.Letters, nextPage("pageToken", p.NextPageToken)
	})
}

type deadShowCmd struct {
	hubFlags
	format
	ID string `arg:"" help:"The letter, as dead list shows it."`
}

func (c *deadShowCmd) Run(ctx context.Context, o *OS) error {
	if !c.data() {
		c.Output = "json"
	}
	return (&asking[queue.Letter]{hubFlags: &c.hubFlags, request: "GET " + letterPath(c.ID), format: c.format}).print(ctx, o)
}

// someLetters are the flags of the commands that change letters.
type someLetters struct {
	hubFlags
	format
	ID    []string `arg:"" optional:"" help:"The letters, as dead list shows them."`
	Queue string   `help:"All letters of this queue." placeholder:"NAME"`
	All   bool     `help:"All letters."`
}

// each sends a request for each letter, and prints a row for each.
func (c *someLetters) each(ctx context.Context, o *OS, request func(id string) string) error {
	if (len(c.ID) > 0) == (c.Queue != "" || c.All) {
		return usagef("name letters, or set --queue NAME or --all")
	}
	return o.interruptible(ctx, func(in interrupts) error {
		ids := c.ID
		if len(ids) == 0 {
			list := deadListCmd{hubFlags: c.hubFlags, Queue: c.Queue}
			for l, err := range list.all(in.soft) {
				if err != nil {
					return err
				}
				ids = append(ids, string(l.ID))
			}
			if len(ids) == 0 {
				_, err := fmt.Fprintln(o.Stderr, "No matching dead letters.")
				return err
			}
		}
		var errs []error
		for _, id := range ids {
			errs = append(errs, c.one(in.soft, o, request(id)))
		}
		return errors.Join(errs...)
	})
}

func (c *someLetters) one(ctx context.Context, o *OS, request string) error {
	var l queue.Letter
	var in any
	if request[:4] == "POST" {
		in = struct{}{}
	}
	if err := c.ask(ctx, request, in, &l); err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, &l)
	}
	if o.Quiet {
		return nil
	}
	_, err := fmt.Fprintf(o.Stdout, "%s\t%s\t%s\n", l.ID, plain(l.Queue), dash(plain(l.Task)))
	return err
}

type deadReplayCmd struct{ someLetters }

func (c *deadReplayCmd) Run(ctx context.Context, o *OS) error {
	return c.each(ctx, o, func(id string) string { return "POST " + letterPath(id) + "/replay" })
}

type deadDropCmd struct{ someLetters }

func (c *deadDropCmd) Run(ctx context.Context, o *OS) error {
	return c.each(ctx, o, func(id string) string { return "DELETE " + letterPath(id) })
}
