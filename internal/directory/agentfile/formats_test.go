package agentfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/task"
)

// credentials compares credentials, whose text forms hide them.
var credentials = cmp.Comparer(func(a, b directory.Credentials) bool { return a == b })

func env(name string) (string, bool) {
	v, ok := map[string]string{"QUINN_BASE_URL": "http://quinn:8080", "AVA_BASE_URL": "http://ava:3000"}[name]
	return v, ok
}

func parse(p parser, src string) ([]directory.Spec, string) {
	d := yamlfile.New("dir/f.yaml", env)
	specs := p(d, []byte(src))
	if d.Problems() == nil {
		return specs, ""
	}
	return specs, d.Problems().Error()
}

// The sample of protoWorkstacean's manual, and further keys that its loader reads.
func TestAgents(t *testing.T) {
	t.Parallel()
	got, problems := parse(parseAgents, `
agents:
  - name: quinn
    url: "${QUINN_BASE_URL}/a2a"
    skills:
      - name: pr_review
        description: Review PRs and submit formal APPROVE/REQUEST_CHANGES
      - bug_triage
  - name: protoMaker Team
    url: "${AVA_BASE_URL}/a2a"
    apiKeyEnv: AVA_API_KEY
    streaming: false
    external: true
    pushNotifications: true
    timeoutMs: 60000
    pollInitialMs: 500
    pollMaxMs: 60000
    headers: {a2a-extensions: https://proto-labs.ai/a2a/ext/cost-v1}
    subscribesTo: [message.inbound.#]
    discordBotTokenEnvKey: X
  - {name: frank, url: https://frank.example, auth: {scheme: bearer, credentialsEnv: FRANK_TOKEN}}
  - {name: content, url: https://content.example, auth: {scheme: apiKey, credentialsEnv: CONTENT_KEY}}
`)
	no, yes := false, true
	want := []directory.Spec{
		{
			Name: "quinn", Title: "quinn", URL: "http://quinn:8080/a2a", Where: "f.yaml:3",
			Skills: []directory.Skill{{ID: "pr_review", Description: "Review PRs and submit formal APPROVE/REQUEST_CHANGES"}, {ID: "bug_triage"}},
			Call:   listedCall(directory.Call{}),
		},
		{
			Name: "protomaker-team", Title: "protoMaker Team", URL: "http://ava:3000/a2a", Where: "f.yaml:9", Streaming: &no,
			Call: listedCall(directory.Call{
				Credentials: directory.Credentials{APIKeyEnv: "AVA_API_KEY"}, External: true, Push: &yes, Timeout: time.Minute,
				PollInitial: 500 * time.Millisecond, PollMax: time.Minute,
				Header: map[string]string{"a2a-extensions": "https://proto-labs.ai/a2a/ext/cost-v1"},
			}),
		},
		{
			Name: "frank", Title: "frank", URL: "https://frank.example", Where: "f.yaml:21",
			Call: listedCall(directory.Call{Credentials: directory.Credentials{BearerEnv: "FRANK_TOKEN"}}),
		},
		{
			Name: "content", Title: "content", URL: "https://content.example", Where: "f.yaml:22",
			Call: listedCall(directory.Call{Credentials: directory.Credentials{APIKeyEnv: "CONTENT_KEY"}}),
		},
	}
	if diff := cmp.Diff(want, got, credentials); diff != "" || problems != "" {
		t.Errorf("problems %q, agents (-want +got):\n%s", problems, diff)
	}
}

// listedCall completes c with the defaults of agents.yaml: JSON-RPC of v0.3 at the URL alone if
// no card gives more, and no context id before the agent has assigned one.
func listedCall(c directory.Call) directory.Call {
	c.Binding, c.Version, c.Fixed = a2a.TransportProtocolJSONRPC, "0.3", true
	c.OmitContext, c.ParamsContext = true, true
	return c
}

func TestAgentsMaySendContexts(t *testing.T) {
	t.Parallel()
	got, problems := parse(parseAgents, "agents: [{name: a, url: http://a, omitContext: false}]")
	if problems != "" || len(got) != 1 || got[0].Call.OmitContext || !got[0].Call.ParamsContext {
		t.Errorf("problems %q, agents %+v", problems, got)
	}
}

// Polling intervals in each format.
func TestPollingTimes(t *testing.T) {
	t.Parallel()
	wrong := "[" + strings.Join([]string{
		`{"agentName":"A","url":"http://a","pollingInitialDelay":"soon"}`, `{"agentName":"B","url":"http://b","pollingMaxDelay":"00:00"}`,
		`{"agentName":"C","url":"http://c","pollingMaxDelay":"-2s"}`, `{"agentName":"D","url":"http://d","pollingInitialDelay":0}`,
	}, ",\n") + "]"
	if got, problems := parse(new(Options).parseWellKnown, wrong); len(got) != 0 || strings.Count(problems, "is not a time like 2s or 00:00:02") != 4 {
		t.Errorf("agents %v, problems %q", got, problems)
	}
	spec := `{"id":"a","endpoint":{"backend":"a2a","base_url":"https://a.example","options":{"poll_initial_ms":250,"poll_max_ms":4000}}}`
	got, problems := parse(new(Options).parseSpecs, spec)
	if problems != "" || len(got) != 1 || got[0].Call.PollInitial != 250*time.Millisecond || got[0].Call.PollMax != 4*time.Second {
		t.Errorf("agents %+v, problems %q", got, problems)
	}
	if got, problems := parse(parseAgents, "agents: [{name: a, url: http://a, pollInitialMs: -1}]"); len(got) != 0 || problems == "" {
		t.Errorf("a negative time: agents %+v, problems %q", got, problems)
	}
}

// The samples of RockBot's manual, and an agent with pinned skills.
func TestWellKnown(t *testing.T) {
	t.Parallel()
	got, problems := parse(new(Options).parseWellKnown, `[
  { "agentName": "ResearchAgent", "url": "http://researchagent:5100" },
  { "agentName": "Bob", "url": "http://gateway-bob:5200",
    "authHeaderName": "X-Api-Key", "authHeaderValueBase64": "YWxpY2UtY2FsbHMtYm9i" },
  { "agentName": "SampleAgent-Http", "url": "http://sampleagent-http:5100", "description": "A sample.", "version": "1.0", "protocolVersion": "1.0",
    "skills": [ { "id": "echo", "name": "Echo", "description": "Echoes.", "tags": ["t"], "examples": ["e"] } ] },
  { "agentName": "None", "url": "http://none:1", "skills": [] },
  { "agentName": "Slow", "url": "http://slow:1", "pollingInitialDelay": "00:00:00.5", "pollingMaxDelay": "1m" }
]`)
	known := directory.Call{Binding: a2a.TransportProtocolJSONRPC, Version: "0.3"}
	want := []directory.Spec{
		{Name: "researchagent", Title: "ResearchAgent", URL: "http://researchagent:5100", WellKnown: true, Where: "f.yaml:2", Call: known},
		{
			Name: "bob", Title: "Bob", URL: "http://gateway-bob:5200", WellKnown: true, Where: "f.yaml:3",
			Call: directory.Call{
				Credentials: directory.Credentials{HeaderName: "X-Api-Key", HeaderValue: "alice-calls-bob"},
				Binding:     a2a.TransportProtocolJSONRPC, Version: "0.3",
			},
		},
		{
			Name: "sampleagent-http", Title: "SampleAgent-Http", URL: "http://sampleagent-http:5100", WellKnown: true, Where: "f.yaml:5",
			Description: "A sample.", Version: "1.0", Pinned: true, Call: directory.Call{Binding: a2a.TransportProtocolJSONRPC, Version: "1.0"},
			Skills: []directory.Skill{{ID: "echo", Name: "Echo", Description: "Echoes.", Tags: []string{"t"}, Examples: []string{"e"}}},
		},
		{Name: "none", Title: "None", URL: "http://none:1", WellKnown: true, Pinned: true, Where: "f.yaml:7", Call: known},
		{
			Name: "slow", Title: "Slow", URL: "http://slow:1", WellKnown: true, Where: "f.yaml:8",
			Call: directory.Call{
				PollInitial: 500 * time.Millisecond, PollMax: time.Minute,
				Binding: a2a.TransportProtocolJSONRPC, Version: "0.3",
			},
		},
	}
	if diff := cmp.Diff(want, got, credentials, cmpopts.EquateEmpty()); diff != "" || problems != "" {
		t.Errorf("problems %q, agents (-want +got):\n%s", problems, diff)
	}
}

// Trust is an extension of Parley; an unknown level opens nothing.
func TestGated(t *testing.T) {
	t.Parallel()
	agents, problems := parse(parseAgents, `
agents:
  - {name: all, url: http://a, trust: gated}
  - {name: some, url: http://a, skills: [show, {name: buy, trust: gated}, {name: look, trust: open}]}
  - {name: none, url: http://a, trust: open}
  - {name: typo, url: http://a, trust: gatd}
`)
	known, more := parse(new(Options).parseWellKnown, `[
  {"agentName": "All", "url": "http://a", "trust": "gated"},
  {"agentName": "Some", "url": "http://a", "skills": [{"id": "show"}, {"id": "buy", "trust": "gated"}]},
  {"agentName": "Typo", "url": "http://a", "trust": 4} ]`)
	var got []string
	for _, s := range append(agents, known...) {
		got = append(got, fmt.Sprintf("%s %q %v", s.Name, s.Trust, s.GatedSkills))
	}
	want := []string{`all "gated" []`, `some "" [buy]`, `none "open" []`, `all "gated" []`, `some "" [buy]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	for _, text := range []string{problems, more} {
		if strings.Count(text, "trust:") != 1 || !strings.Contains(text, "is not one of open, gated") {
			t.Errorf("problems = %q", text)
		}
	}
}

// The sample of Awaken's manual; keys about models are ignored.
func TestSpecs(t *testing.T) {
	t.Parallel()
	remote := `{ "id": "remote-researcher", "endpoint": { "backend": "a2a", "base_url": "https://remote-agent.example.com/v1/a2a", "auth": { "type": "bearer", "token": "..." }, "target": "researcher", "timeout_ms": 300000, "options": { "poll_interval_ms": 1000 } }}`
	want := directory.Spec{
		Name: "remote-researcher", Title: "remote-researcher", URL: "https://remote-agent.example.com/v1/a2a",
		Call: directory.Call{
			Target: "researcher", Timeout: 5 * time.Minute, Poll: time.Second, ReturnImmediately: true,
			Credentials: directory.Credentials{Bearer: "..."},
			Binding:     a2a.TransportProtocolHTTPJSON, Version: "1.0", Fixed: true,
		},
	}
	for src, where := range map[string]string{
		remote:             "f.yaml",
		"[" + remote + `]`: "f.yaml:1",
	} {
		want.Where = where
		got, problems := parse(new(Options).parseSpecs, src)
		if diff := cmp.Diff([]directory.Spec{want}, got, credentials); diff != "" || problems != "" {
			t.Errorf("problems %q, agents (-want +got):\n%s", problems, diff)
		}
	}
}

// The options of a spec equal those of an endpoint in parley.yaml.
func TestSpecOptions(t *testing.T) {
	t.Parallel()
	spec := func(options string) string {
		return `{"id": "a", "model_id": "x", "endpoint": {"backend": "a2a", "base_url": "https://a.example", "options": {` + options + `}}}`
	}
	zero := 0
	for options, want := range map[string]directory.Spec{
		``: {Call: directory.Call{ReturnImmediately: true}},
		`"return_immediately": false, "history_length": 0`: {Call: directory.Call{HistoryLength: &zero}},
		`"no_streaming": true, "idempotent": true`:         {Streaming: new(bool), Call: directory.Call{ReturnImmediately: true, Idempotent: true}},
		`"follow_card": true, "poll_initial_ms": 5`:        {Call: directory.Call{ReturnImmediately: true, FollowCard: true, PollInitial: 5 * time.Millisecond}},
		`"poll_interval_ms": 7, "poll_max_ms": 9`:          {Call: directory.Call{ReturnImmediately: true, Poll: 7 * time.Millisecond, PollMax: 9 * time.Millisecond}},
	} {
		want.Name, want.Title, want.URL, want.Where = "a", "a", "https://a.example", "f.yaml"
		want.Call.Binding, want.Call.Version, want.Call.Fixed = a2a.TransportProtocolHTTPJSON, "1.0", true
		got, problems := parse(new(Options).parseSpecs, spec(options))
		if diff := cmp.Diff([]directory.Spec{want}, got, credentials); diff != "" || problems != "" {
			t.Errorf("%s: problems %q, agents (-want +got):\n%s", options, problems, diff)
		}
	}
}

// A spec with neither endpoint nor model is reported, and the others are loaded.
func TestSpecWithoutEndpointAndModel(t *testing.T) {
	t.Parallel()
	got, problems := parse(new(Options).parseSpecs, `[{"id": "local", "system_prompt": "You are …"},
{"id": "far", "endpoint": {"backend": "a2a", "base_url": "https://a.example"}}]`)
	if len(got) != 1 || got[0].Name != "far" {
		t.Errorf("agents = %+v, want far alone", got)
	}
	want := "dir/f.yaml:1: [0].model_id: is missing, and so is endpoint: an agent without an endpoint runs here, and needs a model"
	if problems != want {
		t.Errorf("problems %q, want %q", problems, want)
	}
}

// Problems are reported with file, line and key, and valid agents are loaded.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		p    parser
		src  string
		want string // the expected problems
		left string // the names of the valid agents
	}{
		{
			"a missing variable", parseAgents, "agents:\n  - name: a\n    url: ${NONE}/a2a\n  - {name: b, url: 'http://b'}\n",
			"dir/f.yaml:3: agents[0].url: variable NONE is not set; write ${NONE:-text} to take a text instead, or $${NONE} to mean just that", "b",
		},
		{
			"a typo", parseAgents, "agents:\n- {name: a, url: 'http://a'}\n- name: b\n  ulr: http://b\n",
			"dir/f.yaml:4: agents[1].ulr: there is no such key; did you mean url?", "a",
		},
		{
			"a name that is there twice", parseAgents, "agents:\n- {name: Ann, url: 'http://a'}\n- {name: ann, url: 'http://b'}\n",
			`dir/f.yaml:3: agents[1].name: agents[0] has the name "ann", too`, "ann",
		},
		{
			"no name and no url", parseAgents, "agents:\n- {url: 'http://a'}\n- {name: b}\n",
			"dir/f.yaml:2: agents[0].name: is missing\ndir/f.yaml:3: agents[1].url: is missing", "",
		},
		{
			"a URL of another kind", parseAgents, "agents:\n- {name: a, url: 'ftp://a'}\n- {name: b, url: 'http://u:p@b'}\n",
			"dir/f.yaml:2: agents[0].url: \"ftp://a\" is not a URL like https://agent.example\n" +
				"dir/f.yaml:3: agents[1].url: the URL has a user; credentials belong in auth", "",
		},
		{
			"credentials", parseAgents, "agents:\n- {name: a, url: 'http://a', auth: {scheme: hmac, credentialsEnv: X}}\n- {name: b, url: 'http://b', auth: {scheme: bearer}}\n",
			"dir/f.yaml:2: agents[0].auth.scheme: hmac is not there; take apiKey or bearer\n" +
				"dir/f.yaml:3: agents[1].auth.credentialsEnv: is missing", "",
		},
		{
			"a skill that is there twice", parseAgents, "agents:\n- {name: a, url: 'http://a', skills: [x, {name: X}]}\n",
			`dir/f.yaml:2: agents[0].skills[1].id: the agent has another skill "X"`, "",
		},
		{"no YAML", parseAgents, "agents:\n  - [\n", "dir/f.yaml:2: ", ""},
		{"a list at the top", parseAgents, "- name: a\n", "dir/f.yaml:1: must be a mapping of keys to values, not a list", ""},
		{
			"no base64", new(Options).parseWellKnown, `[{"agentName": "a", "url": "http://a", "authHeaderName": "K", "authHeaderValueBase64": "%"}]`,
			"dir/f.yaml:1: [0].authHeaderValueBase64: is not base64", "",
		},
		{
			"no name", new(Options).parseWellKnown, `[{"agentName": "", "url": "http://a"}, {"agentName": "b", "url": "http://b"}]`,
			"dir/f.yaml:1: [0].agentName: is missing", "b",
		},
		{
			"a header without a value", new(Options).parseWellKnown, `[{"agentName": "a", "url": "http://a", "authHeaderName": "K"}]`,
			"dir/f.yaml:1: [0].credentials: a header needs a name and a value", "",
		},
		{
			"another backend", new(Options).parseSpecs, `{"id": "a", "endpoint": {"backend": "grpc", "base_url": "http://a"}}`,
			`dir/f.yaml:1: endpoint.backend: "grpc" is not there; there is a2a`, "",
		},
		{
			"a slip of the pen", new(Options).parseSpecs, `{"id": "a", "endpiont": {"backend": "a2a"}}`,
			"dir/f.yaml:1: endpiont: there is no such key; did you mean endpoint?", "",
		},
		{"no address", new(Options).parseSpecs, "id: a\nendpoint:\n  backend: a2a\n", "dir/f.yaml:2: endpoint.base_url: is missing", ""},
		{
			"no token", new(Options).parseSpecs, `{"id": "a", "endpoint": {"backend": "a2a", "base_url": "http://a", "auth": {"type": "bearer"}}}`,
			"dir/f.yaml:1: endpoint.auth: has neither token nor token_env", "",
		},
	} {
		specs, problems := parse(tt.p, tt.src)
		if tt.name == "no YAML" && strings.HasPrefix(problems, tt.want) {
			problems = tt.want
		}
		if problems != tt.want {
			t.Errorf("%s: problems\n%s\nwant\n%s", tt.name, problems, tt.want)
		}
		var names []string
		for _, s := range specs {
			names = append(names, string(s.Name))
		}
		if got := strings.Join(names, " "); got != tt.left {
			t.Errorf("%s: the agents that are right are %q, want %q", tt.name, got, tt.left)
		}
	}
}

// No file makes a parser panic. Every returned agent is valid, and each problem names the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"agents:\n- name: a\n  url: http://a\n  skills: [x, {name: y}]\n", `[{"agentName": "a", "url": "http://a"}]`,
		`{"id": "a", "endpoint": {"backend": "a2a", "base_url": "http://a"}}`, "agents: [*a]", "- - -", "? [a]\n: b", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, p := range []parser{parseAgents, new(Options).parseWellKnown, new(Options).parseSpecs} {
			specs, problems := parse(p, string(src))
			for i := range specs {
				if err := specs[i].Check(); err != nil {
					t.Errorf("%q: %v", src, err)
				}
			}
			for line := range strings.Lines(problems) {
				if problems != "" && !strings.Contains(problems, "dir/f.yaml") {
					t.Errorf("%q: problem %q does not name the file", src, line)
				}
			}
		}
	})
}

// A spec with a model and without an endpoint is an agent of the hub.
func TestModelSpecs(t *testing.T) {
	t.Parallel()
	extensions := []a2a.AgentExtension{{URI: "urn:cost"}}
	places := &Options{ModelExtensions: extensions}
	got, problems := parse(places.parseSpecs, `
- id: Planner
  description: Plans.
  model_id: gpt-x
  system_prompt: You plan.
  max_rounds: 4
  plugin_ids: [a]
  allowed_tools: [look]
  allowed_tool_patterns: ["agent_run_*"]
  excluded_tools: [pay]
  guard: refuse
  delegates: [Weather Man, echo]
  sections: {a: b}
`)
	want := []directory.Spec{{
		Name: "planner", Title: "Planner", Description: "Plans.", Pinned: true, Where: "f.yaml:2",
		Skills:     []directory.Skill{{ID: "planner", Name: "Planner", Description: "Plans."}},
		Extensions: extensions,
		Model: &directory.Model{
			ID: "gpt-x", SystemPrompt: "You plan.", MaxRounds: 4,
			Allowed: []string{"look", "agent_run_*"}, Excluded: []string{"pay"}, Guard: "refuse", Delegates: []task.Agent{"weather-man", "echo"},
		},
	}}
	if diff := cmp.Diff(want, got, credentials); diff != "" || problems != "" {
		t.Errorf("problems %q, agents (-want +got):\n%s", problems, diff)
	}
	if _, problems := parse(new(Options).parseSpecs, "{id: a, model_id: b, max_rounds: -1}"); !strings.Contains(problems, `max_rounds: "-1" is not`) {
		t.Errorf("problems %q, want one about max_rounds", problems)
	}
}
