package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// mark is the byte order mark that editors on Windows write.
const mark = "\xef\xbb\xbf"

// TestMarkedFiles starts a hub whose files were all saved with a byte order mark.
func TestMarkedFiles(t *testing.T) {
	t.Parallel()
	h := hubtest.New(t, hubtest.Options{Config: mark + `
policy: rules.yaml
directory: {agents_file: agents.yaml, well_known: known.json}
auth: {api_keys: {"${file:key}": {agent_id: me, roles: [admin]}}}
trust: {file: trust.json}
`})
	const key = "0123456789abcdef0123"
	for name, text := range map[string]string{
		"rules.yaml":  "rules: [{allow: \"*\", callers: me}]\n",
		"agents.yaml": "agents: [{name: marked, url: \"http://127.0.0.1:1\"}]\n",
		"known.json":  "[]",
		"key":         key + "\r\n",
		"trust.json":  `[{"agentId":"ann","level":"act"}]`,
	} {
		if err := os.WriteFile(filepath.Join(h.Dir(), name), []byte(mark+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"send --agent echo hello": "hello", "agents list": "marked", "trust list": "ann",
	} {
		got, err := h.Parley(t.Context(), append(strings.Fields(command), "--api-key", key)...)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("parley %s: %v, want %q in:\n%s", command, err, want, got)
		}
	}
	if out := h.Output(); strings.Contains(out, "level=ERROR") {
		t.Errorf("the hub has errors:\n%s", out)
	}
}

// TestUnreadableConfiguration starts hubs with files that are no UTF-8 or no YAML. Each error
// names the file, the line and the remedy.
func TestUnreadableConfiguration(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"UTF-16":  {inUTF16("\uFEFFagents: []\n"), "parley.yaml: the file is UTF-16; save it as UTF-8"},
		"Latin-1": {"agents:\n- name: a\n  description: caf\xe9\n  command: \"true\"\n", "parley.yaml:3: the byte 0xe9 is not UTF-8; save the file as UTF-8"},
		"a reference in a flow mapping": {
			"agents:\n- {name: a, description: ${V}, command: \"true\"}\n",
			"parley.yaml:2: ',' or '}' must be specified; between { } or [ ], a value with ${V} must be in quotes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "parley.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			p := hubtest.Launch(t, hubtest.Command{Args: []string{"serve", "--listen", "127.0.0.1:0", "--config", file}, Dir: dir})
			if p.Await(t.Context(), "msg=ready") == nil {
				t.Fatal("the hub starts")
			}
			if !strings.Contains(p.Output(), tt.want) {
				t.Errorf("want %q in:\n%s", tt.want, p.Output())
			}
		})
	}
}

// inUTF16 returns s in UTF-16 with the least significant bytes first, as Windows writes it.
func inUTF16(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.Write([]byte{byte(u), byte(u >> 8)})
	}
	return b.String()
}
