package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

type agentsCmd struct {
	List    agentsListCmd    `cmd:"" help:"List the agents of a hub with their health."`
	Search  agentsSearchCmd  `cmd:"" help:"Search agents and MCP servers by ability."`
	Show    agentsShowCmd    `cmd:"" help:"Show the details of an agent."`
	Add     agentsAddCmd     `cmd:"" help:"Register a remote agent, or change its registration."`
	Remove  agentsRemoveCmd  `cmd:"" help:"Remove a registered agent."`
	Probe   agentsProbeCmd   `cmd:"" help:"Probe agents."`
	Refresh agentsRefreshCmd `cmd:"" help:"Read the cards of agents again."`
	Pause   agentsPauseCmd   `cmd:"" help:"Hold new messages for an agent."`
	Resume  agentsResumeCmd  `cmd:"" help:"Deliver the messages that a pause has held."`
}

const agentsPath = adminapi.Root + "/agents"

func agentPath(name string) string { return agentsPath + "/" + url.PathEscape(name) }

type agentsListCmd struct {
	hubFlags
	watched
	Skill string `help:"Only agents with this skill." placeholder:"ID"`
	format
}

func (c *agentsListCmd) Run(in interrupts, o *OS) error {
	var all adminjson.AgentList
	list := func(yield func(*adminjson.Agent, error) bool) {
		all = adminjson.AgentList{}
		if err := c.ask(in.soft, "GET "+agentsPath, nil, &all); err != nil {
			yield(nil, err)
			return
		}
		each(c.chosen(all.Agents))(yield)
	}
	if c.Watch {
		return c.table().keep(in.soft, o, news{&c.hubFlags, "/events?kind=agent,audit.agent", true}, list)
	}
	if err := c.table().print(o, list); err != nil {
		return err
	}
	for _, p := range all.Problems {
		if _, err := fmt.Fprintf(o.Stderr, "%s: %s\n", printable(p.Source), printable(p.Text)); err != nil {
			return err
		}
	}
	return nil
}

func (c *agentsListCmd) chosen(all []adminjson.Agent) []adminjson.Agent {
	asked := func(s adminjson.Skill) bool { return strings.EqualFold(s.ID, c.Skill) }
	return slices.DeleteFunc(all, func(a adminjson.Agent) bool { return c.Skill != "" && !slices.ContainsFunc(a.Skills, asked) })
}

func (c *agentsListCmd) table() *table[*adminjson.Agent] {
	return &table[*adminjson.Agent]{heads: "AGENT\tKIND\tSTATE\tSKILLS\tLAST SEEN\tURL\tTROUBLE", format: c.format, row: func(a *adminjson.Agent) []any {
		at := "-"
		if a.Remote != nil {
			at = dash(a.Remote.URL)
			if a.Remote.Transport == "queue" {
				at = "queue " + a.Remote.Queue
			}
		}
		state := cmp.Or(plain(agentState(a)), "up")
		return []any{plain(a.Name), plain(a.Kind), state, len(a.Skills), cmp.Or(plain(a.LastSeen), "here"), plain(at), dash(plain(agentTrouble(a)))}
	}}
}

// agentState returns the state of an agent; empty for one in the hub, which is up.
func agentState(a *adminjson.Agent) string {
	switch {
	case a.Paused:
		return "paused"
	case a.NoWorker():
		return "no worker"
	}
	return a.State
}

// agentTrouble returns the pause of an agent and its problems, or an empty text.
func agentTrouble(a *adminjson.Agent) string {
	var all []string
	if a.PausedSince != nil {
		pause := "paused for " + ageName(time.Since(*a.PausedSince))
		if a.PausedBy != "" {
			pause += " by " + a.PausedBy
		}
		if a.PauseReason != "" {
			pause += ": " + a.PauseReason
		}
		all = append(all, pause)
	}
	r := a.Remote
	if r == nil {
		return strings.Join(all, "; ")
	}
	if r.Health.Error != "" {
		all = append(all, r.Health.Error)
	}
	return strings.Join(append(all, r.Problems...), "; ")
}

type agentsSearchCmd struct {
	hubFlags
	Query []string `arg:"" help:"The task to find an agent for, in your words."`
	Limit int      `help:"The maximum number to show." default:"5" placeholder:"N"`
	format
}

func (c *agentsSearchCmd) Run(in interrupts, o *OS) error {
	q := url.Values{"q": {strings.Join(c.Query, " ")}, "limit": {strconv.Itoa(c.Limit)}}
	var found adminjson.Found
	if err := c.ask(in.soft, "GET "+adminapi.Root+"/search?"+q.Encode(), nil, &found); err != nil {
		return err
	}
	return (&table[*adminjson.Result]{id: 2, none: "No matches.", format: c.format, row: resultRow, person: resultText}).print(o, each(found.Results))
}

func resultRow(r *adminjson.Result) []any {
	return []any{fmt.Sprintf("%.3f", r.Relevance), r.Type, plain(r.ID), dash(plain(resultFits(r))), dash(plain(r.Summary))}
}

func resultText(r *adminjson.Result) string {
	return fmt.Sprintf("%3.0f%%  %s (%s)\n      %s\n      %s\n",
		100*r.Relevance, plain(r.ID), r.Type, cmp.Or(plain(resultFits(r)), "none of its own skills fits"), plain(r.Summary))
}

// resultFits names the skills or tools that fit.
func resultFits(r *adminjson.Result) string {
	return strings.Join(append(r.TopSkills, r.TopTools...), ", ")
}

type agentsShowCmd struct {
	hubFlags
	Name string `arg:"" help:"The name of the agent."`
	format
}

func (c *agentsShowCmd) Run(ctx context.Context, o *OS) error {
	return (&asking[adminjson.Agent]{
		hubFlags: &c.hubFlags, request: "GET " + agentPath(c.Name), format: c.format,
		text: func(a *adminjson.Agent) string { return printable(describeAgent(a)) },
	}).print(ctx, o)
}

func describeAgent(a *adminjson.Agent) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, plain(value))
		}
	}
	row("Agent", string(a.Name))
	row("Title", a.Title)
	row("Does", a.Description)
	row("Version", a.Version)
	row("Kind", a.Kind)
	row("State", agentState(a))
	row("Trust", strings.TrimSpace(a.Trust+" "+strings.Join(a.GatedSkills, ", ")))
	row("Last seen", a.LastSeen)
	if r := a.Remote; r != nil {
		row("URL", r.URL)
		row("Target", r.Target)
		row("Protocol", r.ProtocolVersion)
		row("Signed by", r.SignedBy)
		row("Queue", r.Queue)
		if r.Queue != "" {
			row("Called by", r.Transport)
			row("Workers", strconv.Itoa(r.Workers))
		}
		row("Known from", strings.Join(r.Sources, ", "))
		row("Credentials", r.Credentials)
		if r.Health.CheckedAt != nil {
			row("Asked", fmt.Sprintf("%s, in %.1f ms", timeName(r.Health.CheckedAt), r.Health.LatencyMs))
		}
	}
	row("Trouble", agentTrouble(a))
	if len(a.Skills) > 0 {
		b.WriteString("\nSkills\n")
	}
	for _, s := range a.Skills {
		fmt.Fprintf(&b, "  %s: %s\n", plain(s.ID), cmp.Or(plain(s.Description), plain(s.Name)))
	}
	return b.String()
}

type agentsAddCmd struct {
	hubFlags
	Name          string   `arg:"" help:"The agent's name in the hub."`
	At            string   `arg:"" name:"agent-url" help:"The URL of the agent."`
	Description   string   `help:"The description of the agent, instead of the one in its card." placeholder:"TEXT"`
	Skill         []string `help:"A skill of the agent that its card need not list. May be repeated." placeholder:"ID"`
	Target        string   `help:"The tenant to use, if several agents are at the URL." placeholder:"NAME"`
	Timeout       string   `help:"The timeout of a call, such as 5m." placeholder:"TIME"`
	Trust         string   `help:"Whether the agent serves every request, or only requests of trusted callers: open or gated." enum:"open,gated," default:"" placeholder:"HOW"`
	GatedSkill    []string `help:"A gated skill, if the agent as a whole is open. May be repeated." placeholder:"ID"`
	KeyEnv        string   `name:"agent-key-env" help:"The local environment variable that has the agent's API key." placeholder:"NAME"`
	BearerEnv     string   `name:"agent-bearer-env" help:"The local environment variable that has the agent's bearer token." placeholder:"NAME"`
	NoCredentials bool     `help:"Remove the agent's credentials."`
	HeaderEnv     string   `name:"agent-header-env" help:"A header for the agent, and the local environment variable that has its value." placeholder:"HEADER=NAME"`
	format
}

func (c *agentsAddCmd) Run(ctx context.Context, o *OS) error {
	n, err := c.request(o)
	if err != nil {
		return err
	}
	err = (&asking[adminjson.Agent]{
		hubFlags: &c.hubFlags, request: "PUT " + agentPath(n.Name), in: n, format: c.format,
		text: func(a *adminjson.Agent) string {
			return fmt.Sprintf("registered agent %s at %s\n", plain(a.Name), plain(n.URL))
		},
	}).print(ctx, o)
	if err != nil {
		return err
	}
	// It is registered in any case: an agent may be down for now. But a mistyped address is noticed here.
	return o.interruptible(ctx, func(in interrupts) error {
		var p adminjson.Probe
		if c.ask(in.soft, "POST "+agentPath(n.Name)+"/refresh", nil, &p) == nil && !p.Reachable {
			fmt.Fprintf(o.Stderr, "Warning: the agent does not respond: %s\n", printable(p.Error))
		}
		return nil
	})
}

func (c *agentsAddCmd) request(o *OS) (*adminjson.NewAgent, error) {
	n := &adminjson.NewAgent{
		Name: string(directory.NameOf(c.Name)), Title: c.Name, URL: c.At, Description: c.Description, Target: c.Target,
		Trust: c.Trust, GatedSkills: c.GatedSkill,
	}
	for _, id := range c.Skill {
		n.Skills = append(n.Skills, directory.Skill{ID: id})
	}
	if c.Timeout != "" {
		d, err := config.ParseDuration(c.Timeout)
		if err != nil || d <= 0 {
			return nil, usagef("--timeout: invalid duration %q; use for example 5m", c.Timeout)
		}
		n.TimeoutMs = int(d / time.Millisecond)
	}
	var err error
	n.Credentials, err = c.credentials(o)
	return n, err
}

// credentials returns the change of the agent's credentials: new ones from the environment, or
// whether the stored ones are removed.
func (c *agentsAddCmd) credentials(o *OS) (made adminjson.CredentialsUpdate, err error) {
	if c.KeyEnv+c.BearerEnv+c.HeaderEnv == "" {
		made.Given = c.NoCredentials
		return made, nil
	}
	if made.Given = true; c.NoCredentials {
		return made, usagef("--no-credentials cannot be combined with credentials")
	}
	header, from, ok := strings.Cut(c.HeaderEnv, "=")
	if c.HeaderEnv != "" && (!ok || header == "" || from == "") {
		return made, usagef("--agent-header-env %q must be HEADER=NAME, such as X-Key=AGENT_KEY", c.HeaderEnv)
	}
	for _, v := range []struct {
		flag, name string
		to         *string
	}{
		{"--agent-key-env", c.KeyEnv, &made.APIKey},
		{"--agent-bearer-env", c.BearerEnv, &made.Bearer},
		{"--agent-header-env", from, &made.HeaderValueBase64},
	} {
		if v.name == "" {
			continue
		}
		value, ok := o.LookupEnv(v.name)
		if !ok || value == "" {
			return made, usagef("%s: the variable %s is not set", v.flag, v.name)
		}
		*v.to = value
	}
	made.HeaderName = header
	made.HeaderValueBase64 = base64.StdEncoding.EncodeToString([]byte(made.HeaderValueBase64))
	return made, nil
}

type agentsRemoveCmd struct {
	hubFlags
	format
	Name string `arg:"" help:"The name of the agent."`
}

func (c *agentsRemoveCmd) Run(ctx context.Context, o *OS) error {
	return (&asking[adminjson.Agent]{
		hubFlags: &c.hubFlags, request: "DELETE " + agentPath(c.Name), format: c.format,
		text: func(a *adminjson.Agent) string { return fmt.Sprintf("removed agent %s\n", plain(a.Name)) },
	}).print(ctx, o)
}

type agentsAskFlags struct {
	hubFlags
	Name []string `arg:"" optional:"" help:"The names of the agents; by default all remote agents."`
	format
}

type agentsProbeCmd struct{ agentsAskFlags }

func (c *agentsProbeCmd) Run(ctx context.Context, o *OS) error { return c.each(ctx, o, "probe") }

type agentsRefreshCmd struct{ agentsAskFlags }

func (c *agentsRefreshCmd) Run(ctx context.Context, o *OS) error { return c.each(ctx, o, "refresh") }

// each calls the agents one after the other.
func (c *agentsAskFlags) each(ctx context.Context, o *OS, verb string) error {
	return o.interruptible(ctx, func(in interrupts) error {
		names, err := c.names(in.soft)
		if err != nil {
			return err
		}
		down := false
		probes := func(yield func(*adminjson.Probe, error) bool) {
			for _, name := range names {
				var p adminjson.Probe
				err := c.ask(in.soft, "POST "+agentPath(name)+"/"+verb, nil, &p)
				down = down || !p.Reachable
				if !yield(&p, err) {
					return
				}
			}
		}
		if err := (&table[*adminjson.Probe]{format: c.format, row: probeRow, person: probeText}).print(o, probes); err != nil {
			return err
		}
		if down {
			return &exit{code: exitFailed}
		}
		return nil
	})
}

// names returns the names of the agents to call.
func (c *agentsAskFlags) names(ctx context.Context) ([]string, error) {
	if len(c.Name) > 0 {
		return c.Name, nil
	}
	var all adminjson.AgentList
	if err := c.ask(ctx, "GET "+agentsPath, nil, &all); err != nil {
		return nil, err
	}
	var names []string
	for _, a := range all.Agents {
		if a.Remote != nil && !a.Remote.Pinned {
			names = append(names, a.Name)
		}
	}
	return names, nil
}

func probeWords(p *adminjson.Probe) (state, card string) {
	state, card = "down", "unchanged"
	if p.Reachable {
		state = "up"
	}
	if p.Changed {
		card = "changed"
	}
	return state, card
}

func probeRow(p *adminjson.Probe) []any {
	state, card := probeWords(p)
	return []any{plain(p.Agent.Name), state, fmt.Sprintf("%.1f", p.LatencyMs), p.SkillCount, card, dash(plain(p.Error))}
}

func probeText(p *adminjson.Probe) string {
	state, card := probeWords(p)
	return fmt.Sprintf("%s is %s: %d skills, %.1f ms, card %s%s\n", plain(p.Agent.Name), state, p.SkillCount, p.LatencyMs, card, colon(p.Error))
}

// colon formats an error for the end of a sentence.
func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + plain(text)
}
