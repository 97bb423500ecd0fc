package reading_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/registry"
	_ "github.com/parley-a2a/parley/internal/testing/allparts"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
)

// ofPart returns the source of a part for the file that a key of directory names.
func ofPart(t *testing.T, key string) func(p agentfile.Options) directory.Source {
	return func(p agentfile.Options) directory.Source {
		t.Helper()
		text := "directory: {" + fmt.Sprintf(key, p.Flag) + "}"
		c, err := config.Parse("parley.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		for _, sources := range registry.Added[config.Sources]() {
			for _, s := range sources(c, p) {
				if s.Name() == p.Flag {
					return s
				}
			}
		}
		t.Fatalf("no part reads the file of %q", text)
		return nil
	}
}

// TestEveryValueInAgentFiles reads lists of agents in which one agent has every JSON value in the place of every
// member. The agents beside it are known, and it is known itself or named with file, line and key.
func TestEveryValueInAgentFiles(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		list, odd string
		good      func(name string) string
		source    func(p agentfile.Options) directory.Source
	}{
		"agents.yaml": {
			`{"agents":[LIST]}`,
			`{"name":"odd","url":"http://odd","description":"d","apiKeyEnv":"K","auth":{"scheme":"bearer","credentialsEnv":"K"},"headers":{"h":"v"},"streaming":true,"pushNotifications":true,"omitContext":true,` +
				`"external":true,"timeoutMs":5,"pollInitialMs":1,"pollMaxMs":2,"skills":["s",{"name":"t","description":"d","tags":["t"],"examples":["e"],"trust":"open"}],"trust":"open","subscribesTo":["x"]}`,
			func(name string) string { return `{"name":"` + name + `","url":"http://good"}` },
			ofPart(t, "agents_file: %s"),
		},
		"well-known-agents.json": {
			`[LIST]`,
			`{"agentName":"odd","url":"http://odd","description":"d","version":"1","authHeaderName":"h","authHeaderValueBase64":"QUFB","skills":[{"id":"s","name":"s","description":"d","tags":["t"],"examples":["e"],` +
				`"inputModes":["a/b"],"outputModes":["a/b"],"trust":"open"}],"protocolVersion":"0.3","supportsStreaming":true,"pollingInitialDelay":"00:00:02","pollingMaxDelay":"5s","trust":"open"}`,
			func(name string) string { return `{"agentName":"` + name + `","url":"http://good"}` },
			ofPart(t, "well_known: %s"),
		},
		"known-agents.json": {
			`[LIST]`,
			`{"agentName":"odd","url":"http://odd","queue":"q","description":"d","version":"1","skills":[{"id":"s","name":"s"}],"lastSeen":"2999-01-01T00:00:00Z"}`,
			func(name string) string {
				return `{"agentName":"` + name + `","url":"http://good","lastSeen":"2999-01-01T00:00:00Z"}`
			},
			func(p agentfile.Options) directory.Source { return agentfile.Known(p) },
		},
		"specs.json": {
			`[LIST]`,
			`{"id":"odd","name":"n","description":"d","endpoint":{"backend":"a2a","base_url":"http://odd","auth":{"type":"bearer","token":"t","token_env":"E"},"target":"t","timeout_ms":5,` +
				`"options":{"poll_interval_ms":1,"history_length":1,"return_immediately":true,"idempotent":true}},"model_id":"","provider":"p","max_rounds":1,"allowed_tools":["a"],"delegates":["d"],"guard":"off"}`,
			func(name string) string {
				return `{"id":"` + name + `","endpoint":{"backend":"a2a","base_url":"http://good"}}`
			},
			ofPart(t, "specs: [%s]"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			line3 := regexp.MustCompile(regexp.QuoteMeta(path) + `:3: (agents)?\[1\]`)
			for _, v := range jsonvalues.Variants(t, f.odd) {
				text := strings.Replace(f.list, "LIST", "\n"+f.good("first")+",\n"+v.JSON+",\n"+f.good("last"), 1)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				u := f.source(agentfile.Options{Flag: path, Lookup: func(string) (string, bool) { return "v", true }}).Load(t.Context())
				if v.Value == `"\ud83d"` { // no JSON, and so no list: the agents of the last version remain
					if len(u.Specs) > 0 || len(u.Problems) != 1 || !strings.Contains(u.Problems[0].Error(), path+":3: ") {
						t.Errorf("%s = %s: the agents are %v, the problems %v", v.Path, v.Value, u.Specs, u.Problems)
					}
					continue
				}
				names := ""
				for _, s := range u.Specs {
					names += string(s.Name) + " "
				}
				if !strings.HasPrefix(names, "first ") || !strings.HasSuffix(names, "last ") || len(u.Specs) == 2 && len(u.Problems) == 0 && v.Value != "null" {
					t.Errorf("%s = %s: the agents are %q, the problems %v", v.Path, v.Value, names, u.Problems)
				}
				for _, err := range u.Problems {
					if says := err.Error(); !line3.MatchString(says) || strings.Contains(says, "Go value") || strings.Contains(says, "reflect") {
						t.Errorf("%s = %s: %s", v.Path, v.Value, says)
					}
				}
			}
		})
	}
}
