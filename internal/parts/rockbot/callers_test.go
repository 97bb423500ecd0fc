package rockbot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
	_ "github.com/parley-a2a/parley/internal/parts/rockbot"
)

// The section of RockBot's gateway, with the keys of its manual.
func TestCallers(t *testing.T) {
	t.Parallel()
	const src = `{"auth": {"min_key_length": 6}, "ApiKeys": {
  "my-key": {"AgentId": "bob", "DisplayName": "Bob"},
  "alice-calls-bob": {"AgentId": "alice", "dialect": "v1.0"}}}`
	c, err := config.Parse("parley.yaml", []byte(src), noVariables)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range c.Auth.Keys() {
		got = append(got, fmt.Sprint(k.Principal.ID, " ", k.Principal.DisplayName, " ", k.Hash == auth.HashKey("my-key")))
	}
	if diff := cmp.Diff([]string{"bob Bob true", "alice  false"}, got); diff != "" || !c.Auth.Asks() {
		t.Errorf("keys mismatch (-want +got):\n%s", diff)
	}
	no := false
	if none := (&config.Config{Cards: config.Cards{AllSkills: &no}, Auth: c.Auth}); !c.AllSkills() || none.AllSkills() || new(config.Config).AllSkills() {
		t.Error("the card has all skills where there are callers of RockBot, unless the file says otherwise")
	}
	if diff := cmp.Diff(map[string]string{"bob": "rockbot", "alice": "v1.0"}, c.Auth.Dialects()); diff != "" {
		t.Errorf("dialects mismatch (-want +got):\n%s", diff)
	}
}

// TestCallerErrors: messages name the position of every problem in the section, and never contain a key.
func TestCallerErrors(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"ApiKeys:\n  s3cret: {AgentId: a}": "parley.yaml:2: ApiKeys[0]: the key is shorter than 16 bytes",
		"ApiKeys:\n  s3cret0123456789: {AgentId: a}\nauth: {api_keys: {s3cret0123456789: {agent_id: b}}}": "ApiKeys[0]: is the same key as auth.api_keys[0]",
		"ApiKeys: [s3cret0123456789]":                               "ApiKeys: must be a mapping of keys to callers",
		"ApiKeys:\n  s3cret0123456789: {AgentId: a, Roles: [boss]}": "parley.yaml:2: ApiKeys[0].roles: unknown role \"boss\"",
	} {
		_, err := config.Parse("parley.yaml", []byte(src), noVariables)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
	}
}

// TestRunningCallers: the callers of a running hub are replaced by those of a changed file.
func TestRunningCallers(t *testing.T) {
	t.Parallel()
	parse := func(id string) *config.Config {
		c, err := config.Parse("parley.yaml", []byte("ApiKeys: {0123456789abcdef: {AgentId: "+id+"}}"), noVariables)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	running, changed := *parse("a"), parse("b")
	if diff := cmp.Diff([]string{"ApiKeys"}, config.Changed(&running, changed)); diff != "" {
		t.Errorf("changed keys (-want +got):\n%s", diff)
	}
	if keys := changed.Auth.CallerKeys(); !slices.Contains(keys, "ApiKeys") {
		t.Errorf("the keys of callers are %q", keys)
	}
	running.SetCallers(changed)
	if keys := config.Changed(&running, changed); len(keys) > 0 || running.Auth.Keys()[0].Principal.ID != "b" {
		t.Errorf("keys %q still differ", keys)
	}
}

func noVariables(string) (string, bool) { return "", false }
