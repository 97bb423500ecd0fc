package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestEnvironmentOfPrograms starts a hub whose secrets are in its environment. Each program that
// it runs gets the variables that programs need and those that the configuration names, and no
// secret.
func TestEnvironmentOfPrograms(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "sh")
	const key = "0123456789abcdef0123"
	h := hubtest.Start(t, hubtest.Options{
		Env: []string{"ADMIN_KEY=" + key, "SEAL=" + strings.Repeat("5ea1", 16), "TOKEN=t0ken", "HOME=/home/hub", "LC_TIME=C", "PARLEY_API_KEY=" + key},
		Config: `
auth: {api_keys: {"${ADMIN_KEY}": {agent_id: me, roles: [admin]}, caller-0123456789abc: {agent_id: partner}}}
master_key: "${SEAL}"
bus: {url: "off"}
trust:
  notify_command: "env >notice.new; mv notice.new notice"
  notify_env: {TOKEN: "${TOKEN}"}
mcp_servers:
  - {name: m, command: "env >server.new; mv server.new server", env: {TOKEN: "${TOKEN}"}}
agents:
  - {name: e, description: d, command: "env >agent.new; mv agent.new agent; env", env: {TOKEN: "${TOKEN}"}}
  - {name: gated, description: d, command: "true", trust: gated}
`,
	})
	shown, err := h.Parley(t.Context(), "send", "--api-key", key, "--agent", "e", "hello")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = h.Parley(t.Context(), "send", "--api-key", "caller-0123456789abc", "--agent", "gated", "hello") // it is not approved
	for name, own := range map[string]string{"agent": "PARLEY_TASK_ID=", "server": "PARLEY_RUN_DIR=", "notice": "PARLEY_ITEM="} {
		got := await(t, filepath.Join(h.Dir(), name))
		lines := strings.Split(got, "\n")
		for _, want := range []string{"TOKEN=t0ken", "HOME=/home/hub", "LC_TIME=C"} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: %s is missing", name, want)
			}
		}
		for _, want := range []string{"PATH=", own} {
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
				t.Errorf("%s: %s is missing", name, want)
			}
		}
		if strings.Contains(got, key) || strings.Contains(got, "5ea15ea1") {
			t.Errorf("%s has a secret of the hub:\n%s", name, got)
		}
	}
	if strings.Contains(shown, key) {
		t.Errorf("the agent shows a secret of the hub:\n%s", shown)
	}
}

// await returns the content of a file that a program writes.
func await(t *testing.T, path string) string {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); runtime.Gosched() {
		if text, err := os.ReadFile(path); err == nil {
			return string(text)
		}
	}
	t.Fatalf("%s is missing", path)
	return ""
}
