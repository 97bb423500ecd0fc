package config

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
)

// TestExamplesOfCallers loads each example of the page about callers, except those with keys of parts.
func TestExamplesOfCallers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "callers.md"))
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"ALICE_KEY": "0123456789abcdef", "LEDGER_SECRET": "s"}[name]
		return v, ok
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(examples) < 7 {
		t.Errorf("the page has %d examples", len(examples))
	}
	for _, e := range examples {
		if slices.ContainsFunc(slices.Collect(maps.Keys(registry.Known())), func(key string) bool { return strings.Contains(string(e[1]), "\n"+key+":") }) {
			continue // TestCallers of the part
		}
		c, err := Parse("parley.yaml", e[1], env)
		if err != nil {
			t.Errorf("%s\n%v", e[1], err)
			continue
		}
		if err := compiled(t).Validate(instance(t, e[1])); err != nil && !strings.Contains(string(e[1]), "${") {
			t.Errorf("%s\nthe schema: %v", e[1], err)
		}
		if _, err := c.Auth.Issuers(); err != nil {
			t.Errorf("%s\n%v", e[1], err)
		}
	}
}

const (
	hub   = "public_url: https://hub-a.example\nagents:\n- name: far\n"
	told  = hub + "  url: https://Hub-B.example:443/a2a/calendar\n  identity: {mode: assertion}\n"
	given = "token_url: https://id.example/t, client_id: c, client_secret: topsecret"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	asserter := new(token.Asserter)
	for src, want := range map[string]*tokenexchange.Policy{
		hub + "  url: https://b.example":                           nil,
		hub + "  url: https://b.example\n  identity: {mode: none}": nil,
		told: {Mode: tokenexchange.Assertion, Audience: "https://hub-b.example"},
		hub + "  command: [x]\n  identity: {mode: assertion}":             {Mode: tokenexchange.Assertion, Audience: "far"},
		hub + "  url: http://127.0.0.1:4100\n  identity: {mode: forward}": {Mode: tokenexchange.Forward},
		hub + "  url: https://b.example\n  identity: {mode: assertion, header: X-Caller, audience: b, claims: [org], anonymous: guest}": {
			Mode: tokenexchange.Assertion, Name: "X-Caller", Audience: "b", Claims: []string{"org"}, Anonymous: "guest",
		},
		hub + "  endpoint:\n    backend: a2a\n    base_url: https://b.example/x\n  identity: {mode: exchange, " + given + "}": {
			Mode: tokenexchange.Exchange, Exchanger: &tokenexchange.Exchanger{
				TokenURL: "https://id.example/t", ClientID: "c", ClientSecret: "topsecret", Audience: "https://b.example",
			},
		},
		hub + "  url: https://b.example\n  identity: {mode: exchange, resource: 'https://r.example', scope: a b, " + given + "}": {
			Mode: tokenexchange.Exchange, Exchanger: &tokenexchange.Exchanger{
				TokenURL: "https://id.example/t", ClientID: "c", ClientSecret: "topsecret", Resource: "https://r.example", Scope: "a b",
			},
		},
	} {
		c, err := Parse("parley.yaml", []byte(src), env)
		if err != nil {
			t.Errorf("%s\n%v", src, err)
			continue
		}
		got := c.Agents[0].AssertTo(asserter)
		if want != nil {
			want.Asserter = asserter
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(tokenexchange.Exchanger{}), cmp.Comparer(func(a, b *token.Asserter) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", src, diff)
		}
	}
}

func TestIdentityErrors(t *testing.T) {
	t.Parallel()
	far := hub + "  url: https://b.example\n  identity: "
	endpoint := hub + "  endpoint:\n    backend: a2a\n    base_url: https://b.example\n    auth: %s\n  identity: {mode: assertion%s}"
	with := func(auth, more string) string {
		return strings.Replace(strings.Replace(endpoint, "%s", auth, 1), "%s", more, 1)
	}
	for src, want := range map[string]string{
		far + "{mode: shout}":                                      "agents[0].identity.mode",
		far + "{claims: [org]}":                                    "agents[0].identity.mode: is missing",
		far + "{mode: assertion, claims: [password]}":              `agents[0].identity.claims: unknown claim "password"`,
		far + "{mode: assertion, token_url: 'https://id.example'}": "are for exchange",
		far + "{mode: assertion, header: Host}":                    "agents[0].identity.header: is Authorization, or a name like X-Caller",
		far + "{mode: assertion, header: X-Forwarded-For}":         "agents[0].identity.header",
		far + "{mode: assertion, header: \"X-A\\r\\nB\"}":          "agents[0].identity.header",
		far + "{mode: forward, claims: [org]}":                     "have no effect on a forwarded token",
		far + "{mode: exchange}":                                   "agents[0].identity.token_url: is missing",
		far + "{mode: exchange, token_url: 'http://id.example', client_id: c, client_secret: topsecret}":                            "agents[0].identity.token_url: must begin with https://",
		strings.Replace(told, "https://Hub-B", "http://Hub-B", 1):                                                                   "agents[0].identity.mode: assertion needs an address of the agent that begins with https://",
		strings.Replace(told, "https://hub-a", "http://hub-a", 1):                                                                   "needs a public_url that begins with https://",
		strings.Replace(told, "public_url: https://hub-a.example", "public_url: http://10.0.0.1", 1):                                "needs a public_url",
		hub + "  command: [x]\n  identity: {mode: forward}":                                                                         "a program gets an assertion",
		hub + "  queue: far\n  identity: {mode: assertion}":                                                                         "is for agents with a url, an endpoint or a command",
		with("{type: bearer, token: topsecret}", ""):                                                                                "Authorization is set by endpoint.auth",
		with("{type: apiKey, token: topsecret}", ""):                                                                                "Authorization is set by endpoint.auth",
		with("{type: header, name: x-caller, token: topsecret}", ", header: X-Caller"):                                              "X-Caller is set by endpoint.auth",
		"public_url: https://hub-a.example/\nauth:\n  tokens:\n  - name: me\n    issuer: https://hub-a.example\n    audiences: [x]": "auth.tokens[0].issuer: is this hub",
		"auth:\n  tokens:\n  - name: 'a:b'\n    issuer: https://id.example\n    audiences: [x]":                                     "auth.tokens[0].name: must not contain a colon",
	} {
		_, err := Parse("parley.yaml", []byte(src), env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want %q", src, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s\nthe error contains a secret: %v", src, err)
		}
	}
	c, err := Parse("parley.yaml", []byte(strings.Replace(told, "public_url: https://hub-a.example\n", "", 1)), env)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckIssuer(); err == nil || !strings.Contains(err.Error(), "agents[0].identity.mode: assertion needs a public_url") {
		t.Errorf("without a public_url: %v", err)
	}
	if c.PublicURL = "https://hub.example"; c.CheckIssuer() != nil {
		t.Errorf("with one of the command: %v", c.CheckIssuer())
	}
	if _, err := Parse("parley.yaml", []byte(with("{type: bearer, token: t}", ", header: X-Caller")), env); err != nil {
		t.Errorf("a header of its own: %v", err)
	}
}
