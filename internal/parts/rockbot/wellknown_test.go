package rockbot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// credentials compares credentials, whose text forms hide them.
var credentials = cmp.Comparer(func(a, b directory.Credentials) bool { return a == b })

func parse(p agentfile.Parser, src string) ([]directory.Spec, string) {
	d := yamlfile.New("dir/f.yaml", func(string) (string, bool) { return "", false })
	specs := p(d, []byte(src))
	if d.Problems() == nil {
		return specs, ""
	}
	return specs, d.Problems().Error()
}

// list is the parser of the list, for a hub without the exchange.
func list(d *yamlfile.Decoder, src []byte) []directory.Spec {
	return parseWellKnown(new(agentfile.Options), d, src)
}

// Polling intervals in each format.
func TestPollingTimes(t *testing.T) {
	t.Parallel()
	wrong := "[" + strings.Join([]string{
		`{"agentName":"A","url":"http://a","pollingInitialDelay":"soon"}`, `{"agentName":"B","url":"http://b","pollingMaxDelay":"00:00"}`,
		`{"agentName":"C","url":"http://c","pollingMaxDelay":"-2s"}`, `{"agentName":"D","url":"http://d","pollingInitialDelay":0}`,
	}, ",\n") + "]"
	if got, problems := parse(list, wrong); len(got) != 0 || strings.Count(problems, "is not a time like 2s or 00:00:02") != 4 {
		t.Errorf("agents %v, problems %q", got, problems)
	}
}

// The samples of RockBot's manual, and an agent with pinned skills.
func TestWellKnown(t *testing.T) {
	t.Parallel()
	got, problems := parse(list, `[
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
	agents, problems := parse(list, `[
  {"agentName": "All", "url": "http://a", "trust": "gated"},
  {"agentName": "Some", "url": "http://a", "skills": [{"id": "show"}, {"id": "buy", "trust": "gated"}]},
  {"agentName": "Typo", "url": "http://a", "trust": 4} ]`)
	var got []string
	for _, s := range agents {
		got = append(got, fmt.Sprintf("%s %q %v", s.Name, s.Trust, s.GatedSkills))
	}
	if diff := cmp.Diff([]string{`all "gated" []`, `some "" [buy]`}, got); diff != "" {
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
		p    agentfile.Parser
		src  string
		want string // the expected problems
		left string // the names of the valid agents
	}{
		{
			"no base64", list, `[{"agentName": "a", "url": "http://a", "authHeaderName": "K", "authHeaderValueBase64": "%"}]`,
			"dir/f.yaml:1: [0].authHeaderValueBase64: is not base64", "",
		},
		{
			"no name", list, `[{"agentName": "", "url": "http://a"}, {"agentName": "b", "url": "http://b"}]`,
			"dir/f.yaml:1: [0].agentName: is missing", "b",
		},
		{
			"a header without a value", list, `[{"agentName": "a", "url": "http://a", "authHeaderName": "K"}]`,
			"dir/f.yaml:1: [0].credentials: a header needs a name and a value", "",
		},
	} {
		specs, problems := parse(tt.p, tt.src)
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
		`[{"agentName": "a", "url": "http://a"}]`,
		"agents: [*a]", "- - -", "? [a]\n: b", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		specs, problems := parse(list, string(src))
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
