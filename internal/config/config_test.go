package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// noVariables is an empty environment.
func noVariables(string) (string, bool) { return "", false }

// variables is an environment.
func variables(set map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := set[name]
		return v, ok
	}
}

// parse parses a file of the folder /etc/parley; a problem fails the test.
func parse(t *testing.T, src string) *config.Config {
	t.Helper()
	c, err := config.Parse("/etc/parley/parley.yaml", []byte(src), noVariables)
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return c
}

func TestExample(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse("/etc/parley/parley.yaml", src, variables(map[string]string{"WEATHER_TOKEN": "t0ken"}))
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	yes, no, ten := true, false, 10
	want := &config.Config{
		File:       "/etc/parley/parley.yaml",
		Listen:     "127.0.0.1:4100",
		GRPCListen: "127.0.0.1:4101",
		Data:       "/etc/parley/parley-data", PublicURL: "https://hub.example",
		AgentsBuiltin: &yes, DefaultAgent: "weather",
		Agents: []config.Agent{
			{
				Name: "weather", Description: "Tells the weather of a city.", Version: "2.1",
				Command: config.Command{"./weather.sh", "--units", "metric"},
				Dir:     "/etc/parley/agents/weather",
				Env:     map[string]string{"WEATHER_TOKEN": "t0ken"},
				Timeout: config.Duration(90 * time.Second), Grace: config.Duration(2 * time.Second),
				MaxOutput: 1 << 20, Silence: config.Duration(30 * time.Second), Idempotent: true, Trust: "open", Dialect: "v0.3",
				Questions:  "auto",
				InputModes: []string{"text/plain", "application/json"}, OutputModes: []string{"text/plain"},
				Extended: config.Extended{
					Description: "Tells the weather of a city, and of the seas to those who know.",
					Skills:      []config.Skill{{ID: "sea", Description: "The weather at sea."}},
				},
				Skills: []config.Skill{{
					ID: "forecast", Name: "Forecast", Description: "The weather of the coming days.",
					Tags: []string{"weather", "forecast"}, Examples: []string{"Will it rain in Oslo tomorrow?"},
					InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"}, Trust: "gated",
				}},
			},
			{Name: "researcher", Description: "Finds things out.", Endpoint: config.Endpoint{
				Backend: "a2a", BaseURL: "https://remote-agent.example.com/v1/a2a", Target: "researcher", TimeoutMS: 60_000,
				Auth: config.EndpointAuth{Type: "header", Name: "X-Token", Token: "secret"},
				Options: config.EndpointOptions{
					PollIntervalMS: 1000, HistoryLength: &ten, ReturnImmediately: &no, Idempotent: true, NoStreaming: true, FollowCard: true,
				},
			}},
			{Name: "patient", Endpoint: config.Endpoint{
				Backend: "a2a", BaseURL: "https://patient.example.com", Options: config.EndpointOptions{PollInitialMS: 500, PollMaxMS: 60_000},
			}},
			{Name: "partner", URL: "https://partner.example.com", Timeout: config.Duration(2 * time.Minute), StrictModes: true},
			{Name: "clock", Description: "Knows what time it is."},
			{Name: "upper", Command: config.Command{"/bin/sh", "-c", "tr a-z A-Z"}, Dir: "/etc/parley"},
		},
		Directory: config.Directory{
			Added:   config.Added{&lists{Lists: []string{"/etc/parley/agents.d", "/etc/parley/agents.yaml"}}},
			Allow:   []string{"loopback", "10.30.0.0/16"},
			Refresh: config.Duration(10 * time.Minute), Probe: config.Duration(time.Minute),
		},
		Broker: config.Broker{Skills: []config.BrokerSkill{{
			ID: "pr_review", Cooldown: config.Duration(30 * time.Second), CooldownKey: "repository", Dedupe: config.Duration(10 * time.Second),
		}}},
		MCPServices: []config.MCPService{{
			ID: "github", Summary: "Repositories, issues and pull requests.",
			Tools: []config.MCPTool{{Name: "search_issues", Description: "Finds issues by their words."}},
		}},
		MCPServers: []config.MCPServer{
			{
				Name: "files", Summary: "The documents of the team.", Command: config.Command{"/bin/sh", "-c", "npx"},
				Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/srv/documents"}, Dir: "/etc/parley",
				Env:   map[string]string{"LOG": "debug"},
				Tools: config.MCPTools{Allow: []string{"read_*", "list_directory"}, Block: []string{"read_media_file"}},
				Start: "demand", Timeout: config.Duration(time.Minute), Calls: 4, MaxTools: 50, MaxMessage: 4 << 20,
			},
			{Name: "tracker", URL: "https://tracker.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer none"}},
		},
		MCP:          config.MCP{Bridge: true, Block: []string{"register_agent", "unregister_agent"}},
		ExtendedCard: config.ExtendedCard{Token: "card-token-0123456789", Authenticated: true},
		Limits: config.Limits{
			RequestsPerSecond: 50, Burst: 100, BytesPerSecond: 4 << 20, TasksPerCaller: 20,
			Body: 10 << 20, BodyTime: config.Duration(30 * time.Second), WriteTime: config.Duration(30 * time.Second),
			KeepAlive: config.Duration(15 * time.Second), StreamsPerCaller: 1000, Streams: 20000,
		},
		Engine: config.Engine{
			MaxWait: config.Duration(300 * time.Second), FirstEvent: config.Duration(time.Second), AgentSilence: -1,
			CancelWait: config.Duration(10 * time.Second), DrainTimeout: config.Duration(10 * time.Second),
			Retention: config.Duration(720 * time.Hour), IdleRetention: config.Duration(180 * time.Hour),
			MaxRuns: 10000, MaxAway: 50000, MaxQueued: 100000, MaxWaiting: 100, MaxOutput: 2 << 30,
		},
		Delegation: config.Delegation{MaxHops: 8, MaxTasks: 1000, MaxTime: config.Duration(time.Hour)},
		Safety:     config.Safety{UntrustedText: "redact"},
		Questions: config.Questions{
			Policy: "trust", AnsweringAgent: "clerk", Script: "/etc/parley/answers.yaml", AskTime: config.Duration(48 * time.Hour),
			MaxRounds: 20, Repetition: 3,
		},
		Idempotency: config.Idempotency{Header: true, TTL: config.Duration(12 * time.Hour), MessageID: true},
		Parts: config.Parts{
			Threshold: 1 << 20, Expiry: config.Duration(7 * 24 * time.Hour), Max: 64 << 20, Dir: "/etc/parley/parts",
		},
		Memory: config.Memory{
			PrimarySession: "primary", Owner: "local", Outcomes: []string{"weather"}, TTL: config.Duration(5 * time.Minute),
			MaxTTL: config.Duration(720 * time.Hour), ResultTTL: config.Duration(time.Hour), OutcomeTTL: config.Duration(8 * time.Hour),
			SessionTTL: config.Duration(24 * time.Hour), Entries: 50, OwnerEntries: 10000, Value: 64 << 10,
			Retention: config.Duration(720 * time.Hour),
		},
		Push: config.Push{
			Allow: []string{"10.20.0.0/16", "*.svc.example.internal", "hooks.example.internal:8443"}, RequireHTTPS: true,
			SigningSecrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
			Timeout:        config.Duration(15 * time.Second), MaxAge: config.Duration(24 * time.Hour), Concurrency: 256, PerEndpoint: 8,
		},
		Trust: config.Trust{
			File: "/etc/parley/agent-trust.json", Write: true, Summarizer: "upper", Refused: "completed", Unapproved: "observe", ApprovalTime: config.Duration(72 * time.Hour),
			NotifyURL: "https://chat.example/hooks/parley", NotifyCommand: config.Command{"notify-send", "Parley"}, NotifyEnv: map[string]string{"DISPLAY": ":0"},
		},
		FrontDesk: config.FrontDesk{Serve: true, Trust: "gated", Hours: "08:30-17:30", TimeZone: "Europe/Berlin"},
		Log:       config.Log{Level: "info", Format: "text"},
		Telemetry: config.Telemetry{Metrics: "admin"},
	}
	var callers []string
	for _, k := range got.Auth.Keys() {
		callers = append(callers, k.Principal.ID+" "+string(k.Principal.Owner()))
	}
	if diff := cmp.Diff([]string{"partner org:acme", "ops ops", "gateway local"}, callers); diff != "" {
		t.Errorf("callers of the example mismatch (-want +got):\n%s", diff)
	}
	got.Auth = config.Auth{} // keys are unexported
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(config.Agent{}, "Added")); diff != "" {
		t.Errorf("example mismatch (-want +got):\n%s", diff)
	}
}

func TestEmptyFiles(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "\n", "# nothing\n", "---\n", "{}\n", "agents:\nlog:\nlisten:\n", "null\n"} {
		c := parse(t, src)
		if diff := cmp.Diff(&config.Config{File: c.File, Directory: config.Directory{Added: config.Added{new(lists)}}}, c); diff != "" {
			t.Errorf("Parse(%q) mismatch (-want +got):\n%s", src, diff)
		}
		if !c.Builtin() {
			t.Errorf("Parse(%q) switches the built-in agents off", src)
		}
	}
}

func TestBuiltinCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	if parse(t, "agents_builtin: false").Builtin() {
		t.Error("the built-in agents are on")
	}
}

func TestProblemsNameFileLineAndKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src, want string
	}{
		{"unknown key", "listen: :1\nlimit:\n  body: 1\n", "parley.yaml:2: limit: unknown key; did you mean limits?"},
		{"other way of writing", "grpcListen: x", "parley.yaml:1: grpcListen: unknown key; did you mean grpc_listen?"},
		{"nothing like it", "\n\nkubernetes: x", "parley.yaml:3: kubernetes: unknown key"},
		{"unknown key inside", "agents:\n  - name: a\n    command: x\n    time_out: 5s\n", "parley.yaml:4: agents[0].time_out: unknown key; did you mean timeout?"},
		{"key of another section", "lease: 5s\n", "parley.yaml:1: lease: unknown key; did you mean bus.lease?"},
		{"key of two sections", "Retention: 3d\n", "parley.yaml:1: Retention: unknown key; did you mean engine.retention or memory.retention?"},
		{"key of an agent outside", "serial: true\n", "parley.yaml:1: serial: unknown key; did you mean agents[].serial?"},
		{"key of the file inside", "bus:\n  grpc_listen: :1\n", "parley.yaml:2: bus.grpc_listen: unknown key; did you mean grpc_listen?"},
		{"key of many sections", "name: x\n", "parley.yaml:1: name: unknown key"},
		{"missing command", "agents:\n- name: a\n  command: x\n\n- name: b\n  dir: y\n", "parley.yaml:5: agents[1].command: is required unless the agent has one of url, endpoint, model, queue and place (there is no built-in agent with this name)"},
		{"empty command", "agents:\n- name: a\n  command: []\n", "parley.yaml:3: agents[0].command: is required unless the agent has one of url, endpoint, model, queue and place (there is no built-in agent with this name)"},
		{"missing name", "agents:\n- command: x\n", "parley.yaml:2: agents[0].name: is missing"},
		{"bad name", "agents:\n- command: x\n  name: A.b\n", `parley.yaml:3: agents[0].name: invalid name "A.b": use at most 64 lowercase letters, digits and single dashes`},
		{"reserved name", "agents:\n- command: x\n  name: tasks\n", `parley.yaml:3: agents[0].name: "tasks" is reserved`},
		{"name twice", "agents:\n- {name: a, command: x}\n- {name: a, command: y}\n", `parley.yaml:3: agents[1].name: agents[0] also has the name "a"`},
		{"default agent", "default_agent: nobody", `parley.yaml:1: default_agent: unknown agent "nobody"`},
		{"default agent that is off", "agents_builtin: no\n", `parley.yaml:1: agents_builtin: "no" must be true or false`},
		{"builtin default that is off", "agents_builtin: false\ndefault_agent: echo\n", `parley.yaml:2: default_agent: unknown agent "echo"`},
		{"address of agents", "directory: {allow: ['http://x']}", `parley.yaml:1: directory.allow[0]: allow "http://x": a rule names a host, not a URL: omit the scheme and the path`},
		{"service twice", "mcp_services:\n- {id: a}\n- {id: a}\n", `parley.yaml:3: mcp_services[1].id: duplicate service "a"`},
		{"rule twice", "broker:\n  skills:\n  - {id: a, cooldown: 1s}\n  - {id: A, cooldown: 1s}\n", `parley.yaml:4: broker.skills[1].id: duplicate rule for the skill "A"`},
		{"key without cooldown", "broker: {skills: [{id: a, cooldown_key: x}]}", "parley.yaml:1: broker.skills[0].cooldown_key: has no effect without cooldown"},
		{"duration", "engine:\n  max_wait: 30\n", `parley.yaml:2: engine.max_wait: "30" is not a duration like 30s, 1h30m or 7d`},
		{"never", "engine:\n  max_wait: never\n", `parley.yaml:2: engine.max_wait: never is not allowed here`},
		{"size", "limits:\n  body: ten\n", `parley.yaml:2: limits.body: "ten" is not a size like 512KiB, 10MiB or 1GB`},
		{"number", "limits:\n  requests_per_second: .inf\n", `parley.yaml:2: limits.requests_per_second: ".inf" is not a number of at least 0`},
		{"burst of nothing", "limits:\n  burst: 5\n", `parley.yaml:2: limits.burst: has no effect without limits.requests_per_second`},
		{"interfaces that are not there", "cards: {interfaces: [REST]}", `parley.yaml:1: cards.interfaces[0]: unknown transport "REST"; must be HTTP+JSON, JSONRPC or GRPC`},
		{"an interface twice", "cards: {interfaces: [JSONRPC, JSONRPC]}", `parley.yaml:1: cards.interfaces[1]: JSONRPC appears twice`},
		{"an address of gRPC", "cards: {grpc_url: 'grpc://hub.example'}", `parley.yaml:1: cards.grpc_url: must be host:port, or begin with http:// or https://`},
		{"gRPC alone", "cards: {interfaces: [GRPC]}", `parley.yaml:1: cards.interfaces: cards also need HTTP+JSON or JSONRPC: not every agent can be reached over gRPC`},
		{"profile that is not there", "profile: third", `parley.yaml:1: profile: "third" is not one of other`},
		{"card token with a space", "extended_card:\n  token: s3cret and a good deal more\n", `parley.yaml:2: extended_card.token: has a character that a header cannot carry`},
		{"extended for nobody", "agents:\n- name: a\n  command: x\n  extended: {description: b}\n", `parley.yaml:4: agents[0].extended: no caller would see it: extended_card needs a token, or authenticated: true`},
		{"extended skill twice", "extended_card: {authenticated: true}\nagents:\n- name: a\n  command: x\n  extended:\n    skills: [{id: s}, {id: s}]\n", `parley.yaml:6: agents[0].extended.skills[1].id: duplicate skill "s"`},
		{"count", "limits: {streams: -1}\n", `parley.yaml:1: limits.streams: "-1" is not a whole number of at least 0`},
		{"choice", "log:\n  level: loud\n", `parley.yaml:2: log.level: "loud" is not one of debug, info, warn, error`},
		{"address", "listen: localhost\n", `parley.yaml:1: listen: "localhost" is not an address like 127.0.0.1:4100`},
		{"port", "grpc_listen: localhost:99999\n", `parley.yaml:1: grpc_listen: "localhost:99999" is not an address like 127.0.0.1:4100`},
		{"url", "public_url: hub.example\n", `parley.yaml:1: public_url: "hub.example" is not a URL like https://hub.example`},
		{"trace url", "telemetry: {trace_url: 'https://t.example/trace/'}\n", `parley.yaml:1: telemetry.trace_url: must contain {trace_id}, the place of the id`},
		{"trace script", "telemetry: {trace_url: 'javascript:x{trace_id}'}\n", `parley.yaml:1: telemetry.trace_url: "javascript:x{trace_id}" is not a URL like https://traces.example/trace/{trace_id}`},
		{"trace host", "telemetry: {trace_url: 'https://{trace_id}.example/'}\n", `parley.yaml:1: telemetry.trace_url: the host must not contain {trace_id}`},
		{"trace user", "telemetry: {trace_url: 'https://me:secret@t.example/{trace_id}'}\n", `parley.yaml:1: telemetry.trace_url: must have no user`},
		{"host with scheme", "allowed_hosts: [hub.example:8443, https://hub.example]\n", `parley.yaml:1: allowed_hosts[1]: "https://hub.example" is not a host like hub.example or hub.example:8443`},
		{"url with query", "public_url: https://hub.example/?a=b\n", `parley.yaml:1: public_url: the URL must have no user, query or fragment`},
		{"mode", "agents:\n- name: a\n  command: x\n  skills:\n  - id: s\n    inputModes: [text/plain, text]\n", `parley.yaml:6: agents[0].skills[0].inputModes[1]: "text" is not a media type like text/plain`},
		{"command twice", "agents:\n- name: a\n  command: x\n  skills:\n  - {id: s, command: y}\n", `parley.yaml:5: agents[0].skills[0].command: the agent has a command for all skills: set that one, or one for each skill`},
		{"skill without command", "agents:\n- name: a\n  skills:\n  - {id: s, command: y}\n  - {id: t}\n", `parley.yaml:5: agents[0].skills[1].command: is missing: other skills of the agent have a command of their own`},
		{"skill with an empty command", "agents:\n- name: a\n  skills:\n  - {id: s, command: [\"\", x]}\n", `parley.yaml:4: agents[0].skills[0].command: begins with an empty text instead of a program`},
		{"skill without id", "agents:\n- name: a\n  command: x\n  skills:\n  - name: s\n", `parley.yaml:5: agents[0].skills[0].id: is missing`},
		{"skill twice", "agents:\n- name: a\n  command: x\n  skills:\n  - id: s\n  - id: s\n", `parley.yaml:6: agents[0].skills[1].id: duplicate skill "s"`},
		{"variable name", "agents:\n- name: a\n  command: x\n  env: {A B: c}\n", `parley.yaml:4: agents[0].env: invalid variable name "A B"`},
		{"list for a value", "listen: [a]\n", "parley.yaml:1: listen: must be a single value, not a list"},
		{"value for a list", "agents: a\n", `parley.yaml:1: agents: must be a list, not "a"`},
		{"value for a mapping", "log: a\n", `parley.yaml:1: log: must be a mapping of keys to values, not "a"`},
		{"list at the top", "- a\n", "parley.yaml:1: must be a mapping of keys to values, not a list"},
		{"variable", "\nlisten: ${ADDR}\n", "parley.yaml:2: listen: variable ADDR is not set; write ${ADDR:-text} for a default, or $${ADDR} for the literal text"},
		{"second document", "listen: :1\n---\nlisten: :2\n", "parley.yaml:3: a file must hold one document; a second one begins here"},
		{"tag", "listen: !!binary aGk=\n", "parley.yaml:1: listen: tags are not used here; put a text that begins with ! in quotes"},
		{"unknown alias", "log: *x\n", "parley.yaml:1: there is no anchor &x"},
		{"merge of a value", "log:\n  <<: a\n", "parley.yaml:2: log: << must be followed by an alias"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("parley.yaml", []byte(tt.src), noVariables)
			var problems yamlfile.Errors
			if !errors.As(err, &problems) {
				t.Fatalf("Parse = %v, want problems", err)
			}
			if got := err.Error(); got != tt.want {
				t.Errorf("Parse =\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestSyntaxErrorsHaveALine(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"listen: :1\nlog: {level: info\n",
		"listen: :1\n\tlog: x\n",
		"listen: :1\nlisten: :2\n",
	} {
		_, err := config.Parse("parley.yaml", []byte(src), noVariables)
		var problems yamlfile.Errors
		if !errors.As(err, &problems) {
			t.Errorf("Parse(%q) = %v, want problems", src, err)
			continue
		}
		if p := problems[0]; p.Line == 0 || p.Problem == "" || strings.Contains(p.Problem, "\n") {
			t.Errorf("Parse(%q) = %q, want one line with its number", src, err)
		}
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("parley.yaml", []byte("a: 1\nlog: {level: x}\nb: 2\n"), noVariables)
	var problems yamlfile.Errors
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Errorf("Parse = %v, want three problems", err)
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	c := parse(t, `
agents:
  - &first
    name: a
    command: [x, &word y]
    timeout: 5s
    env: &env {A: "1"}
  - <<: *first
    name: b
    env: *env
    command: [*word]
`)
	want := []config.Agent{
		{Name: "a", Command: config.Command{"x", "y"}, Timeout: config.Duration(5 * time.Second), Env: map[string]string{"A": "1"}, Dir: "/etc/parley"},
		{Name: "b", Command: config.Command{"y"}, Timeout: config.Duration(5 * time.Second), Env: map[string]string{"A": "1"}, Dir: "/etc/parley"},
	}
	if diff := cmp.Diff(want, c.Agents, cmpopts.IgnoreFields(config.Agent{}, "Added")); diff != "" {
		t.Errorf("agents mismatch (-want +got):\n%s", diff)
	}
}

// Aliases of aliases must not make a small file large.
func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	src.WriteString("agents:\n- name: a\n  command: x\n  skills:\n  - id: s\n    tags: &l0 [a,a,a,a,a,a,a,a,a,a]\n")
	src.WriteString("- &a0 {name: b, command: x, inputModes: *l0}\n")
	for range 20_000 {
		src.WriteString("- *a0\n")
	}
	_, err := config.Parse("parley.yaml", []byte(src.String()), noVariables)
	if err == nil || !strings.Contains(err.Error(), "the file is too large") {
		t.Errorf("Parse = %.200v, want a refusal", err)
	}
}

func TestAliasOfItself(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("parley.yaml", []byte("log: &x\n  <<: *x\n  level: info\n"), noVariables)
	if err == nil || !strings.Contains(err.Error(), "refers to itself") {
		t.Errorf("Parse = %v, want a refusal", err)
	}
}

func TestInterpolationInValues(t *testing.T) {
	t.Parallel()
	src := `
listen: 127.0.0.1:${PORT}
trust_forwarded: ${TRUST}
limits: {body: "${SIZE}MiB", streams: "${EMPTY:-7}"}
agents:
  - name: a
    command: "echo $HOME $$$$ $${X} ${EVIL}"
    description: |
      two
      ${PORT}
`
	c, err := config.Parse("/etc/parley/parley.yaml", []byte(src), variables(map[string]string{
		"PORT": "80", "TRUST": "true", "SIZE": "2", "EMPTY": "", "EVIL": "a\nlog: {level: debug} # \"",
	}))
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	if c.Listen != "127.0.0.1:80" || !c.TrustForwarded || c.Limits.Body != 2<<20 || c.Limits.Streams != 7 {
		t.Errorf("Parse = %+v", c)
	}
	if got, want := c.Agents[0].Command[2], "echo $HOME $$ ${X} a\nlog: {level: debug} # \""; got != want {
		t.Errorf("command = %q, want %q", got, want)
	}
	if got, want := c.Agents[0].Description, "two\n80\n"; got != want {
		t.Errorf("description = %q, want %q", got, want)
	}
	if c.Log.Level != "" {
		t.Error("a variable has changed the structure of the file")
	}
}

func TestFind(t *testing.T) {
	// Not parallel: it changes the current folder.
	t.Chdir(t.TempDir())
	find := func(flag, want string) {
		t.Helper()
		if got, err := config.Find(flag, "data"); got != want || err != nil {
			t.Errorf("Find(%q) = %q, %v, want %q", flag, got, err, want)
		}
	}
	add := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find("", "")
	add("data/parley.yaml")
	find("", "data/parley.yaml")
	add("workspace/parley.yaml")
	find("", "workspace/parley.yaml")
	add("parley.yaml")
	find("", "parley.yaml")
	add("other.yaml")
	find("other.yaml", "other.yaml")
	if _, err := config.Find("missing.yaml", "data"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find(missing.yaml) = %v, want %v", err, fs.ErrNotExist)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.yaml")
	if err := os.WriteFile(path, []byte("data: ${CONFIG_TEST_DATA}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFIG_TEST_DATA", "here")
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "here"); c.Data != want || c.File != path {
		t.Errorf("Load = data %q of %q, want %q", c.Data, c.File, want)
	}
	if _, err := config.Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load(none) = %v, want %v", err, fs.ErrNotExist)
	}
}

func TestCard(t *testing.T) {
	t.Parallel()
	c := parse(t, `
agents:
  - {name: plain, command: cat}
  - name: full
    description: Does much.
    version: "3"
    command: cat
    inputModes: [image/png]
    outputModes: [text/html]
    skills:
      - id: one
      - {id: two, name: Two, description: The second., tags: [t], examples: [e], inputModes: [a/b], outputModes: [c/d]}
`)
	plain := []string{"text/plain"}
	want := []*a2a.AgentCard{
		{
			Name: "plain", Description: "The agent plain.", Version: "1.0.0", Capabilities: a2a.AgentCapabilities{Streaming: true},
			DefaultInputModes: plain, DefaultOutputModes: plain,
			Skills: []a2a.AgentSkill{{ID: "plain", Name: "plain", Description: "The agent plain.", Tags: []string{}}},
		},
		{
			Name: "full", Description: "Does much.", Version: "3", Capabilities: a2a.AgentCapabilities{Streaming: true},
			DefaultInputModes: []string{"image/png"}, DefaultOutputModes: []string{"text/html"},
			Skills: []a2a.AgentSkill{
				{ID: "one", Name: "one", Description: "Does much.", Tags: []string{}},
				{
					ID: "two", Name: "Two", Description: "The second.", Tags: []string{"t"}, Examples: []string{"e"},
					InputModes: []string{"a/b"}, OutputModes: []string{"c/d"},
				},
			},
		},
	}
	for i := range want {
		if diff := cmp.Diff(want[i], c.Agents[i].Card()); diff != "" {
			t.Errorf("card of %s mismatch (-want +got):\n%s", c.Agents[i].Name, diff)
		}
	}
}

func TestExecutor(t *testing.T) {
	t.Parallel()
	c := parse(t, `
agents:
  - name: a
    command: [prog, arg]
    dir: sub
    env: {B: "2", A: "1"}
    timeout: 1m
    grace: 2s
    max_output: 1KiB
    silence: never
    idempotent: true
    serial: true
`)
	got := c.Agents[0].Executor("/var/runs")
	if got.Dir != "/etc/parley/sub" || got.Runs != "/var/runs" || got.MaxOutput != 1024 ||
		got.Timeout != time.Minute || got.Grace != 2*time.Second || got.Silence >= 0 || got.AfterCrash != agent.Repeat || !got.Serial {
		t.Errorf("Executor = %+v", got)
	}
	if diff := cmp.Diff([]string{"prog", "arg"}, got.Command); diff != "" {
		t.Errorf("command mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A=1", "B=2"}, got.Env); diff != "" {
		t.Errorf("environment mismatch (-want +got):\n%s", diff)
	}
	var _ a2asrv.AgentExecutor = got
}
