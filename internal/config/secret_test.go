package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSecretsFromFiles reads secrets of each kind of field from files.
func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "run/partner", "key-of-the-partner-1\n")
	put(t, dir, "run/token", "token of ${HOME}\r\n")
	put(t, dir, "run/bus", "pass$$word")
	if err := os.Symlink("token", filepath.Join(dir, "run", "link")); err != nil {
		t.Fatal(err)
	}
	c, err := Parse(filepath.Join(dir, "parley.yaml"), []byte(`
auth: {api_keys: {"${file:run/partner}": {agent_id: partner}}}
bus: {url: "amqp://hub:${file:run/bus}@broker.example/x"}
model_providers: [{name: m, api_key: "${file:run/link}"}]
agents:
  - name: a
    endpoint: {backend: a2a, base_url: "https://a.example", auth: {type: bearer, token: "${file:run/token}"}}
mcp_servers: [{name: s, url: "https://s.example", headers: {Authorization: "Bearer ${file:`+filepath.Join(dir, "run", "token")+`}"}}]
`), env)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{
		c.Auth.APIKeys[0].key, c.Bus.URL, c.ModelProviders[0].APIKey, c.Agents[0].Endpoint.Auth.Token, c.MCPServers[0].Headers["Authorization"],
	}
	want := []string{
		"key-of-the-partner-1", "amqp://hub:pass$$word@broker.example/x", "token of ${HOME}", "token of ${HOME}", "Bearer token of ${HOME}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if len(c.SecretFiles) != 4 { // the link counts for itself
		t.Errorf("files with secrets: %v", c.SecretFiles)
	}
	if c.HoldsSecrets() {
		t.Error("the configuration is said to hold secrets that stand elsewhere")
	}
}

func TestHoldsSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for src, want := range map[string]bool{
		"listen: 127.0.0.1:1": false,
		"auth: {api_keys: {key-of-the-partner-1: {agent_id: a}}}":                                                                    true,
		"model_providers: [{name: m, api_key: s3cret}]":                                                                              true,
		"bus: {url: \"amqp://hub:s3cret@broker.example/x\"}":                                                                         true,
		"bus: {url: \"amqp://hub@broker.example/x\"}":                                                                                false,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: \"https://a.example\", auth: {type: bearer, token: s3cret}}}]":        true,
		"agents: [{name: a, endpoint: {backend: a2a, base_url: \"https://a.example\", auth: {type: bearer, token: \"${HIDDEN}\"}}}]": false,
	} {
		path := put(t, dir, "parley.yaml", src)
		c, err := Parse(path, []byte(src), func(name string) (string, bool) { return "from-elsewhere", name == "HIDDEN" })
		if err != nil {
			t.Fatal(err)
		}
		if got := c.HoldsSecrets(); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}

// TestSecretFileErrors: errors name key, line and file, and contain nothing of a file's
// content.
func TestSecretFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "empty", "\n")
	put(t, dir, "binary", "s3cret\x00")
	put(t, dir, "latin", "s3cret\xff")
	put(t, dir, "large", strings.Repeat("s3cret", 20_000))
	put(t, dir, "short", "s3cret")
	for src, want := range map[string]string{
		"extended_card: {token: \"${file:none}\"}":                                                   "parley.yaml:1: extended_card.token: file none: no such file",
		"extended_card: {token: \"${file:empty}\"}":                                                  "file empty: is empty",
		"extended_card: {token: \"${file:binary}\"}":                                                 "file binary: is not text",
		"extended_card: {token: \"${file:latin}\"}":                                                  "file latin: is not text",
		"extended_card: {token: \"${file:large}\"}":                                                  "file large: has 120000 bytes",
		"extended_card: {token: \"${file:.}\"}":                                                      "file .: is not a regular file",
		"extended_card: {token: \"${file:}\"}":                                                       "names no file",
		"auth: {api_keys: {\"${file:none}\": {agent_id: a}}}":                                        "auth.api_keys[0]: file none: no such file",
		"auth: {api_keys: {\"${file:short}\": {agent_id: a}}}":                                       "auth.api_keys[0]: the key is shorter than 16 bytes",
		"auth: {api_keys: {\"s3cret${file:none}\": {agent_id: a}}}":                                  "auth.api_keys[0]: the key has a ${…} that cannot be put in",
		"auth: {api_keys: {\"${file:short:-s3cret-s3cret\": {agent_id: a}}}":                         "the key has a ${…} that cannot be put in",
		"push: {signing_secrets: [\"${file:short}\"]}":                                               "push.signing_secrets[0]: ",
		"bus: {url: \"amqp:/${file:short}\"}":                                                        "bus.url: ",
		"agents: [{name: a, endpoint: {backend: a2a, base_url: \"https://u:s3cret%zz@a.example\"}}]": "agents[0].endpoint.base_url: ",
		"agents: [{name: a, url: \"https://u:s3cret@a.example\"}]":                                   "agents[0].url: ",
	} {
		_, err := Parse(filepath.Join(dir, "parley.yaml"), []byte(src), env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error contains the secret: %v", src, err)
		}
	}
}
