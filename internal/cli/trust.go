package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// trustCmd is the family of commands about how far others are trusted.
type trustCmd struct {
	List trustListCmd `cmd:"" help:"List how far callers and agents are trusted."`
	Set  trustSetCmd  `cmd:"" help:"Change how far one of them is trusted."`
}

const trustPath = adminapi.Root + "/trust"

// trustListCmd lists entries.
type trustListCmd struct {
	hubFlags
	JSON bool `name:"json" help:"Print the entries as JSON, one a line."`
}

// Help shows an example.
func (trustListCmd) Help() string {
	return `Piped output has five columns separated by tabs: who, level, approved skills, last contact, number of contacts. ` +
		`Who is not in the list is at observe.

Example:

    parley trust list --json`
}

// Run lists the entries.
func (c *trustListCmd) Run(ctx context.Context, o *OS) error {
	return o.interruptible(ctx, func(in interrupts) error {
		var all adminapi.TrustList
		if err := c.ask(in.soft, "GET "+trustPath, nil, &all); err != nil {
			return err
		}
		w, flush := o.Stdout, func() error { return nil }
		if o.Terminal && !c.JSON {
			if len(all.Entries) == 0 {
				_, err := fmt.Fprintln(o.Stdout, "Nobody was seen at a gate, or given a level.")
				return err
			}
			t := tabwriter.NewWriter(o.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "WHO\tLEVEL\tSKILLS\tLAST\tCONTACTS")
			w, flush = t, t.Flush
		}
		for i := range all.Entries {
			if err := c.row(w, &all.Entries[i]); err != nil {
				return err
			}
		}
		return flush()
	})
}

func (c *trustListCmd) row(w io.Writer, e *trust.Entry) error {
	if c.JSON {
		return printJSON(w, e)
	}
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", plain(string(e.Who)), e.Level,
		or(plain(strings.Join(e.Skills, ",")), "-"), timeOrNever(e.LastSeen), e.Contacts)
	return err
}

func timeOrNever(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return timeName(&at)
}

// trustSetCmd changes an entry.
type trustSetCmd struct {
	hubFlags
	Who     string   `arg:"" help:"The id of a caller, as its key has it, or the name of an agent."`
	Level   string   `help:"The level: observe, learn, propose or act." placeholder:"LEVEL"`
	Approve []string `help:"A skill to approve. May be repeated." placeholder:"SKILL"`
	Revoke  []string `help:"A skill not to approve any more; all means every one. May be repeated." placeholder:"SKILL"`
	JSON    bool     `name:"json" help:"Print the entry as JSON."`
}

// Help shows examples.
func (trustSetCmd) Help() string {
	return `At observe and learn, agents that are marked "trust: gated" do nothing for the caller, and you are told what was ` +
		`asked for. At propose it waits for "parley inbox approve". At act approved skills run at once, others wait.

Examples:

    parley trust set partner --level propose
    parley trust set partner --level act --approve negotiate-meeting
    parley trust set partner --level observe --revoke all`
}

// Run changes the entry.
func (c *trustSetCmd) Run(ctx context.Context, o *OS) error {
	ask := &adminapi.SetTrust{AgentID: c.Who, Level: c.Level, Approve: c.Approve}
	for _, s := range c.Revoke {
		if s == "all" {
			ask.RevokeAll = true
			continue
		}
		ask.Revoke = append(ask.Revoke, s)
	}
	if c.Level == "" && len(c.Approve)+len(c.Revoke) == 0 {
		return usagef("say what to change: --level, --approve or --revoke")
	}
	if c.Level != "" {
		if _, err := trust.ParseLevel(c.Level); err != nil {
			return usagef("--level: %w", err)
		}
	}
	return o.interruptible(ctx, func(in interrupts) error {
		var e trust.Entry
		if err := c.ask(in.soft, "POST "+trustPath, ask, &e); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(o.Stdout, &e)
		}
		skills := "no skills"
		if len(e.Skills) > 0 {
			skills = "the skills " + strings.Join(e.Skills, ", ")
		}
		_, err := fmt.Fprintf(o.Stdout, "%s is trusted to %s, with %s\n", plain(string(e.Who)), e.Level, plain(skills))
		return err
	})
}
