package strangers

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestHosts connects the official client of MCP as the pages configure Claude Code, Cursor and other hosts, which need
// an account and a model, and calls an agent.
func TestHosts(t *testing.T) {
	t.Parallel()
	judge := node(t, "mcp")[0]
	h := hubtest.Start(t, hubtest.Options{})
	path := filepath.Dir(hubtest.Binary(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	servers := map[string]bool{}
	for name, hosts := range map[string]int{"howto/recipes.md": 3, "howto/clients.md": 3, "mcp.md": 6} {
		found := configured(t, page(t, name, h.URL()))
		if len(found) != hosts {
			t.Errorf("%s configures %d hosts, want %d", name, len(found), hosts)
		}
		for _, s := range found {
			servers[s] = true
		}
	}
	for server := range maps.Keys(servers) {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), judge, "host.js", server, said)
			cmd.Dir = "mcp"
			cmd.Env = append(os.Environ(), "PATH="+path, "PARLEY_URL="+h.URL())
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || strings.Count("\n"+string(out), "\n"+said+"\n") != 1 {
				t.Errorf("%v; it prints %q, want the line %q once\n%s", err, out, said, &errs)
			}
		})
	}
}

var (
	claude = regexp.MustCompile("claude mcp add (?:--transport http )?parley ([^`\n]+)")
	blocks = regexp.MustCompile(`\{"(?:mcpServers|servers|context_servers)": (\{.*?\}\})\}`)
)

// configured returns the server of each host that a page configures, in JSON.
func configured(t *testing.T, page string) []string {
	t.Helper()
	type server struct {
		Command string   `json:"command,omitempty"`
		Args    []string `json:"args,omitempty"`
		URL     string   `json:"url,omitempty"`
	}
	var all []server
	for _, m := range claude.FindAllStringSubmatch(page, -1) {
		if command, isProgram := strings.CutPrefix(m[1], "-- "); isProgram {
			words := strings.Fields(command)
			all = append(all, server{Command: words[0], Args: words[1:]})
		} else {
			all = append(all, server{URL: m[1]})
		}
	}
	for _, m := range blocks.FindAllStringSubmatch(page, -1) {
		var named struct{ Parley server }
		if err := json.Unmarshal([]byte(m[1]), &named); err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		all = append(all, named.Parley)
	}
	var texts []string
	for _, s := range all {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
