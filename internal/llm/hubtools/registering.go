package hubtools

import (
	"context"
	"errors"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
)

type registerArgs struct {
	Agent       string   `json:"agent_name" max:"200" jsonschema:"The name that the agent gets here."`
	URL         string   `json:"url" max:"2000" jsonschema:"Where the agent is, such as https://agents.example.org/weather. Only a URL that you were given: never make one up."`
	Description string   `json:"description,omitempty" max:"2000" jsonschema:"A description of the agent, if its card has none."`
	Skills      []string `json:"skills,omitempty" max:"200" jsonschema:"Ids of skills, if its card has none."`
	HeaderName  string   `json:"auth_header_name,omitempty" max:"200" jsonschema:"The header that carries the credential, such as X-Api-Key."`
	HeaderValue string   `json:"auth_header_value_base64,omitempty" max:"8000" jsonschema:"The value of that header in base64."`
}

// registering returns the tools that add and remove agents, unless they are hidden.
func (b *Toolbox) registering() []llm.Tool {
	if b.NoRegistry {
		return nil
	}
	return []llm.Tool{
		offer(b, llm.Tool{
			Name: "register_agent", Title: "Register an agent", Output: resultOf[listedAgent](), Idempotent: true,
			Description: "Adds a remote agent, so that it can be called by its name, or changes one that was registered: its credential stays if you leave it out. Its card is read, and which protocol it speaks is found out.",
		}, b.register),
		offer(b, llm.Tool{
			Name: "unregister_agent", Title: "Remove an agent", Output: resultOf[unregistered](), Idempotent: true, Destructive: true,
			Description: "Removes an agent that was registered. Agents of the configuration stay.",
		}, b.unregister),
		offer(b, llm.Tool{
			Name: "refresh_agent_card", Title: "Read an agent's card again", Output: resultOf[refreshed](), Idempotent: true,
			Description: "Asks an agent for its card again, when its skills seem to be out of date. To see the stored card, call get_agent_details.",
		}, b.refresh),
	}
}

// Results of the tools.
type (
	unregistered struct {
		Name string `json:"unregistered"`
	}
	refreshed struct {
		Agent  string        `json:"agent"`
		Status string        `json:"status"`
		Skills []listedSkill `json:"skills"`
		Error  string        `json:"error,omitempty"`
	}
)

func (b *Toolbox) register(ctx context.Context, _ *call, args *registerArgs) (*llm.Result, error) {
	n := &adminjson.NewAgent{Name: args.Agent, URL: args.URL, Description: args.Description}
	n.Credentials.HeaderName, n.Credentials.HeaderValueBase64 = args.HeaderName, args.HeaderValue
	if n.Credentials.Given = n.Credentials.HeaderName != ""; n.Credentials.Given != (n.Credentials.HeaderValueBase64 != "") {
		return problem("auth_header_name and auth_header_value_base64 go together: give both, or none."), nil
	}
	for _, id := range args.Skills {
		n.Skills = append(n.Skills, directory.Skill{ID: id})
	}
	a, err := b.Hub.Register(ctx, n)
	if err != nil {
		return nil, err
	}
	l := b.listed(a)
	return structured(&l)
}

func (b *Toolbox) unregister(ctx context.Context, _ *call, args *agentArgs) (*llm.Result, error) {
	a, wrong, err := b.known(ctx, args.Agent)
	if wrong != nil || err != nil {
		return wrong, err
	}
	if err := b.Hub.Unregister(ctx, a.Name); err != nil {
		return nil, err
	}
	return structured(&unregistered{plainName(a.Name)})
}

func (b *Toolbox) refresh(ctx context.Context, _ *call, args *agentArgs) (*llm.Result, error) {
	a, wrong, err := b.known(ctx, args.Agent)
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
	answer := refreshed{plainName(p.Agent.Name), refreshStatus(p, local), b.skills(&p.Agent), b.label(guard.Card(p.Agent.Name), p.Error)}
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
