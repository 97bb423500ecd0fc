package hubtools

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/args"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

// registering returns the tools that add and remove agents, unless they are hidden.
func (b *Toolbox) registering() []tool {
	if b.NoRegistry {
		return nil
	}
	register := args.Fields{
		{Name: "agent_name", Required: true, Max: maxName, Description: "The name that the agent gets here."},
		{Name: "url", Required: true, Max: 2000, Description: "Where the agent is, such as https://agents.example.org/weather. Only a URL that you were given: never make one up."},
		{Name: "description", Max: 2000, Description: "A description of the agent, if its card has none."},
		{Name: "skills", Kind: args.Texts, Max: maxName, Description: "Ids of skills, if its card has none."},
		{Name: "auth_header_name", Max: maxName, Description: "The header that carries the credential, such as X-Api-Key."},
		{Name: "auth_header_value_base64", Max: 8000, Description: "The value of that header in base64."},
	}
	return []tool{
		{fields: register, run: b.register, Tool: llm.Tool{
			Name: "register_agent", Title: "Register an agent", Output: schemaOf(agentMembers), Idempotent: true,
			Description: "Adds a remote agent, so that it can be called by its name, or changes one that was registered: its credential stays if you leave it out. Its card is read, and which protocol it speaks is found out.",
		}},
		{fields: args.Fields{agentField}, run: b.unregister, Tool: llm.Tool{
			Name: "unregister_agent", Title: "Remove an agent", Output: schemaOf(unregisterOutput), Idempotent: true, Destructive: true,
			Description: "Removes an agent that was registered. Agents of the configuration stay.",
		}},
		{fields: args.Fields{agentField}, run: b.refresh, Tool: llm.Tool{
			Name: "refresh_agent_card", Title: "Read an agent's card again", Output: schemaOf(refreshedOutput), Idempotent: true,
			Description: "Asks an agent for its card again, when its skills seem to be out of date. To see the stored card, call get_agent_details.",
		}},
	}
}

func (b *Toolbox) register(ctx context.Context, c *call) (*llm.Result, error) {
	n := &adminjson.NewAgent{Name: c.args.Text("agent_name"), URL: c.args.Text("url"), Description: c.args.Text("description")}
	n.Credentials.HeaderName, n.Credentials.HeaderValueBase64 = c.args.Text("auth_header_name"), c.args.Text("auth_header_value_base64")
	if n.Credentials.Given = n.Credentials.HeaderName != ""; n.Credentials.Given != (n.Credentials.HeaderValueBase64 != "") {
		return problem("auth_header_name and auth_header_value_base64 go together: give both, or none."), nil
	}
	for _, id := range c.args.Texts("skills") {
		n.Skills = append(n.Skills, directory.Skill{ID: id})
	}
	a, err := b.Hub.Register(ctx, n)
	if err != nil {
		return nil, err
	}
	l := b.listed(a)
	return structured(&l)
}

func (b *Toolbox) unregister(ctx context.Context, c *call) (*llm.Result, error) {
	a, wrong, err := b.known(ctx, c.args.Text("agent_name"))
	if wrong != nil || err != nil {
		return wrong, err
	}
	if err := b.Hub.Unregister(ctx, a.Name); err != nil {
		return nil, err
	}
	return structured(&struct {
		Unregistered string `json:"unregistered"`
	}{plainName(a.Name)})
}

func (b *Toolbox) refresh(ctx context.Context, c *call) (*llm.Result, error) {
	a, wrong, err := b.known(ctx, c.args.Text("agent_name"))
	if wrong != nil || err != nil {
		return wrong, err
	}
	p, err := b.Hub.Refresh(ctx, a.Name)
	local := errors.Is(err, hubclient.ErrNotFound)
	if err != nil && !local {
		return nil, err
	}
	if local {
		p.Agent = *a
	}
	answer := struct {
		Agent  string        `json:"agent"`
		Status string        `json:"status"`
		Skills []listedSkill `json:"skills"`
		Error  string        `json:"error,omitempty"`
	}{plainName(p.Agent.Name), refreshStatus(p, local), b.skills(&p.Agent), b.label(guard.Card(p.Agent.Name), p.Error)}
	return structured(&answer)
}

// refreshStatus describes the result of reading a card again. local is set for an agent of the
// hub itself.
func refreshStatus(p *adminjson.Probe, local bool) string {
	switch {
	case local:
		return "skipped: it is an agent of the hub itself; its card is always current"
	case p.Agent.Remote != nil && p.Agent.Remote.Pinned:
		return "skipped: its skills are pinned in the configuration"
	case p.Error != "":
		return "not refreshed: the agent did not answer; its stored card stays"
	case p.Changed:
		return "refreshed: the card has changed"
	}
	return "refreshed: no changes"
}
