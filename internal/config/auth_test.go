package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
)

// secret is a key that no message may contain.
const secret = "s3cret0123456789"

func env(name string) (string, bool) {
	v, ok := map[string]string{"KEY": secret, "SHORT": "s3cret", "EMPTY": ""}[name]
	return v, ok
}

func TestKeys(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("the key of ops, which is not here"))
	src := fmt.Sprintf(`
auth:
  roles: [ops]
  api_keys:
    ${KEY}: {agent_id: partner, display_name: Partner, roles: [admin, ops], owner: acme}
    in-${KEY}: &other {AgentId: other, DisplayName: "${KEY:-x} in a value"}
    sha256:%x: {agentId: ops}
    "12345678901234567": *other
    1234567890123456: {agent_id: digits}
  bearer_tokens:
    $${KEY}-of-dollar: {agent_id: dollar, owner: local}
`, sum)
	c, err := Parse("parley.yaml", []byte(src), env)
	if err != nil {
		t.Fatal(err)
	}
	key := func(text string, p auth.Principal) auth.Key {
		k, err := auth.ConfiguredKey(text, p)
		if err != nil {
			t.Fatal(err)
		}
		return *k
	}
	other := auth.Principal{ID: "other", DisplayName: secret + " in a value"}
	want := []auth.Key{
		key(secret, auth.Principal{ID: "partner", DisplayName: "Partner", Org: "acme", Roles: []string{"admin", "ops"}}),
		key("in-"+secret, other),
		key("sha256:"+hex.EncodeToString(sum[:]), auth.Principal{ID: "ops"}),
		key("12345678901234567", other),
		key("1234567890123456", auth.Principal{ID: "digits"}),
		key("${KEY}-of-dollar", auth.Principal{ID: "dollar", Org: "local"}),
	}
	if diff := cmp.Diff(want, c.Auth.Keys()); diff != "" {
		t.Errorf("keys mismatch (-want +got):\n%s", diff)
	}
}

// TestKnownRoles checks that keys may have the roles of the policy, of issuers of tokens and of
// certificates.
func TestKnownRoles(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(rules, []byte("rules: [{allow: send, roles: [clerk, 'team-*']}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for src, roles := range map[string]string{
		"":                 "admin, 'bus:a'",
		"policy: " + rules: "clerk, team-a",
		"policy: {rules: [{deny: send, roles: guest}, {allow: send, who: anybody}]}": "guest",
	} {
		for role := range strings.SplitSeq(roles, ", ") {
			_, err := Parse("parley.yaml", []byte(src+"\nauth: {api_keys: {"+secret+": {agent_id: a, roles: ["+role+"]}}}"), env)
			if err != nil {
				t.Errorf("role %s with %q: %v", role, src, err)
			}
		}
	}
}

// Messages name the position of every problem and never contain a key.
func TestKeyErrors(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"auth:\n  api_keys:\n    ${KEY}: {}":                                                                       "parley.yaml:3: auth.api_keys[0]: the id of the caller is missing",
		"auth:\n  api_keys:\n    ${KEY}: {agent_id: local}":                                                        "parley.yaml:3: auth.api_keys[0]: the id \"local\"",
		"auth:\n  api_keys:\n    s3cret: {agent_id: a}":                                                            "parley.yaml:3: auth.api_keys[0]: the key is shorter than 16 bytes; auth.min_key_length says",
		"auth:\n  min_key_length: 7\n  api_keys:\n    s3cret: {agent_id: a}":                                       "auth.api_keys[0]: the key is shorter than 7 bytes",
		"auth:\n  api_keys:\n    ${SHORT}: {agent_id: a}":                                                          "auth.api_keys[0]: the key is shorter",
		"auth:\n  api_keys:\n    ${EMPTY}: {agent_id: a}":                                                          "auth.api_keys[0]: the key is shorter",
		"auth:\n  api_keys:\n    ${UNSET}: {agent_id: a}":                                                          "parley.yaml:3: auth.api_keys[0]: variable UNSET is not set",
		"auth:\n  api_keys:\n    s3cret0123${456789: {agent_id: a}":                                                "auth.api_keys[0]: the key has a ${…} that cannot be put in",
		"auth:\n  api_keys:\n    ${s3cret 0123456789}: {agent_id: a}":                                              "auth.api_keys[0]: the key has a ${…} that cannot be put in",
		"auth:\n  api_keys:\n    s3cret 0123456789: {agent_id: a}":                                                 "auth.api_keys[0]: the key has a character",
		"auth:\n  api_keys:\n    sha256:s3cret: {agent_id: a}":                                                     "auth.api_keys[0]: sha256: must be followed by 64",
		"auth:\n  api_keys: s3cret0123456789":                                                                      "parley.yaml:2: auth.api_keys: must be a mapping of keys to callers",
		"auth:\n  api_keys: [s3cret0123456789]":                                                                    "auth.api_keys: must be a mapping of keys to callers",
		"auth:\n  api_keys: {partner: s3cret0123456789}":                                                           "auth.api_keys[0]: a caller needs agent_id",
		"auth:\n  api_keys: {partner: [s3cret0123456789]}":                                                         "auth.api_keys[0]: a caller needs agent_id",
		"auth:\n  api_keys: {partner: {s3cret0123456789: x}}":                                                      "auth.api_keys[0]: a key, which is not shown because it may be a secret, is not known here",
		"auth:\n  api_keys: {s3cret0123456789: {agent_id: a, rolez: [x]}}":                                         "auth.api_keys[0]: the key \"rolez\" is not known here",
		"auth:\n  api_keys: {s3cret0123456789: }":                                                                  "auth.api_keys[0]: a caller needs agent_id",
		"auth:\n  api_keys:\n    s3cret0123456789: {agent_id: a}\n    s3cret0123456789: {agent_id: b}":             "parley.yaml:4: auth.api_keys[1]: is the same key as auth.api_keys[0]",
		"auth:\n  api_keys:\n    s3cret0123456789: {agent_id: a}\n    ${KEY}: {agent_id: b}":                       "parley.yaml:4: auth.api_keys[1]: is the same key as auth.api_keys[0]",
		"auth:\n  api_keys: {s3cret0123456789: {agent_id: a}}\n  bearer_tokens: {s3cret0123456789: {agent_id: a}}": "parley.yaml:3: auth.bearer_tokens[0]: is the same key as auth.api_keys[0]",
		"auth:\n  api_keys: {s3cret0123456789: {agent_id: a, agentId: b}}":                                         "auth.api_keys[0].agent_id: appears twice",
		"auth:\n  api_keys: {s3cret0123456789: {agent_id: [a]}}":                                                   "auth.api_keys[0].agent_id: must be a single value",
		"auth:\n  api_keys: {s3cret0123456789: {agent_id: a, roles: admin}}":                                       "auth.api_keys[0].roles: must be a list",
		"auth:\n  api_keys: {s3cret0123456789: {agent_id: a, roles: ['']}}":                                        "auth.api_keys[0]: a role is empty",
		"auth:\n  api_keys: {s3cret0123456789: *nobody}":                                                           "there is no anchor &nobody",
		"auth:\n  api_keys:\n    !s3cret0123456789: {agent_id: a}":                                                 "auth.api_keys: tags are not used here",
		"auth:\n  api_keys:\n    s3cret0123456789\n    x: {agent_id: a}":                                           "parley.yaml:3: ",
		"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2":                                                                 "parley.yaml:2: listen: appears twice",

		"auth:\n  api_keys:\n    s3cret0123456789: {agent_id: a}\n    ${KEY}:\n      agent_id: b\n      roles: [amdin]":                         "parley.yaml:6: auth.api_keys[1].roles: unknown role \"amdin\"; the roles are admin; ",
		"auth:\n  roles: [ops]\n  bearer_tokens: {s3cret0123456789: {agent_id: a, roles: [admin, ops, op]}}":                                    "parley.yaml:3: auth.bearer_tokens[0].roles: unknown role \"op\"; the roles are admin, ops; ",
		"policy: {rules: [{allow: send, roles: [clerk, 'team-*', '*']}]}\nauth:\n  api_keys: {s3cret0123456789: {agent_id: a, roles: [clark]}}": "parley.yaml:3: auth.api_keys[0].roles: unknown role \"clark\"; the roles are admin, clerk, team-*; ",
		"auth:\n  roles: ['']":      "auth.roles[0]: invalid role \"\"",
		"auth:\n  roles: ['bus:a']": "auth.roles[0]: invalid role \"bus:a\"",
	} {
		_, err := Parse("parley.yaml", []byte(src), env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %q contains the key", src, err)
		}
	}
}
