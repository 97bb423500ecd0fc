package hubtools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

type listAgentsArgs struct {
	Skill string `json:"skill,omitempty" max:"200" jsonschema:"Only agents with the skill of this id."`
}

type searchArgs struct {
	Query string `json:"query" max:"1000" jsonschema:"What you need, in words, such as \"translate a contract into French\"."`
}

func (b *Toolbox) finding() []llm.Tool {
	return []llm.Tool{
		offer(b, llm.Tool{
			Name: "list_known_agents", Title: "List the agents", Output: resultOf[agentList](), ReadOnly: true,
			Description: "Lists all agents that can be called, with their skills. To find one for a need, search_known_services is better.",
		}, b.listAgents),
		offer(b, llm.Tool{
			Name: "get_agent_details", Title: "Describe an agent", Output: resultOf[agentCard](), ReadOnly: true,
			Description: "Gives the whole card of an agent: its skills with their descriptions, tags, examples and media types. Call it before you call the agent. " +
				"It reads the stored card: refresh_agent_card asks the agent itself.",
		}, b.agentDetails),
		offer(b, llm.Tool{
			Name: "search_known_services", Title: "Search agents and MCP servers", Output: resultOf[found](), ReadOnly: true,
			Description: "Finds the agents (type a2a) and MCP servers (type mcp) that fit a need best, with their best skills or tools. Then call get_agent_details for the agent that you choose.",
		}, b.search),
	}
}

// Results of the tools: listedAgent is an agent in a list, listedSkill one of its skills.
type (
	agentList struct {
		Agents []listedAgent `json:"agents"`
		Note   string        `json:"note,omitempty"`
	}
	listedAgent struct {
		Name        string        `json:"name"`
		Description string        `json:"description"`
		LastSeen    string        `json:"lastSeen,omitempty"`
		Skills      []listedSkill `json:"skills"`
	}
	listedSkill struct {
		ID          string `json:"id"`
		Description string `json:"description,omitempty"`
	}
	agentCard struct {
		Name     string `json:"name"`
		LastSeen string `json:"lastSeen,omitempty"`
		Card     string `json:"card"`
	}
	found struct {
		adminjson.Found

		Note string `json:"note,omitempty"`
	}
)

// listed returns the entry of an agent, with foreign text labelled.
func (b *Toolbox) listed(a *adminjson.Agent) listedAgent {
	about := a.Description
	if about == "" && !strings.EqualFold(a.Title, a.Name) {
		about = a.Title
	}
	return listedAgent{plainName(a.Name), b.label(guard.Card(a.Name), about), a.LastSeen, b.skills(a)}
}

// skills returns the skills of an agent, with foreign text labelled.
func (b *Toolbox) skills(a *adminjson.Agent) []listedSkill {
	list := make([]listedSkill, 0, len(a.Skills))
	for _, s := range a.Skills {
		if !guard.IsName(s.ID) {
			continue
		}
		about := cmp.Or(s.Description, s.Name)
		if about == a.Description || strings.EqualFold(about, s.ID) {
			about = "" // it adds no information
		}
		list = append(list, listedSkill{s.ID, b.label(guard.Card(a.Name), about)})
	}
	return list
}

func (b *Toolbox) listAgents(ctx context.Context, _ *call, args *listAgentsArgs) (*llm.Result, error) {
	all, err := b.agents(ctx)
	if err != nil {
		return nil, err
	}
	skill := args.Skill
	answer := agentList{Agents: []listedAgent{}}
	var ids []string
	for i := range all {
		a := &all[i]
		if a.State == adminjson.Gone {
			continue
		}
		for _, s := range a.Skills {
			if guard.IsName(s.ID) {
				ids = append(ids, s.ID)
			}
		}
		if skill == "" || slices.ContainsFunc(a.Skills, func(s adminjson.Skill) bool { return strings.EqualFold(s.ID, skill) }) {
			answer.Agents = append(answer.Agents, b.listed(a))
		}
	}
	if len(answer.Agents) == 0 && skill != "" {
		slices.Sort(ids)
		answer.Note = "No agent has the skill " + quote(skill) + ". Skills with a similar name: " + strings.Join(nearest(skill, slices.Compact(ids), 5), ", ") +
			". search_known_services finds agents by their abilities."
	}
	return structured(&answer)
}

func (b *Toolbox) agentDetails(ctx context.Context, _ *call, args *agentArgs) (*llm.Result, error) {
	a, wrong, err := b.known(ctx, args.Agent)
	if wrong != nil || err != nil {
		return wrong, err
	}
	return structured(&agentCard{plainName(a.Name), a.LastSeen, b.label(guard.Card(a.Name), string(a.Card))})
}

// maxFound is the largest number of services that a search returns.
const maxFound = 5

func (b *Toolbox) search(ctx context.Context, _ *call, args *searchArgs) (*llm.Result, error) {
	services, err := b.Hub.Search(ctx, args.Query, maxFound)
	if err != nil {
		return nil, err
	}
	answer := found{Found: adminjson.Found{Results: []adminjson.Result{}}}
	for _, r := range services {
		if !guard.IsName(r.ID) {
			continue
		}
		r.Summary, r.TopSkills, r.TopTools = b.label(originOf(&r), r.Summary), filter(r.TopSkills), filter(r.TopTools)
		answer.Results = append(answer.Results, r)
	}
	if len(answer.Results) == 0 {
		answer.Note = "Nothing fits these words. Try others, or list_known_agents."
	}
	return structured(&answer)
}

// agents returns the agents of the hub, without those whose names are no plain names: others than
// the operator may have chosen them.
func (b *Toolbox) agents(ctx context.Context) ([]adminjson.Agent, error) {
	all, err := b.Hub.Agents(ctx)
	return slices.DeleteFunc(all, func(a adminjson.Agent) bool { return !guard.IsName(a.Name) }), err
}

// plainName returns a name if it may stand outside of a label, otherwise an empty text.
func plainName(name string) string {
	if guard.IsName(name) {
		return name
	}
	return ""
}

// originOf returns the author of the summary of a service.
func originOf(f *adminjson.Result) guard.Origin {
	if f.Type == "mcp" {
		return guard.Server(f.ID)
	}
	return guard.Card(f.ID)
}

// filter returns the names that are safe to show, see guard.IsName.
func filter(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !guard.IsName(n) })
}
