package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
	"github.com/parley-a2a/parley/internal/llm/openai"
	"github.com/parley-a2a/parley/internal/llm/scripted"
	"github.com/parley-a2a/parley/task"
)

// provider returns the model provider of a name. It creates each provider once.
func (h *Hub) provider(name string) (llm.Provider, error) {
	if p := h.models[name]; p != nil {
		return p, nil
	}
	for i := range h.cfg.ModelProviders {
		c := &h.cfg.ModelProviders[i]
		if c.Name != name {
			continue
		}
		p, err := newProvider(c)
		if err != nil {
			return nil, fmt.Errorf("%s: model_providers[%d].script: %w", h.cfg.File, i, err)
		}
		if h.models == nil {
			h.models = make(map[string]llm.Provider)
		}
		h.models[name] = p
		return p, nil
	}
	return nil, configf("unknown model provider %q", name)
}

func newProvider(c *config.ModelProvider) (llm.Provider, error) {
	if c.Scripted() {
		return scripted.Load(c.Script)
	}
	e := &openai.Endpoint{URL: c.BaseURL, Key: c.APIKey, Header: make(http.Header), LegacyMaxTokens: c.LegacyMaxTokens}
	for name, value := range c.Headers {
		e.Header.Set(name, value)
	}
	return e, nil
}

func (h *Hub) thinker(m *config.Model) (*model.Agent, error) {
	a := &model.Agent{
		SystemPrompt: m.SystemPrompt, Allowed: m.AllowedTools, Excluded: m.ExcludedTools,
		Describe: h.about, Screening: model.Screening(h.cfg.GuardOf(m).Policy), MaxTokens: m.MaxTokens, Temperature: m.Temperature, Logger: h.logger,
		Budget: model.Budget{
			Rounds: m.MaxRounds, Calls: m.MaxToolCalls, Tokens: int64(m.MaxTaskTokens), Time: time.Duration(m.MaxTime),
			Context: m.ContextTokens, Stall: time.Duration(m.Stall), ToolTime: time.Duration(m.ToolTime),
		},
	}
	gate := questions{h.engine, h.trust.registry, h.responder()}
	a.Awaiter, a.Inline, a.Gate, a.Limit = dispatches{h.within()}, m.InlineResults, gate, gate.limit
	a.Own = func(s *model.Scope) llm.Source { return h.toolsOf(s, m) }
	if len(h.servers.Clients) > 0 {
		a.Tools = h.servers.With(h.cfg.GuardOf(m))
	}
	if !m.Forgetful {
		a.History = h.memory.turns
	}
	for _, c := range h.cfg.Choices(m) {
		p, err := h.provider(c.Provider)
		if err != nil {
			return nil, err
		}
		a.Choices = append(a.Choices, model.Choice{Provider: p, Model: c.Model, Name: c.Provider + "/" + c.Model})
	}
	for _, name := range m.Delegates {
		a.Delegates = append(a.Delegates, model.Delegate{ID: task.Agent(name)})
	}
	return a, nil
}

// about returns the description in the card of an agent.
func (h *Hub) about(name task.Agent) string {
	for _, a := range h.engine.Agents() {
		if a.Name == name && a.Card != nil {
			return a.Card.Description
		}
	}
	return ""
}

func (h *Hub) specThinker(m *directory.Model) (*model.Agent, error) {
	c := config.Model{
		Provider: m.Provider, Model: m.ID, SystemPrompt: m.SystemPrompt, MaxRounds: m.MaxRounds,
		AllowedTools: m.Allowed, ExcludedTools: m.Excluded, Guard: m.Guard,
	}
	for _, name := range m.Delegates {
		c.Delegates = append(c.Delegates, string(name))
	}
	if first := h.cfg.Choices(&c)[0]; first.Provider == "" {
		return nil, fmt.Errorf("it has a model, and parley.yaml has %d model_providers: name one as its provider", len(h.cfg.ModelProviders))
	}
	return h.thinker(&c)
}

// registering are the tools that change the registered agents. A model gets them only if its
// allowed tools name one of them.
var registering = []string{"register_agent", "unregister_agent", "refresh_agent_card"}

// toolsOf returns the tools of the hub for a task of a model agent. They act for the caller of
// the task, and tasks that they start are its children. A model gets the tools of single skills
// only if they are named, because the other tools can do the same.
func (h *Hub) toolsOf(s *model.Scope, m *config.Model) llm.Source {
	allowed := m.AllowedTools
	box := &hubtools.Toolbox{Hub: h.within(), Self: string(s.Agent), Session: s.ContextID, Guard: h.cfg.GuardOf(m)}
	box.NoRegistry = !slices.ContainsFunc(registering, func(name string) bool { return slices.Contains(allowed, name) })
	if slices.ContainsFunc(allowed, func(name string) bool { return strings.HasPrefix(name, hubtools.Prefix) }) {
		return endpoint.Tools(box, true, true)
	}
	return box
}

// within returns the client by which models of the hub call the hub: agents by the engine, and
// notes, the inbox and the directory by the API.
func (h *Hub) within() *hubclient.Hub {
	return &hubclient.Hub{URL: "http://" + insideHost, HTTP: &http.Client{Transport: &h.inside}, Calls: h.calls.Dial, Logger: h.logger}
}

// dispatches waits for tasks that models have dispatched.
type dispatches struct{ hub *hubclient.Hub }

// Await implements model.Awaiter.
func (d dispatches) Await(ctx context.Context, w *model.Wait) (a2a.TaskState, error) {
	t, err := d.hub.Follow(ctx, w.Task, hubclient.FollowOptions{Progress: w.Progress, FromStart: w.Anew})
	switch {
	case errors.Is(err, hubclient.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return t.Status.State, nil
}

// insideHost is the host of requests from inside.
const insideHost = "127.0.0.1"
