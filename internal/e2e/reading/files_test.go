package reading_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/policyfile"
	"github.com/parley-a2a/parley/internal/llm/scripted"
	"github.com/parley-a2a/parley/internal/mock"
	"github.com/parley-a2a/parley/internal/secret/signature"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
	"github.com/parley-a2a/parley/internal/trust"
)

// TestEveryValueInFiles reads files with every JSON value in the place of every member; JSON is YAML. Each file
// is read, or refused with an error that names it or the member.
func TestEveryValueInFiles(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	for name, f := range map[string]struct {
		sample string
		read   func(src []byte) error
	}{
		"parley.yaml": {`{"listen":"127.0.0.1:0","auth":{"api_keys":{"key-0123456789abcdef":{"agent_id":"a","roles":["admin"],"owner":"o"}}},"cards":{"provider":{"organization":"o","url":"https://o.example"},"interfaces":["JSONRPC"]},` +
			`"agents":[{"name":"a","description":"d","command":["cat"],"skills":[{"id":"s","name":"s","tags":["t"]}],"env":{"K":"v"}},{"name":"b","url":"http://127.0.0.1:1"}],` +
			`"model_providers":[{"name":"m","base_url":"http://127.0.0.1:1","api_key":"k"}],"mcp_servers":[{"name":"s","command":["x"]}],"push":{"allow":["loopback"]},"limits":{"memory":"128MiB"}}`, func(src []byte) error {
			_, err := config.Parse("parley.yaml", src, none)
			return err
		}},
		"policy.yaml": {`{"rules":[{"allow":["send","get"],"callers":["a"],"agents":["b"],"skills":["s"]}],"allow":[{"callers":["*"],"operations":["send"]}]}`, func(src []byte) error {
			_, err := policyfile.Parse("policy.yaml", src, none)
			return err
		}},
		"script.yaml": {`{"turns":[{"when":{"role":"user","last":"hi","turn":0},"text":"hello","calls":[{"name":"f","arguments":{"a":1}}]}]}`, func(src []byte) error {
			_, err := scripted.Parse("script.yaml", src)
			return err
		}},
		"mock.yaml": {`{"agents":[{"name":"a","description":"d","responses":[{"match":{"text":"x"},"reply":{"text":"y"}}]}]}`, func(src []byte) error {
			_, err := mock.Parse("mock.yaml", src)
			return err
		}},
		"trust.json": {`[{"agentId":"a","level":"observe","skills":{"s":"act"},"since":"2026-01-01T00:00:00Z","interactions":1}]`, func(src []byte) error {
			_, _, err := trust.ParseFile(src)
			return err
		}},
		"keys.json": {`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","kid":"k","alg":"ES256","use":"sig"}]}`, func(src []byte) error {
			_, err := signature.ParseKeys(src)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, v := range jsonvalues.Variants(t, f.sample) {
				err := f.read([]byte(v.JSON))
				if err != nil && (strings.TrimSpace(err.Error()) == "" || strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "Go value") || strings.Contains(err.Error(), "Go struct")) {
					t.Errorf("%s = %s: %v", v.Path, v.Value, err)
				}
			}
		})
	}
}
