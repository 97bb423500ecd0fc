package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

type tasksCountCmd struct {
	hubFlags
	All   bool   `help:"The tasks of all owners, for administrators. The hub records it in its audit log."`
	Owner string `help:"With --all: only the tasks of this owner." placeholder:"OWNER"`
	Agent string `help:"Only the tasks of this agent." placeholder:"NAME"`
	JSON  bool   `name:"json" help:"Print the numbers as JSON."`
}

func (c *tasksCountCmd) Run(ctx context.Context, o *OS) error {
	if !c.All && c.Owner != "" {
		return usagef("--owner needs --all")
	}
	q := url.Values{}
	if c.All {
		q.Set("scope", "all")
	}
	if c.Owner != "" {
		q.Set("owner", c.Owner)
	}
	if c.Agent != "" {
		q.Set("agent", c.Agent)
	}
	return (&asking[adminjson.TaskCounts]{
		hubFlags: &c.hubFlags, request: "GET " + adminapi.Root + "/counts?" + q.Encode(), json: c.JSON,
		text: func(n *adminjson.TaskCounts) string {
			var lines strings.Builder
			for _, s := range states {
				if k := n.Counts[s.String()]; k > 0 {
					fmt.Fprintf(&lines, "%s\t%d\n", stateName(s), k)
				}
			}
			fmt.Fprintf(&lines, "total\t%d\n", n.Total)
			return lines.String()
		},
	}).print(ctx, o)
}
