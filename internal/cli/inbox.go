package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
)

type inboxCmd struct {
	List    inboxListCmd    `cmd:"" help:"List the items that wait for you."`
	Show    inboxShowCmd    `cmd:"" help:"Show an item."`
	Answer  inboxAnswerCmd  `cmd:"" help:"Answer a question."`
	Approve inboxApproveCmd `cmd:"" help:"Approve a request or the draft of an answer."`
	Refuse  inboxRefuseCmd  `cmd:"" help:"Refuse a request or a question."`
}

const inboxPath = adminapi.Root + "/inbox"

type inboxListCmd struct {
	hubFlags
	watched
	State string   `help:"Items in this state: open, answered, approved, refused, expired or all." default:"open" placeholder:"STATE"`
	Kind  []string `help:"Only items of this kind: question, approval or notice. May be repeated." placeholder:"KIND"`
	format
}

func (c *inboxListCmd) Run(in interrupts, o *OS) error {
	t := &table[*inbox.Item]{heads: "ITEM\tKIND\tSTATE\tCALLER\tAGENT\tUNTIL\tTEXT", none: "Nothing is waiting for you.", format: c.format, row: c.row}
	q := url.Values{"state": {c.State}, "kind": c.Kind}
	list := pages(in.soft, &c.hubFlags, inboxPath+"?"+q.Encode(), func(p *adminjson.InboxList) ([]inbox.Item, string) {
		return p.Items, nextPage("pageToken", p.NextPageToken)
	})
	if c.Watch {
		return t.keep(in.soft, o, news{&c.hubFlags, "/inbox/events", false}, list)
	}
	return t.print(o, list)
}

// rowText is the maximum length of a text in a list, in runes.
const rowText = 60

func (c *inboxListCmd) row(it *inbox.Item) []any {
	text := plain(it.Text)
	if !c.wide() {
		text = clip.Fit(text, rowText)
	}
	return []any{it.ID, it.Kind, it.State, dash(plain(it.Caller)), dash(plain(string(it.Agent))), timeOrNever(it.Expires), text}
}

// plain makes a text printable on one line.
func plain(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// oneItem are the flags of the commands about one item.
type oneItem struct {
	hubFlags
	ID string `arg:"" help:"The id of the item, as inbox list shows it."`
	format
}

func (c *oneItem) settle(ctx context.Context, o *OS, verb, text string) error {
	return (&asking[inbox.Item]{
		hubFlags: &c.hubFlags, request: "POST " + inboxPath + "/" + url.PathEscape(c.ID) + "/" + verb,
		in: &adminjson.Decision{Text: text}, format: c.format,
		text: func(it *inbox.Item) string { return fmt.Sprintf("%s %s is %s\n", it.Kind, it.ID, it.State) },
	}).print(ctx, o)
}

type inboxShowCmd struct{ oneItem }

func (c *inboxShowCmd) Run(ctx context.Context, o *OS) error {
	return (&asking[inbox.Item]{hubFlags: &c.hubFlags, request: "GET " + inboxPath + "/" + url.PathEscape(c.ID), format: c.format, text: itemText}).print(ctx, o)
}

// itemText formats an item for a person.
func itemText(it *inbox.Item) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-8s %s\n", name, plain(value))
		}
	}
	row("item", string(it.ID))
	row("kind", string(it.Kind))
	row("state", string(it.State))
	row("caller", strings.TrimSpace(it.Caller+" "+it.CallerName))
	row("agent", string(it.Agent))
	row("skill", it.Skill)
	row("task", string(it.Task))
	row("created", timeName(&it.Created))
	if !it.Expires.IsZero() {
		row("until", timeName(&it.Expires))
	}
	row("by", it.By)
	for _, t := range []struct{ name, text string }{{"", it.Text}, {"draft:\n", it.Draft}, {"answer:\n", it.Answer}} {
		if t.text != "" {
			fmt.Fprintf(&b, "\n%s%s\n", t.name, strings.TrimRight(printable(t.text), "\n"))
		}
	}
	return b.String()
}

type inboxAnswerCmd struct {
	oneItem
	Text string `arg:"" help:"The answer."`
}

func (c *inboxAnswerCmd) Run(ctx context.Context, o *OS) error {
	if c.Text == "" {
		return usagef("an answer needs a text")
	}
	return c.settle(ctx, o, "answer", c.Text)
}

type inboxApproveCmd struct{ oneItem }

func (c *inboxApproveCmd) Run(ctx context.Context, o *OS) error {
	return c.settle(ctx, o, "approve", "")
}

type inboxRefuseCmd struct {
	oneItem
	Reason string `help:"The reason; it is sent to the caller." placeholder:"TEXT"`
}

func (c *inboxRefuseCmd) Run(ctx context.Context, o *OS) error {
	return c.settle(ctx, o, "refuse", c.Reason)
}
