package hubtools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/wake"
)

// Source lists agents and sends messages to them: a *hubclient.Hub, or a single agent. Its methods
// may be called concurrently.
type Source interface {
	Caller
	// Agents returns all agents with their skills and media types.
	Agents(ctx context.Context) ([]adminjson.Agent, error)
}

// Bridge provides a tool for each skill of each agent.
type Bridge struct {
	// Source has the agents. It is required.
	Source Source
	// Box is the toolbox of the same model and session. Its Self gets no tools, and its Guard labels
	// and screens text of agents and cards. It is required; a box without a Hub suffices.
	Box *Toolbox
	// Joins declares that Source joins a call whose key was used to the first one, as a hub
	// does. The tools are Repeatable then.
	Joins bool
	// Allow lists the skills that get a tool: "skill", "agent/skill" or "agent/*". If it is
	// empty, all skills but those in Block do.
	Allow, Block []string
	// Timeout is the longest wait of a tool for the agent; the agent continues afterwards. Zero
	// means five minutes.
	Timeout time.Duration
	// Refresh is the interval at which Run looks for other skills. Zero means a minute.
	Refresh time.Duration

	changed wake.Broadcast

	mu    sync.Mutex // guards the fields below
	print [sha256.Size]byte
	known bool
}

var _ llm.Source = (*Bridge)(nil)

// Of returns the bridge to the hub of a toolbox, for the same model and session.
func Of(b *Toolbox) *Bridge {
	return &Bridge{Source: b.Hub, Box: b, Joins: true}
}

const (
	timeoutDefault = 5 * time.Minute
	refreshDefault = time.Minute
)

// skillTool is a skill that gets a tool.
type skillTool struct {
	agent *adminjson.Agent
	skill adminjson.Skill
	name  string
}

// Tools implements llm.Source.
func (b *Bridge) Tools(ctx context.Context) ([]llm.Tool, error) {
	skills, err := b.skills(ctx)
	if err != nil {
		return nil, err
	}
	tools := b.toolsOf(skills)
	b.remember(tools)
	return tools, nil
}

func (b *Bridge) toolsOf(skills []skillTool) []llm.Tool {
	tools := make([]llm.Tool, 0, len(skills))
	for i := range skills {
		tools = append(tools, b.tool(&skills[i]))
	}
	return tools
}

// skills returns the skills that get a tool, in the order of their names.
func (b *Bridge) skills(ctx context.Context) ([]skillTool, error) {
	agents, err := b.Source.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var skills []skillTool
	var pairs []pair
	for i := range agents {
		a := &agents[i]
		if b.Box.Self != "" && strings.EqualFold(a.Name, b.Box.Self) || a.State == adminjson.Gone {
			continue
		}
		for _, s := range a.Skills {
			if p := (pair{a.Name, s.ID}); b.allowed(p) && !slices.Contains(pairs, p) {
				skills, pairs = append(skills, skillTool{agent: a, skill: s}), append(pairs, p)
			}
		}
	}
	all := names(pairs)
	for i := range skills {
		skills[i].name = all[pairs[i]]
	}
	slices.SortFunc(skills, func(x, y skillTool) int { return strings.Compare(x.name, y.name) })
	return skills, nil
}

// allowed reports whether a skill gets a tool. Block is ignored if Allow is not empty.
func (b *Bridge) allowed(p pair) bool {
	in := func(list []string) bool {
		return slices.Contains(list, p.skill) || slices.Contains(list, p.agent+"/"+p.skill) || slices.Contains(list, p.agent+"/*")
	}
	if len(b.Allow) > 0 {
		return in(b.Allow)
	}
	return !in(b.Block)
}

// output is the schema of the results.
var output = json.RawMessage(`{"type":"object","properties":{` +
	`"response":{"type":"string"},"media_url":{"type":"string"},"media_type":{"type":"string"},` +
	`"state":{"type":"string"},"task_id":{"type":"string"},"context_id":{"type":"string"},"next":{"type":"string"}},"required":["response"]}`)

func (b *Bridge) tool(o *skillTool) llm.Tool {
	var without []string
	if !o.accepts("image/") {
		without = append(without, "image_url", "image_data")
	}
	if !o.accepts("audio/") {
		without = append(without, "audio_data")
	}
	f := once(&skillForms, strings.Join(without, " "), func() *form { return formOf[skillArgs]().opened(without) })
	return llm.Tool{
		Name: o.name, Title: o.title(), Description: b.describe(o),
		Input: f.input, Output: output, Repeatable: b.Joins && b.Box.Session != "",
		Call: func(ctx context.Context, c *llm.Call) (*llm.Result, error) { return b.call(ctx, o, f, c) },
	}
}

// title returns the names of the agent and the skill; those that are not plain are omitted.
func (o *skillTool) title() string {
	names := slices.DeleteFunc([]string{o.agent.Name, o.skill.ID}, func(name string) bool { return !guard.IsName(name) })
	return strings.Join(names, ": ")
}

// describe returns the description of a skill from its card, labelled.
func (b *Bridge) describe(o *skillTool) string {
	asks := "Asks an agent."
	if guard.IsName(o.agent.Name) {
		asks = "Asks the agent " + o.agent.Name + "."
	}
	about := o.skill.ID
	for _, text := range []string{o.skill.Name, o.skill.Description} {
		if strings.TrimSpace(text) != "" {
			about = text
		}
	}
	return asks + " The description of the skill in its card: " + b.Box.Guard.Quote(guard.Card(o.agent.Name), about).Text
}

// skillArgs are the arguments of the tool of a skill. It has those for files that the skill accepts.
type skillArgs struct {
	Query     string     `json:"query" jsonschema:"The request to the agent, in words that can be understood alone."`
	ImageURL  string     `json:"image_url,omitempty" max:"8000" jsonschema:"The URL of an image."`
	ImageData string     `json:"image_data,omitempty" jsonschema:"An image in base64, or as a data URL."`
	AudioData string     `json:"audio_data,omitempty" jsonschema:"A sound in base64, or as a data URL."`
	ContextID string     `json:"context_id,omitempty" max:"200" jsonschema:"The conversation to continue: the context_id of an earlier result."`
	TaskID    a2a.TaskID `json:"task_id,omitempty" max:"200" jsonschema:"The task to answer: the task_id of a result with the state input-required."`
}

var skillForms sync.Map // of *form by the names of the arguments that the skill does not accept

// accepts reports whether the input modes of a skill, or of its agent, include media types with
// the prefix kind.
func (o *skillTool) accepts(kind string) bool {
	return slices.ContainsFunc(o.modes(), func(m string) bool { return m == "*/*" || strings.HasPrefix(strings.ToLower(m), kind) })
}

func (o *skillTool) modes() []string {
	if len(o.skill.InputModes) > 0 {
		return o.skill.InputModes
	}
	return o.agent.InputModes
}

// Changed implements llm.Source. The channel is closed if Run finds skills that differ from the
// last result of Tools.
func (b *Bridge) Changed() <-chan struct{} { return b.changed.Next() }

// Run looks for changed skills until ctx ends.
func (b *Bridge) Run(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(max(b.Refresh, 0), refreshDefault))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// An agent that does not answer keeps its previous skills.
			if skills, err := b.skills(ctx); err == nil {
				b.compare(skills)
			}
		}
	}
}

// remember remembers the tools that the caller has received.
func (b *Bridge) remember(tools []llm.Tool) {
	p := printOf(tools)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.print, b.known = p, true
}

// compare notifies the watchers if the tools have changed.
func (b *Bridge) compare(skills []skillTool) {
	p := printOf(b.toolsOf(skills))
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known || p == b.print {
		return
	}
	b.print = p
	b.changed.Send()
}

// printOf returns a fingerprint of tools.
func printOf(tools []llm.Tool) [sha256.Size]byte {
	h := sha256.New()
	for i := range tools {
		t := &tools[i]
		for _, text := range []string{t.Name, t.Title, t.Description, string(t.Input)} {
			h.Write([]byte(text))
			h.Write([]byte{0})
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
