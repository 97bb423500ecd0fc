package awaken

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// agentSpec is an agent spec: a remote agent if it has an endpoint, otherwise an agent driven
// by a model. Keys unknown to Parley (plugins, sections) are ignored.
type agentSpec struct {
	ID          string    `yaml:"id"`
	Name        string    `yaml:"name"`
	Description string    `yaml:"description"`
	Endpoint    *endpoint `yaml:"endpoint"`

	ModelID      string   `yaml:"model_id"`
	Provider     string   `yaml:"provider"`
	SystemPrompt string   `yaml:"system_prompt"`
	MaxRounds    int      `yaml:"max_rounds"`
	Allowed      []string `yaml:"allowed_tools"`
	AllowedMore  []string `yaml:"allowed_tool_patterns"`
	Excluded     []string `yaml:"excluded_tools"`
	ExcludedMore []string `yaml:"excluded_tool_patterns"`
	Delegates    []string `yaml:"delegates"`
	Guard        string   `yaml:"guard" enum:"label,redact,refuse,off"`
}

// endpoint is the address of the agent of a spec.
type endpoint struct {
	Backend   string          `yaml:"backend"`
	BaseURL   string          `yaml:"base_url"`
	Auth      endpointAuth    `yaml:"auth"`
	Target    string          `yaml:"target"`
	TimeoutMs int             `yaml:"timeout_ms"`
	Options   endpointOptions `yaml:"options"`
}

type endpointAuth struct {
	Type     string `yaml:"type" enum:"none,bearer,api_key"`
	Token    string `yaml:"token"`
	TokenEnv string `yaml:"token_env"`
}

// endpointOptions are the options of an endpoint in parley.yaml, with the same defaults.
type endpointOptions struct {
	PollIntervalMs    int   `yaml:"poll_interval_ms"`
	PollInitialMs     int   `yaml:"poll_initial_ms"`
	PollMaxMs         int   `yaml:"poll_max_ms"`
	HistoryLength     *int  `yaml:"history_length"`
	ReturnImmediately *bool `yaml:"return_immediately"`
	Idempotent        bool  `yaml:"idempotent"`
	NoStreaming       bool  `yaml:"no_streaming"`
	FollowCard        bool  `yaml:"follow_card"`
}

// fill copies the options into s.
func (o *endpointOptions) fill(s *directory.Spec) {
	c := &s.Call
	c.Poll, c.PollInitial, c.PollMax = yamlfile.Millis(o.PollIntervalMs), yamlfile.Millis(o.PollInitialMs), yamlfile.Millis(o.PollMaxMs)
	c.HistoryLength, c.Idempotent, c.FollowCard = o.HistoryLength, o.Idempotent, o.FollowCard
	c.ReturnImmediately = o.ReturnImmediately == nil || *o.ReturnImmediately
	if o.NoStreaming {
		s.Streaming = new(bool)
	}
}

// specList is one agent spec or a list of them.
type specList struct {
	specs []agentSpec
	list  bool
}

// DecodeNode implements yamlfile.Node.
func (l *specList) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if _, l.list = node.(*ast.SequenceNode); l.list {
		d.List(node, reflect.ValueOf(&l.specs).Elem(), key)
		return
	}
	l.specs = make([]agentSpec, 1)
	l.specs[0].DecodeNode(d, node, key)
}

// DecodeNode implements yamlfile.Node. Unknown keys are ignored, unless they look like a
// misspelt endpoint.
func (a *agentSpec) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	pairs, ok := d.Pairs(node, key)
	if !ok {
		return
	}
	v := reflect.ValueOf(a).Elem()
	known := yamlfile.FieldsOf(v.Type())
	for _, p := range pairs {
		at := yamlfile.Join(key, p.Name)
		if f, ok := known.Find(p.Name); ok {
			d.Mark(at, p.At)
			d.Value(p.Value, v.FieldByIndex(f.Index), at, f.Tag)
		} else if meant := known.Suggest(p.Name); strings.Contains(meant, "endpoint") {
			d.Problem(p.At, at, "unknown key%s", meant)
		}
	}
}

// parse reads a file of agent specs.
func parse(o *agentfile.Options, d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file specList
	d.Decode(src, &file)
	var specs []agentfile.Entry
	for i := range file.specs {
		key := ""
		if file.list {
			key = "[" + strconv.Itoa(i) + "]"
		}
		switch a := &file.specs[i]; {
		case a.Endpoint != nil:
			specs = append(specs, agentfile.Entry{Spec: a.spec(d, key), Key: key})
		case a.ModelID != "":
			specs = append(specs, agentfile.Entry{Spec: a.modelSpec(d, key, o.ModelExtensions), Key: key})
		case !agentfile.Bad(d, key):
			d.Problem(nil, yamlfile.Join(key, "model_id"), "is missing, and so is endpoint: %s", nowhere)
		}
	}
	return agentfile.Check(d, specs, map[string]string{"name": "id", "url": "endpoint.base_url"})
}

// nowhere explains why an agent of the hub needs a model.
const nowhere = "an agent without an endpoint runs here, and needs a model"

func (a *agentSpec) spec(d *yamlfile.Decoder, key string) directory.Spec {
	e := a.Endpoint
	key = yamlfile.Join(key, "endpoint")
	s := directory.Spec{
		Name: directory.NameOf(a.ID), Title: a.Name, URL: e.BaseURL, Description: a.Description,
		Call: directory.Call{
			Target: e.Target, Timeout: yamlfile.Millis(e.TimeoutMs),
			Binding: a2a.TransportProtocolHTTPJSON, Version: a2a.Version, Fixed: true,
		},
	}
	e.Options.fill(&s)
	s.Title = cmp.Or(s.Title, a.ID)
	if e.Backend != "a2a" {
		d.Problem(nil, key+".backend", "unknown backend %q; must be a2a", yamlfile.Clip(e.Backend))
	}
	c := &s.Call.Credentials
	switch e.Auth.Type {
	case "bearer":
		c.Bearer, c.BearerEnv = e.Auth.Token, e.Auth.TokenEnv
	case "api_key":
		c.APIKey, c.APIKeyEnv = e.Auth.Token, e.Auth.TokenEnv
	}
	if t := e.Auth.Type; t != "" && t != "none" && e.Auth.Token == "" && e.Auth.TokenEnv == "" {
		d.Problem(nil, key+".auth", "needs token or token_env")
	}
	return s
}

// modelSpec returns the Spec of an agent driven by a model.
func (a *agentSpec) modelSpec(d *yamlfile.Decoder, key string, x []a2a.AgentExtension) directory.Spec {
	m := &directory.Model{
		Provider: a.Provider, ID: a.ModelID, SystemPrompt: a.SystemPrompt, MaxRounds: a.MaxRounds,
		Allowed: append(a.Allowed, a.AllowedMore...), Excluded: slices.Concat(a.Excluded, a.ExcludedMore), Guard: a.Guard,
	}
	for i, name := range a.Delegates {
		if directory.NameOf(name) == "" {
			d.Problem(nil, yamlfile.Join(key, "delegates["+strconv.Itoa(i)+"]"), "invalid agent name %q", yamlfile.Clip(name))
		}
		m.Delegates = append(m.Delegates, directory.NameOf(name))
	}
	name := directory.NameOf(a.ID)
	s := directory.Spec{Name: name, Title: cmp.Or(a.Name, a.ID), Description: a.Description, Pinned: true, Model: m, Extensions: x}
	s.Skills = []directory.Skill{{ID: string(name), Name: s.Title, Description: a.Description}}
	return s
}
