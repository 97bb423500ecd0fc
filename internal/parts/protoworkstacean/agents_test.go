package protoworkstacean

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// credentials compares credentials, whose text forms hide them.
var credentials = cmp.Comparer(func(a, b directory.Credentials) bool { return a == b })

func env(name string) (string, bool) {
	v, ok := map[string]string{"QUINN_BASE_URL": "http://quinn:8080", "AVA_BASE_URL": "http://ava:3000"}[name]
	return v, ok
}

// read reads agents.yaml and returns the valid agents and the problems.
func read(src string) ([]directory.Spec, string) {
	d := yamlfile.New("dir/f.yaml", env)
	specs := parse(d, []byte(src))
	if d.Problems() == nil {
		return specs, ""
	}
	return specs, d.Problems().Error()
}

// The sample of protoWorkstacean's manual, and further keys that its loader reads.
func TestAgents(t *testing.T) {
	t.Parallel()
	got, problems := read(`
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
	got, problems := read("agents: [{name: a, url: http://a, omitContext: false}]")
	if problems != "" || len(got) != 1 || got[0].Call.OmitContext || !got[0].Call.ParamsContext {
		t.Errorf("problems %q, agents %+v", problems, got)
	}
}

func TestNegativePollingTime(t *testing.T) {
	t.Parallel()
	if got, problems := read("agents: [{name: a, url: http://a, pollInitialMs: -1}]"); len(got) != 0 || problems == "" {
		t.Errorf("a negative time: agents %+v, problems %q", got, problems)
	}
}

// Trust is an extension of Parley; an unknown level opens nothing.
func TestGated(t *testing.T) {
	t.Parallel()
	agents, problems := read(`
agents:
  - {name: all, url: http://a, trust: gated}
  - {name: some, url: http://a, skills: [show, {name: buy, trust: gated}, {name: look, trust: open}]}
  - {name: none, url: http://a, trust: open}
  - {name: typo, url: http://a, trust: gatd}
`)
	var got []string
	for _, s := range agents {
		got = append(got, fmt.Sprintf("%s %q %v", s.Name, s.Trust, s.GatedSkills))
	}
	want := []string{`all "gated" []`, `some "" [buy]`, `none "open" []`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if strings.Count(problems, "trust:") != 1 || !strings.Contains(problems, "is not one of open, gated") {
		t.Errorf("problems = %q", problems)
	}
}

// Problems are reported with file, line and key, and valid agents are loaded.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		src  string
		want string // the expected problems
		left string // the names of the valid agents
	}{
		{
			"a missing variable", "agents:\n  - name: a\n    url: ${NONE}/a2a\n  - {name: b, url: 'http://b'}\n",
			"dir/f.yaml:3: agents[0].url: variable NONE is not set; write ${NONE:-text} for a default, or $${NONE} for the literal text", "b",
		},
		{
			"a typo", "agents:\n- {name: a, url: 'http://a'}\n- name: b\n  ulr: http://b\n",
			"dir/f.yaml:4: agents[1].ulr: unknown key; did you mean url?", "a",
		},
		{
			"a name that appears twice", "agents:\n- {name: Ann, url: 'http://a'}\n- {name: ann, url: 'http://b'}\n",
			`dir/f.yaml:3: agents[1].name: agents[0] also has the name "ann"`, "ann",
		},
		{
			"no name and no url", "agents:\n- {url: 'http://a'}\n- {name: b}\n",
			"dir/f.yaml:2: agents[0].name: is missing\ndir/f.yaml:3: agents[1].url: is missing", "",
		},
		{
			"a URL of another kind", "agents:\n- {name: a, url: 'ftp://a'}\n- {name: b, url: 'http://u:p@b'}\n",
			"dir/f.yaml:2: agents[0].url: \"ftp://a\" is not a URL like https://agent.example\n" +
				"dir/f.yaml:3: agents[1].url: the URL has a user; credentials belong in auth", "",
		},
		{
			"credentials", "agents:\n- {name: a, url: 'http://a', auth: {scheme: hmac, credentialsEnv: X}}\n- {name: b, url: 'http://b', auth: {scheme: bearer}}\n",
			"dir/f.yaml:2: agents[0].auth.scheme: hmac is not supported; use apiKey or bearer\n" +
				"dir/f.yaml:3: agents[1].auth.credentialsEnv: is missing", "",
		},
		{
			"a skill that appears twice", "agents:\n- {name: a, url: 'http://a', skills: [x, {name: X}]}\n",
			`dir/f.yaml:2: agents[0].skills[1].id: duplicate skill "X"`, "",
		},
		{"no YAML", "agents:\n  - [\n", "dir/f.yaml:2: ", ""},
		{"a list at the top", "- name: a\n", "dir/f.yaml:1: must be a mapping of keys to values, not a list", ""},
	} {
		specs, problems := read(tt.src)
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
		"agents:\n- name: a\n  url: http://a\n  skills: [x, {name: y}]\n",
		"agents: [*a]", "- - -", "? [a]\n: b", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		specs, problems := read(string(src))
		for i := range specs {
			if err := specs[i].Check(); err != nil {
				t.Errorf("%q: %v", src, err)
			}
		}
		if problems != "" && !strings.Contains(problems, "dir/f.yaml") {
			t.Errorf("%q: problems %q do not name the file", src, problems)
		}
	})
}
