package parts_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

const (
	module = "github.com/parley-a2a/parley/"
	list   = "../../cmd/parley/parts.go"
)

// uses has, for each part, parley.yaml with everything that the part adds to it.
var uses = map[string]string{
	"aguifront":        "",
	"openaifront":      "",
	"promptkit":        "allow_anonymous: true\nauth: {api_keys: {kit-0123456789abcdef: {agent_id: kit, dialect: promptkit}}}\n",
	"awaken":           "profile: awaken\ndirectory: {specs: [.]}\n",
	"protoworkstacean": "directory: {agents_file: agents.yaml}\n",
	"rockbot":          "rockbot: {url: 'amqp://127.0.0.1:1/', name: hub}\nallow_anonymous: true\nApiKeys: {bot-0123456789abcdef: {AgentId: bot}}\ndirectory: {well_known: known.json}\ntelemetry: {rockbot_names: true}\n",
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// paths has a path of each part that serves some.
var paths = map[string]string{"aguifront": "/ag-ui/", "openaifront": "/v1/models"}

// TestBuildWithout builds the program without parts, and with each one alone. It serves hubs with a
// parley.yaml, and reports a key of a part that it does not have with file, line and key.
func TestBuildWithout(t *testing.T) {
	t.Parallel()
	all := slices.Sorted(maps.Keys(uses))
	for _, only := range append([]string{""}, all...) {
		t.Run("only "+only, func(t *testing.T) {
			t.Parallel()
			program := build(t, only)
			h := hubtest.New(t, hubtest.Options{Binary: program})
			for name, text := range uses {
				h.Configure(text)
				out, err := h.Parley(t.Context(), "doctor", "--config", "parley.yaml")
				said := out
				if err != nil {
					said += err.Error()
				}
				const absent = "this program was built without "
				if (text != "" && name != only) != strings.Contains(said, absent+name) || name == only && strings.Contains(said, absent) {
					t.Errorf("doctor with the keys of %s says: %s", name, said)
				}
			}
			for file, text := range map[string]string{"agents.yaml": "agents: []\n", "known.json": "[]\n"} {
				if err := os.WriteFile(filepath.Join(h.Dir(), file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h.Configure("agents: [{name: upper, command: tr a-z A-Z}]\n" + uses[only])
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
			if out, err := h.Parley(t.Context(), "send", "upper", "hello"); err != nil || !strings.Contains(out, "HELLO") {
				t.Errorf("send: %v: %s", err, out)
			}
			for name, path := range paths {
				resp, err := hubtest.Do(t.Context(), hubtest.Request{URL: h.URL() + path})
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if (resp.StatusCode != http.StatusNotFound) != (name == only) {
					t.Errorf("GET %s: %s", path, resp.Status)
				}
			}
			h.Stop()
		})
	}
}

// build builds the program with one part, or without any.
func build(t *testing.T, only string) (program string) {
	t.Helper()
	text := "package main\n"
	if only != "" {
		text += "\nimport _ \"" + module + "internal/parts/" + only + "\"\n"
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "parts.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced, err := filepath.Abs(list)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{replaced: file}})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(at, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "parley")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", at, "-o", program, module+"cmd/parley")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// TestLists: the program has every folder of this package, and each has keys that are known to belong
// to it, and a case in TestBuildWithout.
func TestLists(t *testing.T) {
	t.Parallel()
	var folders []string
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, e.Name())
		}
	}
	owners := slices.Compact(slices.Sorted(maps.Values(registry.Known())))
	for what, got := range map[string][]string{
		"cases of TestBuildWithout": slices.Sorted(maps.Keys(uses)), "owners of keys and parts with paths": slices.Sorted(slices.Values(append(owners, slices.Collect(maps.Keys(paths))...))),
		"imports of cmd/parley": imports(t, list), "imports of allparts": imports(t, "../testing/allparts/allparts.go"),
	} {
		if !slices.Equal(got, folders) {
			t.Errorf("%s: %q, want the parts %q", what, got, folders)
		}
	}
}

// imports returns the parts that a file imports.
func imports(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if _, name, ok := strings.Cut(line, "internal/parts/"); ok {
			names = append(names, strings.Trim(name, "\"\n"))
		}
	}
	return names
}
