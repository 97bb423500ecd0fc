package config_test

import (
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

func TestRemote(t *testing.T) {
	t.Parallel()
	c := parse(t, `
agents:
  - {name: a, url: "https://a.example", timeout: 1m, idempotent: true}
  - name: b
    endpoint:
      backend: a2a
      base_url: https://b.example
      auth: {type: bearer, token: t}
      target: x
      timeout_ms: 1500
      options: {poll_interval_ms: 100, history_length: 0, follow_card: true, no_streaming: true}
  - {name: c, endpoint: {backend: a2a, base_url: "https://c.example", auth: {type: apiKey, token: k}}}
  - {name: d, endpoint: {backend: a2a, base_url: "https://d.example", auth: {type: header, name: X-D, token: v}}}
  - name: e
    endpoint:
      backend: a2a
      base_url: https://e.example
      auth: {type: oauth2, client_id: hub, client_secret: s, token_url: "https://id.example/token", scope: a2a read}
      tls: {cert: hub.pem, key: hub.key, ca: ca.pem}
`)
	a := c.Agents[0].Remote()
	if a.URL != "https://a.example" || a.Timeout != time.Minute || !a.Idempotent || a.ReturnImmediately || a.Unpinned || a.Credentials != nil {
		t.Errorf("a = %+v", a)
	}
	b := c.Agents[1].Remote()
	if b.URL != "https://b.example" || b.Target != "x" || b.Timeout != 1500*time.Millisecond || b.Poll != 100*time.Millisecond ||
		*b.HistoryLength != 0 || !b.ReturnImmediately || !b.Unpinned || !b.NoStreaming || b.Credentials.Bearer != "t" {
		t.Errorf("b = %+v", b)
	}
	if x := c.Agents[2].Remote().Credentials; x.APIKey != "k" {
		t.Error("the API key of c is lost")
	}
	if x := c.Agents[3].Remote().Credentials; x.HeaderName != "X-D" || x.HeaderValueBase64 != "dg==" {
		t.Error("the header of d is lost")
	}
	want := &transport.Credentials{
		OAuth2: &transport.ClientCredentials{TokenURL: "https://id.example/token", ClientID: "hub", ClientSecret: "s", Scopes: []string{"a2a", "read"}},
		TLS:    &transport.TLS{CertFile: "/etc/parley/hub.pem", KeyFile: "/etc/parley/hub.key", CAFile: "/etc/parley/ca.pem"},
	}
	if got := c.Agents[4].Remote().Credentials; !reflect.DeepEqual(got, want) {
		t.Error("the credentials of e are not those of the file")
	}
}

func TestEndpointProblems(t *testing.T) {
	t.Parallel()
	const missing = "is required unless the agent has one of url, endpoint, model, queue and place (there is no built-in agent with this name)"
	for _, tt := range []struct{ src, want string }{
		{"- name: clock\n  endpoint: {}\n  dir: x\n", "parley.yaml:4: agents[0].dir: is for programs, and this agent has no command"},
		{"- name: a\n", "parley.yaml:2: agents[0].command: " + missing},
		{"- name: a\n  url: x.example\n", `parley.yaml:3: agents[0].url: "x.example" is not a URL like https://hub.example`},
		{"- name: a\n  url: https://x.example\n  command: x\n", "parley.yaml:2: agents[0]: set only one of command, url, endpoint, model and place"},
		{"- name: a\n  url: https://x.example\n  env: {A: b}\n", "parley.yaml:4: agents[0].env: is for programs, and this agent has no command"},
		{"- name: a\n  endpoint:\n    backend: soap\n    base_url: https://x.example\n", `parley.yaml:4: agents[0].endpoint.backend: "soap" is not one of a2a`},
		{"- name: a\n  endpoint:\n    base_url: https://x.example\n", "parley.yaml:3: agents[0].endpoint.backend: is missing; must be a2a"},
		{"- name: a\n  endpoint:\n    backend: a2a\n", "parley.yaml:3: agents[0].endpoint.base_url: is missing"},
		{"- name: a\n  endpoint:\n    backend: a2a\n    base_ulr: x\n", "parley.yaml:5: agents[0].endpoint.base_ulr: unknown key; did you mean base_url?"},
		{
			"- name: a\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    auth: {type: bearer, token: '${SECRET_TOKEN}'}\n",
			"parley.yaml:6: agents[0].endpoint.auth.token: variable SECRET_TOKEN is not set; write ${SECRET_TOKEN:-text} for a default, or $${SECRET_TOKEN} for the literal text",
		},
		{"- name: a\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    auth: {token: t}\n", "parley.yaml:6: agents[0].endpoint.auth.type: is missing: bearer, apiKey, header or oauth2"},
		{"- name: a\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    auth: {type: header, token: t}\n", "parley.yaml:6: agents[0].endpoint.auth.name: is missing: the name of the header"},
		{"- name: a\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    auth: {type: oauth2, client_id: c}\n", "parley.yaml:6: agents[0].endpoint.auth.client_secret: is missing"},
		{"- name: a\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    auth: {type: bearer, token: t, scope: s}\n", "parley.yaml:6: agents[0].endpoint.auth.type: client_id, client_secret, token_url and scope are for oauth2"},
		{"- name: a\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    tls: {cert: c.pem}\n", "parley.yaml:6: agents[0].endpoint.tls: a certificate needs cert and key"},
		{"- name: a\n  timeout: 1m\n  endpoint:\n    backend: a2a\n    base_url: https://x.example\n    timeout_ms: 5\n", "parley.yaml:7: agents[0].endpoint.timeout_ms: the agent also has a timeout"},
	} {
		_, err := config.Parse("parley.yaml", []byte("agents:\n"+tt.src), noVariables)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q) =\n%v, want\n%s", tt.src, err, tt.want)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	own := &a2a.AgentCard{Name: "echo", Description: "d", Version: "1", DefaultInputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{{ID: "echo"}}}
	c := parse(t, "agents: [{name: echo, description: Says it again., skills: [{id: again}]}]")
	got := c.Agents[0].Over(own)
	want := *own
	want.Description, want.DefaultOutputModes = "Says it again.", []string{}
	want.Skills = []a2a.AgentSkill{{ID: "again", Name: "again", Description: "Says it again.", Tags: []string{}}}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("card mismatch (-want +got):\n%s", diff)
	}
	if !c.Agents[0].Bound() || own.Description != "d" {
		t.Error("the agent is not bound to the built-in one, or that is changed")
	}
}

// TestExampleElsewhere reads the sample of the README.
func TestExampleElsewhere(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../../examples/elsewhere/parley.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("parley.yaml", src, variables(map[string]string{"REVIEWER_TOKEN": "t0ken"}))
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	if r := c.Agents[1].Remote(); len(c.Agents) != 2 || r.Target != "reviewer" || r.Credentials.Bearer != "t0ken" {
		t.Errorf("Agents = %+v", c.Agents)
	}
}
