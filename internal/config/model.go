package config

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// KindScript is a provider that is a file with the answers of the model.
const KindScript = "script"

// ModelProvider is a provider of language models.
type ModelProvider struct {
	// Name is the provider's name in agents. It is required.
	Name string `yaml:"name"`
	// Kind is the API of the provider. The default is openai if BaseURL is set, or else script
	// if Script is. A script can thereby replace a server whose address is an optional
	// environment variable.
	Kind string `yaml:"kind" enum:"openai,script"`
	// BaseURL is the endpoint, without chat/completions. The default is OpenAI's.
	BaseURL string `yaml:"base_url"`
	// APIKey is sent as a bearer token; empty for a server that requires none.
	APIKey string `yaml:"api_key"`
	// Headers are sent with each request.
	Headers map[string]string `yaml:"headers"`
	// LegacyMaxTokens sends the limit of an answer as max_tokens, as older servers require.
	LegacyMaxTokens bool `yaml:"legacy_max_tokens"`
	// Script is the file of a scripted model.
	Script string `yaml:"script" path:"yes"`
}

// Scripted reports whether the provider follows a script.
func (p *ModelProvider) Scripted() bool {
	return p.Kind == KindScript || p.Kind == "" && p.Script != "" && p.BaseURL == ""
}

// Model configures the language model of an agent, and its permissions. Zero fields mean the
// defaults.
type Model struct {
	// Provider is the name of a model provider. It may be empty if there is only one.
	Provider string `yaml:"provider"`
	// Model is the provider's name for the model.
	Model string `yaml:"model"`
	// Fallbacks are tried in order if the model does not answer.
	Fallbacks []ModelChoice `yaml:"fallbacks"`
	// SystemPrompt is the instruction to the model.
	SystemPrompt string `yaml:"system_prompt"`
	// Delegates are names of agents that the model may call, with the tools agent_run_{name}.
	Delegates []string `yaml:"delegates"`
	// AllowedTools are patterns of tools that it may call, such as get_*. The default is all; an empty list is none.
	AllowedTools []string `yaml:"allowed_tools"`
	// ExcludedTools are patterns of tools that it may not call.
	ExcludedTools []string `yaml:"excluded_tools"`
	// MaxRounds is the largest number of model messages for one message of the caller. The
	// default is 16.
	MaxRounds int `yaml:"max_rounds"`
	// MaxToolCalls is the largest number of tool calls for one message of the caller. The
	// default is 100.
	MaxToolCalls int `yaml:"max_tool_calls"`
	// MaxTaskTokens is the largest number of tokens read and written for a task. The default is
	// no limit.
	MaxTaskTokens int `yaml:"max_task_tokens"`
	// MaxTime is the time limit for a message of the caller. The default is no limit.
	MaxTime Duration `yaml:"max_time"`
	// ContextTokens is the largest estimated number of tokens of a request. The default is
	// 100000.
	ContextTokens int `yaml:"context_tokens"`
	// MaxTokens is the largest number of tokens of a model message. The default is the
	// provider's.
	MaxTokens int `yaml:"max_tokens"`
	// Temperature is the sampling temperature. The default is the provider's.
	Temperature *float64 `yaml:"temperature"`
	// Stall is the silence after which a request to the provider is aborted. The default is
	// 90s.
	Stall Duration `yaml:"stall"`
	// ToolTime is the time limit of a tool call. The default is 10m.
	ToolTime Duration `yaml:"tool_time"`
	// InlineResults is the largest number of characters of an agent's result to include in the
	// result of the tool, if it arrives within five seconds. The model reads all other results
	// from working memory by key. The default is 0, which includes none.
	InlineResults int `yaml:"inline_results"`
	// Guard is the treatment of texts of others before the model reads them: label names their
	// author and warns of orders in them, redact removes the orders as well, refuse withholds a text
	// with orders and rejects such messages of callers, off passes all texts on unchanged. The
	// default is that of safety.untrusted_text.
	Guard string `yaml:"guard" enum:"label,redact,refuse,off"`
	// Forgetful models do not get the earlier tasks of a conversation.
	Forgetful bool `yaml:"forgetful"`
}

// ModelChoice is a model at a provider.
type ModelChoice struct {
	// Provider is the name of a model provider. The default is that of the first choice.
	Provider string `yaml:"provider"`
	// Model is the provider's name for the model.
	Model string `yaml:"model"`
}

// GuardOf returns the guard that labels and screens texts of others for a model.
func (c *Config) GuardOf(m *Model) guard.Guard {
	g := c.Safety.Guard()
	if m.Guard != "" {
		_ = g.Policy.UnmarshalText([]byte(m.Guard)) // the values are checked
	}
	return g
}

// Thinks reports whether the agent is a language model.
func (a *Agent) Thinks() bool { return !reflect.ValueOf(a.Model).IsZero() }

// Choices returns the models of m with the names of their providers.
func (c *Config) Choices(m *Model) []ModelChoice {
	first := ModelChoice{m.Provider, m.Model}
	if first.Provider == "" && len(c.ModelProviders) == 1 {
		first.Provider = c.ModelProviders[0].Name
	}
	all := []ModelChoice{first}
	for _, f := range m.Fallbacks {
		f.Provider = cmp.Or(f.Provider, first.Provider)
		all = append(all, f)
	}
	return all
}

func checkModels(d *yamlfile.Decoder, c *Config) {
	var names []string
	for i := range c.ModelProviders {
		p := &c.ModelProviders[i]
		key := "model_providers[" + strconv.Itoa(i) + "]"
		checkProvider(d, key, p)
		if p.Name != "" && slices.Contains(names, p.Name) {
			d.Problem(nil, key+".name", "duplicate provider %q", yamlfile.Clip(p.Name))
		}
		names = append(names, p.Name)
	}
	for i := range c.Agents {
		if a := &c.Agents[i]; a.Thinks() {
			checkModel(d, "agents["+strconv.Itoa(i)+"].model", c, a)
		}
	}
}

func checkProvider(d *yamlfile.Decoder, key string, p *ModelProvider) {
	if p.Name == "" {
		d.Problem(nil, key+".name", "is missing")
	}
	checkURL(d, key+".base_url", p.BaseURL)
	if !p.Scripted() {
		if p.Script != "" && p.Kind != "" {
			d.Problem(nil, key+".script", "is for the kind script")
		}
		return
	}
	if p.Script == "" {
		d.Problem(nil, key+".script", "is missing")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"base_url", p.BaseURL != ""}, {"api_key", p.APIKey != ""}, {"headers", len(p.Headers) > 0}, {"legacy_max_tokens", p.LegacyMaxTokens}} {
		if f.set {
			d.Problem(nil, key+"."+f.name, "is not for a script")
		}
	}
}

func checkModel(d *yamlfile.Decoder, key string, c *Config, a *Agent) {
	m := &a.Model
	for i, choice := range c.Choices(m) {
		at := key
		if i > 0 {
			at += ".fallbacks[" + strconv.Itoa(i-1) + "]"
		}
		checkModelChoice(d, at, c, &choice)
	}
	for name, list := range map[string][]string{"allowed_tools": m.AllowedTools, "excluded_tools": m.ExcludedTools} {
		for i, pattern := range list {
			if pattern == "" || model.CheckPattern(pattern) != nil {
				d.Problem(nil, key+"."+name+"["+strconv.Itoa(i)+"]", "%q is not a pattern such as get_*", yamlfile.Clip(pattern))
			}
		}
	}
	for i, name := range m.Delegates {
		at := key + ".delegates[" + strconv.Itoa(i) + "]"
		switch {
		case !agentName.MatchString(name):
			d.Problem(nil, at, "invalid agent name %q", yamlfile.Clip(name))
		case name == a.Name:
			d.Problem(nil, at, "an agent cannot ask itself")
		case slices.Index(m.Delegates, name) < i:
			d.Problem(nil, at, "appears twice")
		}
	}
}

func checkModelChoice(d *yamlfile.Decoder, key string, c *Config, choice *ModelChoice) {
	i := slices.IndexFunc(c.ModelProviders, func(p ModelProvider) bool { return p.Name == choice.Provider })
	switch {
	case len(c.ModelProviders) == 0:
		d.Problem(nil, key, "there are no model_providers")
	case choice.Provider == "":
		d.Problem(nil, key+".provider", "is missing, and there are several model_providers")
	case i < 0:
		d.Problem(nil, key+".provider", "unknown model provider %q; the providers are %s", yamlfile.Clip(choice.Provider), strings.Join(providerNames(c), ", "))
	case choice.Model == "" && !c.ModelProviders[i].Scripted():
		d.Problem(nil, key+".model", "is missing: the name that the provider has for the model")
	}
}

func providerNames(c *Config) []string {
	var names []string
	for i := range c.ModelProviders {
		names = append(names, c.ModelProviders[i].Name)
	}
	return names
}
