package agentfile

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/task"
)

// agentsFile is the shape of agents.yaml.
type agentsFile struct {
	Agents []listed `yaml:"agents"`
}

// listed is an agent of agents.yaml.
type listed struct {
	Name        string            `yaml:"name"`
	URL         string            `yaml:"url"`
	Description string            `yaml:"description"`
	APIKeyEnv   string            `yaml:"apiKeyEnv"`
	Auth        listedAuth        `yaml:"auth"`
	Headers     map[string]string `yaml:"headers"`
	Streaming   *bool             `yaml:"streaming"`
	Push        *bool             `yaml:"pushNotifications"`
	OmitContext *bool             `yaml:"omitContext"`
	External    bool              `yaml:"external"`
	TimeoutMs   int               `yaml:"timeoutMs"`
	PollInitial int               `yaml:"pollInitialMs"`
	PollMax     int               `yaml:"pollMaxMs"`
	Skills      []listedSkill     `yaml:"skills"`
	// Trust is an extension of Parley, here and below.
	Trust string `yaml:"trust" enum:"open,gated"`

	// These keys configure agents and channels that Parley does not run. They are accepted so
	// that one file serves both programs.
	SubscribesTo          []string `yaml:"subscribesTo"`
	DiscordBotTokenEnvKey string   `yaml:"discordBotTokenEnvKey"`
}

// listedAuth is the auth of an agent of agents.yaml.
type listedAuth struct {
	Scheme         string `yaml:"scheme" enum:"apiKey,bearer,hmac"`
	CredentialsEnv string `yaml:"credentialsEnv"`
}

// listedSkill is a skill of agents.yaml: a string or a mapping.
type listedSkill struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Tags        []string `yaml:"tags"`
	Examples    []string `yaml:"examples"`
	Trust       string   `yaml:"trust" enum:"open,gated"`
}

// DecodeNode implements yamlfile.Node.
func (s *listedSkill) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if _, ok := node.(ast.MapNode); !ok {
		if text, ok := d.Text(node, key); ok {
			s.Name = text
		}
		return
	}
	type plain listedSkill // without this method
	d.Value(node, reflect.ValueOf((*plain)(s)).Elem(), key, "")
}

// parseAgents reads agents.yaml.
func parseAgents(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file agentsFile
	d.Decode(src, &file)
	var specs []found
	for i := range file.Agents {
		key := "agents[" + strconv.Itoa(i) + "]"
		specs = append(specs, found{file.Agents[i].spec(d, key), key})
	}
	return right(d, specs, nil)
}

func (l *listed) spec(d *yamlfile.Decoder, key string) directory.Spec {
	s := directory.Spec{
		Name: directory.NameOf(l.Name), Title: l.Name, URL: l.URL, Description: l.Description, Streaming: l.Streaming,
		Trust: directory.Trust(l.Trust),
		Call: directory.Call{
			Push: l.Push, External: l.External, Header: l.Headers,
			Timeout:     yamlfile.Millis(l.TimeoutMs),
			PollInitial: yamlfile.Millis(l.PollInitial), PollMax: yamlfile.Millis(l.PollMax),
			Credentials: directory.Credentials{APIKeyEnv: l.APIKeyEnv},
			Binding:     a2a.TransportProtocolJSONRPC, Version: v03, Fixed: true,
			OmitContext: l.OmitContext == nil || *l.OmitContext, ParamsContext: true,
		},
	}
	c := &s.Call.Credentials
	switch env := l.Auth.CredentialsEnv; {
	case l.Auth.Scheme == "hmac":
		d.Problem(nil, key+".auth.scheme", "hmac is not there; take apiKey or bearer")
	case l.Auth.Scheme != "" && env == "":
		d.Problem(nil, key+".auth.credentialsEnv", "is missing")
	case l.Auth.Scheme == "bearer":
		c.BearerEnv = env
	case env != "":
		c.APIKeyEnv = env
	}
	for _, k := range l.Skills {
		s.Skills = append(s.Skills, directory.Skill{ID: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples})
		gate(&s, k.Name, k.Trust)
	}
	return s
}

// wellKnown is an agent of well-known-agents.json.
type wellKnown struct {
	AgentName       string           `yaml:"agentName"`
	URL             string           `yaml:"url"`
	Description     string           `yaml:"description"`
	Version         string           `yaml:"version"`
	HeaderName      string           `yaml:"authHeaderName"`
	HeaderValue     string           `yaml:"authHeaderValueBase64"`
	Skills          []wellKnownSkill `yaml:"skills"`
	ProtocolVersion string           `yaml:"protocolVersion"`
	Streaming       *bool            `yaml:"supportsStreaming"`
	PollInitial     delay            `yaml:"pollingInitialDelay"`
	PollMax         delay            `yaml:"pollingMaxDelay"`
	Trust           string           `yaml:"trust" enum:"open,gated"`
}

// delay is a duration, written with a unit (2s) or in the form of .NET (00:00:02).
type delay time.Duration

// DecodeNode implements yamlfile.Node.
func (v *delay) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	text, ok := d.Text(node, key)
	if !ok || text == "" {
		return
	}
	written := text
	if clock := strings.Split(text, ":"); len(clock) == 3 {
		written = clock[0] + "h" + clock[1] + "m" + clock[2] + "s"
	}
	after, err := time.ParseDuration(written)
	if err != nil || after <= 0 {
		d.Problem(node, key, "%q is not a time like 2s or 00:00:02", yamlfile.Clip(text))
		return
	}
	*v = delay(after)
}

// wellKnownSkill is a skill of well-known-agents.json.
type wellKnownSkill struct {
	ID          string   `yaml:"id"`
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Tags        []string `yaml:"tags"`
	Examples    []string `yaml:"examples"`
	InputModes  []string `yaml:"inputModes"`
	OutputModes []string `yaml:"outputModes"`
	Trust       string   `yaml:"trust" enum:"open,gated"`
}

func (k *wellKnownSkill) skill() directory.Skill {
	return directory.Skill{
		ID: k.ID, Name: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples,
		InputModes: k.InputModes, OutputModes: k.OutputModes,
	}
}

// parseWellKnown reads well-known-agents.json.
func (p *Options) parseWellKnown(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file []wellKnown
	d.Decode(src, &file)
	var specs []found
	for i := range file {
		key := "[" + strconv.Itoa(i) + "]"
		s := file[i].spec(d, key)
		p.setLocation(&s, file[i].AgentName, "")
		specs = append(specs, found{s, key})
	}
	return right(d, specs, map[string]string{"name": "agentName", "rockbot": "agentName"})
}

func (w *wellKnown) spec(d *yamlfile.Decoder, key string) directory.Spec {
	s := directory.Spec{
		Name: directory.NameOf(w.AgentName), Title: w.AgentName, URL: w.URL, Description: w.Description, Version: w.Version,
		Streaming: w.Streaming, Pinned: w.Skills != nil, WellKnown: true, Trust: directory.Trust(w.Trust),
		Call: directory.Call{
			PollInitial: time.Duration(w.PollInitial), PollMax: time.Duration(w.PollMax),
			Credentials: directory.Credentials{HeaderName: w.HeaderName},
		},
	}
	if w.URL != "" {
		s.Call.Binding, s.Call.Version = a2a.TransportProtocolJSONRPC, w.version()
	}
	if w.HeaderValue != "" {
		value, err := directory.DecodeHeaderValue(w.HeaderValue)
		if err != nil {
			d.Problem(nil, key+".authHeaderValueBase64", "%s", err.Error())
		}
		s.Call.Credentials.HeaderValue = value
	}
	for _, k := range w.Skills {
		s.Skills = append(s.Skills, k.skill())
		gate(&s, k.ID, k.Trust)
	}
	return s
}

// version returns the protocol version for calls of an agent whose card gives none.
func (w *wellKnown) version() a2a.ProtocolVersion {
	if major, _, _ := strings.Cut(w.ProtocolVersion, "."); major == "1" {
		return a2a.Version
	}
	return v03
}

// v03 is the default version of agents whose files give none.
const v03 a2a.ProtocolVersion = "0.3"

// setLocation sets the queue or the RockBot name of an agent without a URL.
func (p *Options) setLocation(s *directory.Spec, name, queue string) {
	switch {
	case s.URL != "":
	case queue == "" && p.RockBot:
		s.RockBot = task.Agent(name)
	default:
		s.Queue = task.Agent(cmp.Or(queue, name))
	}
}

// gate adds a skill to the gated skills if its trust is "gated".
func gate(s *directory.Spec, skill, trust string) {
	if directory.Trust(trust) == directory.Gated {
		s.GatedSkills = append(s.GatedSkills, skill)
	}
}

// knownAgent is an agent of known-agents.json.
type knownAgent struct {
	AgentName   string           `yaml:"agentName"`
	URL         string           `yaml:"url"`
	Queue       string           `yaml:"queue"`
	Description string           `yaml:"description"`
	Version     string           `yaml:"version"`
	Skills      []wellKnownSkill `yaml:"skills"`
	LastSeen    string           `yaml:"lastSeen"`
}

// parseKnown reads known-agents.json: agents that have announced themselves on a bus. Agents
// not seen within knownFor are skipped.
func (p *Options) parseKnown(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var specs []directory.Spec
	for _, k := range p.knownAgents(d, src) {
		if time.Since(k.SeenAt) < knownFor {
			specs = append(specs, k.Spec)
		}
	}
	return specs
}

// knownFor is the time after which an announced agent is ignored.
const knownFor = 24 * time.Hour

func (p *Options) knownAgents(d *yamlfile.Decoder, src []byte) []directory.Known {
	var file []knownAgent
	d.Decode(src, &file)
	var specs []found
	seen := make(map[task.Agent]time.Time)
	for i := range file {
		f, key := &file[i], "["+strconv.Itoa(i)+"]"
		s := directory.Spec{
			Name: directory.NameOf(f.AgentName), Title: f.AgentName, URL: f.URL, Description: f.Description, Version: f.Version,
		}
		p.setLocation(&s, f.AgentName, f.Queue)
		for _, k := range f.Skills {
			s.Skills = append(s.Skills, k.skill())
		}
		at, err := time.Parse(time.RFC3339, f.LastSeen)
		if err != nil {
			d.Problem(nil, key+".lastSeen", "%q is not a time like 2026-01-02T03:04:05Z", yamlfile.Clip(f.LastSeen))
		}
		seen[s.Name] = at
		specs = append(specs, found{s, key})
	}
	var all []directory.Known
	for _, s := range right(d, specs, map[string]string{"name": "agentName", "queue": "agentName", "rockbot": "agentName"}) {
		all = append(all, directory.Known{Spec: s, SeenAt: seen[s.Name]})
	}
	return all
}

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
			d.Problem(p.At, at, "there is no such key%s", meant)
		}
	}
}

// parseSpecs reads a file of agent specs.
func (p *Options) parseSpecs(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file specList
	d.Decode(src, &file)
	var specs []found
	for i := range file.specs {
		key := ""
		if file.list {
			key = "[" + strconv.Itoa(i) + "]"
		}
		switch a := &file.specs[i]; {
		case a.Endpoint != nil:
			specs = append(specs, found{a.spec(d, key), key})
		case a.ModelID != "":
			specs = append(specs, found{a.modelSpec(d, key, p.ModelExtensions), key})
		case !bad(d, key):
			d.Problem(nil, yamlfile.Join(key, "model_id"), "is missing, and so is endpoint: %s", nowhere)
		}
	}
	return right(d, specs, map[string]string{"name": "id", "url": "endpoint.base_url"})
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
		d.Problem(nil, key+".backend", "%q is not there; there is a2a", yamlfile.Clip(e.Backend))
	}
	c := &s.Call.Credentials
	switch e.Auth.Type {
	case "bearer":
		c.Bearer, c.BearerEnv = e.Auth.Token, e.Auth.TokenEnv
	case "api_key":
		c.APIKey, c.APIKeyEnv = e.Auth.Token, e.Auth.TokenEnv
	}
	if t := e.Auth.Type; t != "" && t != "none" && e.Auth.Token == "" && e.Auth.TokenEnv == "" {
		d.Problem(nil, key+".auth", "has neither token nor token_env")
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
			d.Problem(nil, yamlfile.Join(key, "delegates["+strconv.Itoa(i)+"]"), "%q is not the name of an agent", yamlfile.Clip(name))
		}
		m.Delegates = append(m.Delegates, directory.NameOf(name))
	}
	name := directory.NameOf(a.ID)
	s := directory.Spec{Name: name, Title: cmp.Or(a.Name, a.ID), Description: a.Description, Pinned: true, Model: m, Extensions: x}
	s.Skills = []directory.Skill{{ID: string(name), Name: s.Title, Description: a.Description}}
	return s
}

// found is a spec and its key in the file.
type found struct {
	directory.Spec
	key string
}

// right reports the problems of specs and returns the valid ones. names maps the names of
// fields to those of the file's format, where they differ.
func right(d *yamlfile.Decoder, specs []found, names map[string]string) []directory.Spec {
	seen := make(map[task.Agent]string)
	var all []directory.Spec
	for i := range specs {
		s := &specs[i]
		s.Where = d.Where(s.key)
		if bad(d, s.key) {
			continue
		}
		if err := s.Check(); err != nil {
			field, problem, ok := strings.Cut(err.Error(), ": ")
			if !ok {
				field, problem = "", err.Error()
			}
			d.Problem(nil, strings.Trim(s.key+"."+cmp.Or(names[field], field), "."), "%s", problem)
			continue
		}
		if first, ok := seen[s.Name]; ok {
			d.Problem(nil, yamlfile.Join(s.key, cmp.Or(names["name"], "name")), "%s has the name %q, too", first, s.Name)
			continue
		}
		seen[s.Name] = s.key
		all = append(all, s.Spec)
	}
	return all
}

// bad reports whether a problem was found at or below a key.
func bad(d *yamlfile.Decoder, key string) bool {
	for _, p := range d.Problems() {
		if key == "" || p.Key == "" || p.Key == key || strings.HasPrefix(p.Key, key+".") || strings.HasPrefix(p.Key, key+"[") {
			return true
		}
	}
	return false
}
