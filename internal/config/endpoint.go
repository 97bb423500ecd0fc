package config

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/task"
)

// BackendA2A is the backend of agents that speak A2A.
const BackendA2A = "a2a"

// Endpoint is the address of a remote agent, with the options for calling it.
type Endpoint struct {
	// Backend is the protocol of the agent: a2a. It is required.
	Backend string `yaml:"backend" enum:"a2a"`
	// BaseURL is the address of the agent or of its card. It is required.
	BaseURL string `yaml:"base_url"`
	// Auth are the credentials that the hub sends.
	Auth EndpointAuth `yaml:"auth"`
	// TLS is the hub's client certificate, and the authorities that the hub trusts.
	TLS EndpointTLS `yaml:"tls"`
	// Target is the tenant in requests to the agent.
	Target string `yaml:"target"`
	// TimeoutMS is the time limit of a message in milliseconds. The default is 300000.
	TimeoutMS int `yaml:"timeout_ms"`
	// Options control how the hub follows tasks.
	Options EndpointOptions `yaml:"options"`
}

// EndpointAuth are the credentials that the hub sends to an agent. The zero value sends none.
type EndpointAuth struct {
	// Type selects how the token is sent: as a bearer token, as an API key where the agent's
	// card requires it, or in the header in Name. With oauth2, the hub obtains bearer tokens by
	// the client credentials flow.
	Type  string `yaml:"type" enum:"bearer,apiKey,header,oauth2"`
	Token string `yaml:"token"`
	Name  string `yaml:"name"`
	// ClientID, ClientSecret, TokenURL and Scope are for oauth2 (RFC 6749 section 4.4). Without
	// TokenURL the card names the token endpoint. Scope is a list separated by spaces.
	ClientID     string `yaml:"client_id"`
	ClientSecret string `yaml:"client_secret"`
	TokenURL     string `yaml:"token_url"`
	Scope        string `yaml:"scope"`
}

// EndpointTLS names PEM files, relative to the folder of the configuration. A renewed
// certificate is used from the next connection on.
type EndpointTLS struct {
	// Cert and Key are the hub's certificate and its key.
	Cert string `yaml:"cert" path:"yes"`
	Key  string `yaml:"key" path:"yes"`
	// CA are the trusted authorities, instead of the system's.
	CA string `yaml:"ca" path:"yes"`
}

// EndpointOptions control how the hub follows a remote task.
type EndpointOptions struct {
	// PollIntervalMS is the polling interval of a task that is not streamed. If zero, the
	// interval doubles from PollInitialMS to PollMaxMS.
	PollIntervalMS int `yaml:"poll_interval_ms"`
	// PollInitialMS and PollMaxMS are the first and the longest interval. The defaults are 2000
	// and 30000.
	PollInitialMS int `yaml:"poll_initial_ms"`
	PollMaxMS     int `yaml:"poll_max_ms"`
	// HistoryLength is the requested history of a task; nil means the agent's default.
	HistoryLength *int `yaml:"history_length"`
	// ReturnImmediately requests the task without blocking and follows it; nil means yes.
	ReturnImmediately *bool `yaml:"return_immediately"`
	// Idempotent is set if the agent processes messages with the same id once.
	Idempotent bool `yaml:"idempotent"`
	// NoStreaming polls tasks instead of reading streams.
	NoStreaming bool `yaml:"no_streaming"`
	// FollowCard calls the hosts that the card names instead of the configured one.
	FollowCard bool `yaml:"follow_card"`
}

// at returns the agent's endpoint.
func (a *Agent) at() *Endpoint {
	if a.URL == "" {
		return &a.Endpoint
	}
	e := &Endpoint{Backend: BackendA2A, BaseURL: a.URL}
	e.Options.ReturnImmediately = new(bool)
	return e
}

// Elsewhere reports whether the agent runs outside of the hub.
func (a *Agent) Elsewhere() bool { return a.Remotely() || a.Queue != "" || a.Exchange() != "" }

// Remotely reports whether the agent is called at a URL.
func (a *Agent) Remotely() bool { return a.URL != "" || a.Endpoint != (Endpoint{}) }

// Bound reports whether a changes the settings of a built-in agent.
func (a *Agent) Bound() bool {
	return !a.Programs() && !a.Elsewhere() && !a.Thinks()
}

// Remote returns the executor of a remote agent.
func (a *Agent) Remote() *remote.Agent {
	e := a.at()
	r := &remote.Agent{
		URL: e.BaseURL, Target: e.Target, Credentials: e.credentials(),
		Timeout: time.Duration(a.Timeout), Poll: yamlfile.Millis(e.Options.PollIntervalMS),
		PollInitial: yamlfile.Millis(e.Options.PollInitialMS), PollMax: yamlfile.Millis(e.Options.PollMaxMS),
		HistoryLength: e.Options.HistoryLength, Idempotent: e.Options.Idempotent || a.Idempotent,
		NoStreaming: e.Options.NoStreaming, Unpinned: e.Options.FollowCard,
		ReturnImmediately: e.Options.ReturnImmediately == nil || *e.Options.ReturnImmediately,
		NoContext:         a.OmitContext, Direct: a.direct(),
	}
	if e.TimeoutMS > 0 {
		r.Timeout = yamlfile.Millis(e.TimeoutMS)
	}
	return r
}

// direct returns the binding for calling the agent without its card: JSON-RPC for a url,
// HTTP+JSON for an endpoint, only at that address.
func (a *Agent) direct() remote.Direct {
	if a.URL != "" {
		return remote.Direct{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3"}
	}
	return remote.Direct{
		Binding: a2a.TransportProtocolHTTPJSON, Version: a2a.Version, Fixed: !a.Endpoint.Options.FollowCard,
	}
}

// credentials returns the credentials to send to the agent; nil means none.
func (e *Endpoint) credentials() *transport.Credentials {
	c := e.Auth.credentials()
	if e.TLS == (EndpointTLS{}) {
		return c
	}
	if c == nil {
		c = new(transport.Credentials)
	}
	c.TLS = &transport.TLS{CertFile: e.TLS.Cert, KeyFile: e.TLS.Key, CAFile: e.TLS.CA}
	return c
}

func (x *EndpointAuth) credentials() *transport.Credentials {
	switch x.Type {
	case "oauth2":
		return &transport.Credentials{OAuth2: &transport.ClientCredentials{
			TokenURL: x.TokenURL, ClientID: x.ClientID, ClientSecret: x.ClientSecret, Scopes: strings.Fields(x.Scope),
		}}
	case "bearer":
		return &transport.Credentials{Bearer: x.Token}
	case "apiKey":
		return &transport.Credentials{APIKey: x.Token}
	case "header":
		return &transport.Credentials{HeaderName: x.Name, HeaderValueBase64: base64.StdEncoding.EncodeToString([]byte(x.Token))}
	}
	return nil
}

// Spec returns the configuration of a remote agent in the form of the directory.
func (a *Agent) Spec() directory.Spec {
	e := a.at()
	r := a.Remote()
	s := directory.Spec{
		Name: task.Agent(a.Name), Title: cmp.Or(a.Title, a.Name), URL: e.BaseURL, Queue: task.Agent(a.Queue), Serial: a.Serial, Again: a.OnCrash == Again,
		Transport: a.Transport, WellKnown: a.Queue != "" || a.Exchange() != "", Exchange: task.Agent(a.Exchange()),
		Description: a.Description, Version: a.Version,
		InputModes: a.InputModes, OutputModes: a.OutputModes, StrictModes: a.StrictModes,
		Call: directory.Call{
			Target: e.Target, Timeout: r.Timeout, Poll: r.Poll, PollInitial: r.PollInitial, PollMax: r.PollMax,
			HistoryLength:     e.Options.HistoryLength,
			ReturnImmediately: r.ReturnImmediately, Idempotent: r.Idempotent, FollowCard: e.Options.FollowCard,
			Credentials: e.Auth.forCards(),
			TLS:         directory.TLS{CertFile: e.TLS.Cert, KeyFile: e.TLS.Key, CAFile: e.TLS.CA},
		},
	}
	if a.Remotely() {
		s.Call.Binding, s.Call.Version, s.Call.OmitContext = r.Direct.Binding, r.Direct.Version, r.NoContext
	}
	for i := range a.Skills {
		k := &a.Skills[i]
		s.Skills = append(s.Skills, directory.Skill{
			ID: k.ID, Name: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples,
			InputModes: k.InputModes, OutputModes: k.OutputModes,
		})
	}
	return s
}

// forCards returns the credentials for reading the card.
func (x *EndpointAuth) forCards() directory.Credentials {
	switch x.Type {
	case "bearer":
		return directory.Credentials{Bearer: x.Token}
	case "apiKey":
		return directory.Credentials{APIKey: x.Token}
	case "header":
		return directory.Credentials{HeaderName: x.Name, HeaderValue: x.Token}
	}
	return directory.Credentials{}
}

// Over returns the card of a built-in agent with the settings of a applied.
func (a *Agent) Over(own *a2a.AgentCard) *a2a.AgentCard {
	c := *own
	c.Name = cmp.Or(a.Title, own.Name)
	c.Description, c.Version = cmp.Or(a.Description, own.Description), cmp.Or(a.Version, own.Version)
	c.DefaultInputModes = orList(a.InputModes, own.DefaultInputModes)
	c.DefaultOutputModes = orList(a.OutputModes, own.DefaultOutputModes)
	if len(a.Skills) > 0 {
		c.Skills = nil
		for i := range a.Skills {
			c.Skills = append(c.Skills, a.Skills[i].card(&c))
		}
	}
	return &c
}

func checkKind(d *yamlfile.Decoder, key string, a *Agent, own bool) {
	kinds := 0
	for _, set := range []bool{a.Programs(), a.URL != "", a.Endpoint != (Endpoint{}), a.Thinks(), a.Exchange() != ""} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		d.Problem(nil, key, "set only one of %s", enumerated("command", "url", "endpoint", "model"))
		return
	case a.Thinks() && a.Queue != "":
		d.Problem(nil, key+".queue", "an agent with a model runs here")
		return
	case a.Programs() && a.Queue != "":
		d.Problem(nil, key+".queue", "an agent with a command runs here; let workers run it with: parley agent run")
		return
	case a.Bound() && (!own || !builtinNamed(a.Name)), len(a.Command) > 0 && a.Command[0] == "":
		d.Problem(nil, key+".command", "is required unless the agent has one of %s (there is no built-in agent with this name)", enumerated("url", "endpoint", "model", "queue"))
		return
	}
	checkSkillPrograms(d, key, a)
	if !a.Programs() {
		checkNoProgram(d, key, a)
	} else if a.OnCrash == Again && !a.Idempotent {
		d.Problem(nil, key+".on_crash", "needs idempotent: true")
	}
	checkQueue(d, key, a)
	if !a.Remotely() {
		if a.OmitContext {
			d.Problem(nil, key+".omit_context", "is for agents with a url or an endpoint")
		}
		return
	}
	checkAgentURL(d, key+".url", a.URL)
	if a.URL == "" {
		checkEndpoint(d, key+".endpoint", a)
	}
}

func checkQueue(d *yamlfile.Decoder, key string, a *Agent) {
	if a.Queue != "" {
		s := directory.Spec{Name: "x", Queue: task.Agent(a.Queue)}
		if err := s.Check(); err != nil {
			d.Problem(nil, key+".queue", "%s", strings.TrimPrefix(err.Error(), "queue: "))
		}
	}
	switch {
	case a.Transport == directory.Queue && a.Queue == "":
		d.Problem(nil, key+".transport", "the agent has no queue")
	case a.Transport == directory.HTTP && !a.Remotely():
		d.Problem(nil, key+".transport", "the agent has no url")
	}
}

// checkSkillPrograms reports problems of the programs of skills: an agent has one program, or
// one for each skill.
func checkSkillPrograms(d *yamlfile.Decoder, key string, a *Agent) {
	for i := range a.Extended.Skills {
		if len(a.Extended.Skills[i].Command) > 0 {
			d.Problem(nil, key+".extended.skills["+strconv.Itoa(i)+"].command", "is for the skills of the agent itself")
		}
	}
	if !a.bySkill() {
		return
	}
	for i := range a.Skills {
		at := key + ".skills[" + strconv.Itoa(i) + "].command"
		switch c := a.Skills[i].Command; {
		case len(c) > 0 && len(a.Command) > 0:
			d.Problem(nil, at, "the agent has a command for all skills: set that one, or one for each skill")
		case len(c) == 0 && len(a.Command) == 0:
			d.Problem(nil, at, "is missing: other skills of the agent have a command of their own")
		case len(c) > 0 && c[0] == "":
			d.Problem(nil, at, "begins with an empty text instead of a program")
		}
	}
}

func builtinNamed(name string) bool {
	return slices.ContainsFunc(builtin.Agents(), func(b builtin.Agent) bool { return string(b.Name) == name })
}

// checkNoProgram reports program settings of an agent that is not a program.
func checkNoProgram(d *yamlfile.Decoder, key string, a *Agent) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"dir", a.Dir != ""},
		{"env", len(a.Env) > 0},
		{"grace", a.Grace != 0},
		{"max_output", a.MaxOutput != 0},
		{"silence", a.Silence != 0},
		{"on_crash", a.OnCrash != "" && a.Queue == ""},
		{"timeout", a.Timeout != 0 && (a.Bound() || a.Thinks())},
		{"idempotent", a.Idempotent && (a.Bound() || a.Thinks())},
	} {
		if f.set {
			d.Problem(nil, key+"."+f.name, "is for programs, and this agent has no command")
		}
	}
}

func checkEndpoint(d *yamlfile.Decoder, key string, a *Agent) {
	e := &a.Endpoint
	if e.Backend == "" {
		d.Problem(nil, key+".backend", "is missing; must be "+BackendA2A)
	}
	if e.BaseURL == "" {
		d.Problem(nil, key+".base_url", "is missing")
	}
	checkAgentURL(d, key+".base_url", e.BaseURL)
	if e.TimeoutMS < 0 {
		d.Problem(nil, key+".timeout_ms", "must not be negative")
	}
	if e.TimeoutMS > 0 && a.Timeout != 0 {
		d.Problem(nil, key+".timeout_ms", "the agent also has a timeout")
	}
	checkPolling(d, key+".options", &e.Options)
	if n := e.Options.HistoryLength; n != nil && *n < 0 {
		d.Problem(nil, key+".options.history_length", "must not be negative")
	}
	checkEndpointAuth(d, key+".auth", &e.Auth)
	if t := &e.TLS; (t.Cert == "") != (t.Key == "") {
		d.Problem(nil, key+".tls", "a certificate needs cert and key")
	}
}

func checkPolling(d *yamlfile.Decoder, key string, o *EndpointOptions) {
	switch {
	case o.PollIntervalMS > 0 && (o.PollInitialMS > 0 || o.PollMaxMS > 0):
		d.Problem(nil, key+".poll_interval_ms", "never grows, so poll_initial_ms and poll_max_ms have no effect beside it")
	case o.PollInitialMS > 0 && o.PollMaxMS > 0 && o.PollInitialMS > o.PollMaxMS:
		d.Problem(nil, key+".poll_max_ms", "must be at least poll_initial_ms")
	}
}

// checkEndpointOAuth reports problems without repeating secrets.
func checkEndpointOAuth(d *yamlfile.Decoder, key string, x *EndpointAuth) {
	for _, f := range []struct{ name, value string }{{"client_id", x.ClientID}, {"client_secret", x.ClientSecret}} {
		if f.value == "" {
			d.Problem(nil, key+"."+f.name, "is missing")
		}
	}
	checkURL(d, key+".token_url", x.TokenURL)
	if x.Token != "" || x.Name != "" {
		d.Problem(nil, key, "token and name are for the other types")
	}
}

// checkEndpointAuth reports problems without repeating the token.
func checkEndpointAuth(d *yamlfile.Decoder, key string, x *EndpointAuth) {
	switch {
	case *x == (EndpointAuth{}):
		return
	case x.Type == "":
		d.Problem(nil, key+".type", "is missing: bearer, apiKey, header or oauth2")
		return
	case x.Type == "oauth2":
		checkEndpointOAuth(d, key, x)
		return
	case x.ClientID != "" || x.ClientSecret != "" || x.TokenURL != "" || x.Scope != "":
		d.Problem(nil, key+".type", "client_id, client_secret, token_url and scope are for oauth2")
		return
	case x.Token == "":
		d.Problem(nil, key+".token", "is missing")
		return
	case x.Type == "header" && x.Name == "":
		d.Problem(nil, key+".name", "is missing: the name of the header")
		return
	case x.Type != "header" && x.Name != "":
		d.Problem(nil, key+".name", "is for the type header")
	}
	if err := x.credentials().Check(); err != nil {
		d.Problem(nil, key, "%s", err.Error())
	}
}
