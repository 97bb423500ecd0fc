package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// inboxCmd is the family of commands about what waits for a person.
type inboxCmd struct {
	List    inboxListCmd    `cmd:"" help:"List what waits for you."`
	Show    inboxShowCmd    `cmd:"" help:"Show an item with all that it says."`
	Answer  inboxAnswerCmd  `cmd:"" help:"Answer a question."`
	Approve inboxApproveCmd `cmd:"" help:"Approve a request, or the draft of an answer."`
	Refuse  inboxRefuseCmd  `cmd:"" help:"Refuse a request, or to answer a question."`
}

const inboxPath = adminapi.Root + "/inbox"

// inboxListCmd lists items.
type inboxListCmd struct {
	hubFlags
	State string   `help:"Items in this state: open, answered, approved, refused, expired or all." default:"open" placeholder:"STATE"`
	Kind  []string `help:"Only items of this kind: question, approval or notice. May be repeated." placeholder:"KIND"`
	JSON  bool     `name:"json" help:"Print the items as JSON, one a line."`
}

// Help shows examples.
func (inboxListCmd) Help() string {
	return `Piped output has seven columns separated by tabs: id, kind, state, caller, agent, end, the beginning of the ` +
		`text. The newest is first. An administrator sees everything; others see the questions about their own tasks.

Examples:

    parley inbox list
    parley inbox list --state all --kind approval --json`
}

// Run lists the items.
func (c *inboxListCmd) Run(ctx context.Context, o *OS) error {
	return o.interruptible(ctx, func(in interrupts) error {
		w, flush := o.Stdout, func() error { return nil }
		if o.Terminal && !c.JSON {
			t := tabwriter.NewWriter(o.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "ITEM\tKIND\tSTATE\tCALLER\tAGENT\tUNTIL\tTEXT")
			w, flush = t, t.Flush
		}
		n := 0
		err := c.pages(in.soft, func(it *inbox.Item) error {
			n++
			return c.row(w, it)
		})
		if err != nil {
			return err
		}
		if n == 0 && o.Terminal && !c.JSON {
			_, err := fmt.Fprintln(o.Stdout, "Nothing waits for you.")
			return err
		}
		return flush()
	})
}

// pages calls f for each item, page by page.
func (c *inboxListCmd) pages(ctx context.Context, f func(*inbox.Item) error) error {
	q := url.Values{"state": {c.State}, "kind": c.Kind}
	for {
		var page adminapi.InboxList
		if err := c.ask(ctx, "GET "+inboxPath+"?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.NextPageToken == "" {
			return nil
		}
		q.Set("pageToken", page.NextPageToken)
	}
}

// rowText is how much of a text stands in a list, in runes.
const rowText = 60

func (c *inboxListCmd) row(w io.Writer, it *inbox.Item) error {
	if c.JSON {
		return printJSON(w, it)
	}
	text := []rune(strings.Join(strings.Fields(printable(it.Text)), " "))
	if len(text) > rowText {
		text = append(text[:rowText-1], '…')
	}
	end := "-"
	if !it.Expires.IsZero() {
		end = timeName(&it.Expires)
	}
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", it.ID, it.Kind, it.State,
		or(plain(it.Caller), "-"), or(plain(string(it.Agent)), "-"), end, string(text))
	return err
}

// plain is printable, in one column.
func plain(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// oneItem are the flags of the commands about one item.
type oneItem struct {
	hubFlags
	ID   string `arg:"" help:"The id of the item, as inbox list shows it."`
	JSON bool   `name:"json" help:"Print the item as JSON."`
}

// settle settles the item and says what has become of it.
func (c *oneItem) settle(ctx context.Context, o *OS, verb, text string) error {
	return o.interruptible(ctx, func(in interrupts) error {
		var it inbox.Item
		request := "POST " + inboxPath + "/" + url.PathEscape(c.ID) + "/" + verb
		if err := c.ask(in.soft, request, &adminapi.Decision{Text: text}, &it); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(o.Stdout, &it)
		}
		_, err := fmt.Fprintf(o.Stdout, "%s %s is %s\n", it.Kind, it.ID, it.State)
		return err
	})
}

// inboxShowCmd shows an item.
type inboxShowCmd struct{ oneItem }

// Help shows an example.
func (inboxShowCmd) Help() string {
	return `Example:

    parley inbox show mfrggzdfmztwq2lk`
}

// Run shows the item.
func (c *inboxShowCmd) Run(ctx context.Context, o *OS) error {
	return o.interruptible(ctx, func(in interrupts) error {
		var it inbox.Item
		if err := c.ask(in.soft, "GET "+inboxPath+"/"+url.PathEscape(c.ID), nil, &it); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(o.Stdout, &it)
		}
		_, err := io.WriteString(o.Stdout, itemText(&it))
		return err
	})
}

// itemText is an item for a person.
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

// inboxAnswerCmd answers a question.
type inboxAnswerCmd struct {
	oneItem
	Text string `arg:"" help:"The answer."`
}

// Help shows an example.
func (inboxAnswerCmd) Help() string {
	return `One answer wins: if somebody else was faster, the command says who.

Example:

    parley inbox answer mfrggzdfmztwq2lk "the blue one"`
}

// Run answers the question.
func (c *inboxAnswerCmd) Run(ctx context.Context, o *OS) error {
	if c.Text == "" {
		return usagef("an answer has a text")
	}
	return c.settle(ctx, o, "answer", c.Text)
}

// inboxApproveCmd approves.
type inboxApproveCmd struct{ oneItem }

// Help shows an example.
func (inboxApproveCmd) Help() string {
	return `What waits for the approval runs at once. To approve a question takes the draft for the answer.

Example:

    parley inbox approve mfrggzdfmztwq2lk`
}

// Run approves.
func (c *inboxApproveCmd) Run(ctx context.Context, o *OS) error {
	return c.settle(ctx, o, "approve", "")
}

// inboxRefuseCmd refuses.
type inboxRefuseCmd struct {
	oneItem
	Reason string `help:"Why; the caller is told." placeholder:"TEXT"`
}

// Help shows an example.
func (inboxRefuseCmd) Help() string {
	return `The task of a request that is refused ends as rejected, and nothing is done.

Example:

    parley inbox refuse mfrggzdfmztwq2lk --reason "not this week"`
}

// Run refuses.
func (c *inboxRefuseCmd) Run(ctx context.Context, o *OS) error {
	return c.settle(ctx, o, "refuse", c.Reason)
}
