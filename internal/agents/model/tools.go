package model

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/task"
)

// runPrefix is the prefix of the names of tools that call an agent.
const runPrefix = "agent_run_"

// tools holds the tools that the model may call.
type tools struct {
	list   []llm.Tool
	byName map[string]*llm.Tool
	// delegates are the agents behind agent_run_{id}.
	delegates map[string]*Delegate
	// size is the estimated number of their tokens in a request.
	size int
}

func (a *Agent) toolsFor(ctx context.Context, scope *Scope) (*tools, error) {
	var list []llm.Tool
	delegates := make(map[string]*Delegate)
	for i := range a.Delegates {
		d := &a.Delegates[i]
		tool := a.runTool(d)
		if a.offers(tool.Name) {
			delegates[tool.Name] = d
			list = append(list, tool)
		}
	}
	sources := []llm.Source{a.Tools}
	if a.Own != nil {
		sources = append(sources, a.Own(scope))
	}
	seen := make(map[string]bool)
	for _, source := range sources {
		if source == nil {
			continue
		}
		all, err := source.Tools(ctx)
		if err != nil {
			return nil, err
		}
		for _, tool := range all {
			if a.offers(tool.Name) && delegates[tool.Name] == nil && !seen[tool.Name] {
				list = append(list, tool)
			}
			seen[tool.Name] = true
		}
	}
	return newTools(list, delegates), nil
}

func newTools(list []llm.Tool, delegates map[string]*Delegate) *tools {
	t := &tools{list: list, byName: make(map[string]*llm.Tool), delegates: delegates}
	for i := range t.list {
		tool := &t.list[i]
		t.byName[tool.Name] = tool
		t.size += messageTokens + estimate(tool.Name) + estimate(tool.Description) + (len(tool.Input)+bytesPerToken-1)/bytesPerToken
	}
	return t
}

// offers reports whether the model may call a tool of that name.
func (a *Agent) offers(name string) bool {
	return (a.Allowed == nil || anyMatches(a.Allowed, name)) && !anyMatches(a.Excluded, name)
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// CheckPattern returns an error for a malformed pattern of Allowed or Excluded.
func CheckPattern(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

// runInput is the schema of the arguments of agent_run_{id}.
var runInput = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"The work for the agent, in words that can be understood alone: it sees nothing of this conversation."}},"required":["prompt"],"additionalProperties":false}`)

// RunName returns the name of the tool that calls an agent.
func RunName(id task.Agent) string {
	name := runPrefix + toolName(string(id))
	return name[:min(len(name), maxToolName)]
}

// runTool returns the tool that calls an agent.
func (a *Agent) runTool(d *Delegate) llm.Tool {
	text := guard.Words("Gives the agent %q a task, and waits for its answer.", string(d.ID))
	if about := strings.TrimSpace(d.Description); about != "" {
		text = guard.Words("%s About the agent: %s", text, guard.Operator(about))
	} else if a.Describe != nil {
		if about = strings.TrimSpace(a.Describe(d.ID)); about != "" {
			text = guard.Words("%s Its card: %s", text, a.guard().Text(guard.Card(string(d.ID)), about))
		}
	}
	return llm.Tool{Name: RunName(d.ID), Description: text.String(), Input: runInput}
}

// unknown returns the text for the model about an unknown tool.
func (s *session) unknown(name string) guard.Text {
	list := s.tools.list
	names := make([]guard.Text, len(list))
	for i := range list {
		names[i] = guard.Words("%s", list[i].Name)
	}
	quoted := s.echo(strconv.Quote(name))
	if len(names) == 0 {
		return guard.Words("There is no tool %s; there are no tools at all. Answer without tools.", quoted)
	}
	return guard.Words("There is no tool %s. Call one of these, with its name exactly so: %s.", quoted, guard.Join(", ", names...))
}
