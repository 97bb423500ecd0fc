package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/trust"
)

type trustCmd struct {
	List trustListCmd `cmd:"" help:"List the trust in callers and agents."`
	Set  trustSetCmd  `cmd:"" help:"Change the trust in a caller or an agent."`
}

const trustPath = adminapi.Root + "/trust"

type trustListCmd struct {
	hubFlags
	format
}

func (c *trustListCmd) Run(in interrupts, o *OS) error {
	t := &table[*trust.Entry]{
		heads: "WHO\tLEVEL\tSKILLS\tLAST\tCONTACTS", none: "No caller has reached a gate or has a trust level.", format: c.format,
		row: func(e *trust.Entry) []any {
			return []any{plain(string(e.Subject)), e.Level, dash(plain(strings.Join(e.Skills, ","))), timeOrNever(e.LastSeen), e.Contacts}
		},
	}
	var all adminapi.TrustList
	if err := c.ask(in.soft, "GET "+trustPath, nil, &all); err != nil {
		return err
	}
	return t.print(o, each(all.Entries))
}

func timeOrNever(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return timeName(&at)
}

type trustSetCmd struct {
	hubFlags
	Who     string   `arg:"" help:"The id of a caller, as its key has it, or the name of an agent."`
	Level   string   `help:"The level: observe, learn, propose or act." placeholder:"LEVEL"`
	Approve []string `help:"A skill to approve. May be repeated." placeholder:"SKILL"`
	Revoke  []string `help:"A skill to stop approving; all means every one. May be repeated." placeholder:"SKILL"`
	format
}

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
		return usagef("set --level, --approve or --revoke")
	}
	if c.Level != "" {
		if _, err := trust.ParseLevel(c.Level); err != nil {
			return usagef("--level: %w", err)
		}
	}
	return (&asking[trust.Entry]{hubFlags: &c.hubFlags, request: "POST " + trustPath, in: ask, format: c.format, text: trusted}).print(ctx, o)
}

// trusted describes the trust level of an agent or a caller.
func trusted(e *trust.Entry) string {
	skills := "no approved skills"
	if len(e.Skills) > 0 {
		skills = "approved skills " + strings.Join(e.Skills, ", ")
	}
	return fmt.Sprintf("%s: trust level %s, %s\n", plain(string(e.Subject)), e.Level, plain(skills))
}
