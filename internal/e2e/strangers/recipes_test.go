package strangers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// A recipe is a program of docs/howto/recipes.md.
type recipe struct {
	packages string // the folder of the packages that it uses
	answer   string // the line that it prints once
}

var recipes = map[string]recipe{
	"adk_client.py":       {"internal/e2e/strangers/adk", said},
	"strands_client.py":   {"internal/e2e/strangers/strands", said},
	"langgraph_client.py": {"internal/e2e/strangers/frameworks", said},
	"crew_client.py":      {"internal/e2e/strangers/nightly/crewai", "Current Task: " + said}, // of the prompt that CrewAI makes
	"crew_a2a_client.py":  {"internal/e2e/strangers/nightly/crewai", said},
	"pydantic_client.py":  {"internal/e2e/strangers/frameworks", said},
	"framework_client.py": {"internal/e2e/strangers/frameworks", said},
	"openai_client.py":    {"internal/e2e/interop/openai/python", said},
	"ai_client.mjs":       {"internal/e2e/strangers/js", said},
	"mcp_client.mjs":      {"internal/e2e/strangers/mcp", said},
}

// page returns the text of a page below docs, with the URL of a hub in place of the default one.
func page(t *testing.T, name, url string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "http://127.0.0.1:4100", url)
}

// TestRecipes runs each program of the page. It must print the answer once, on a line of its own.
func TestRecipes(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	text := page(t, "howto/recipes.md", h.URL())
	programs := regexp.MustCompile("(?ms)^```(?:python|js) (\\S+)\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	if len(programs) != len(recipes) {
		t.Errorf("the page has %d programs, want %d", len(programs), len(recipes))
	}
	for _, p := range programs {
		t.Run(p[1], func(t *testing.T) {
			t.Parallel()
			r := recipes[p[1]]
			cmd := interpreter(t, p[1], r.packages)
			cmd.Stdin = strings.NewReader(p[2])
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || strings.Count("\n"+string(out), "\n"+r.answer+"\n") != 1 {
				t.Errorf("%v; it prints %q, want the line %q once\n%s", err, out, r.answer, &errs)
			}
		})
	}
}

// interpreter returns the command that runs a recipe from its standard input.
func interpreter(t *testing.T, name, packages string) *exec.Cmd {
	t.Helper()
	if strings.Contains(packages, "/nightly/") {
		testenv.Nightly(t, "a recipe with large packages")
	}
	if filepath.Ext(name) == ".py" {
		venv := testenv.Made(t, packages+"/.venv")
		cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-")
		// CrewAI keeps files in the home folder, and reports runs to its vendor.
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "XDG_DATA_HOME=", "CREWAI_DISABLE_TELEMETRY=true", "CREWAI_TRACING_ENABLED=false")
		return cmd
	}
	cmd := exec.CommandContext(t.Context(), testenv.Tool(t, "node"), "--input-type=module", "-")
	cmd.Dir = filepath.Dir(testenv.Made(t, packages+"/node_modules"))
	return cmd
}

// TestWorkflowRequest makes the request of the page's workflow for n8n.
func TestWorkflowRequest(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	var w struct {
		Nodes []struct {
			Parameters struct{ Method, URL, JSONBody string }
		}
	}
	if err := json.Unmarshal(workflow(t, h.URL()), &w); err != nil || len(w.Nodes) != 3 {
		t.Fatalf("the workflow: %v, %d nodes", err, len(w.Nodes))
	}
	p := w.Nodes[1].Parameters
	body := strings.NewReplacer("={", "{", "{{ $execution.id }}", "7").Replace(p.JSONBody)
	req, err := http.NewRequestWithContext(t.Context(), p.Method, p.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Task struct {
			Artifacts []struct{ Parts []struct{ Text string } }
		}
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	if got, want := fmt.Sprint(answer.Task.Artifacts), "[{[{"+said+"}]}]"; err != nil || got != want {
		t.Errorf("the answer is %d %s, %v; want %s", resp.StatusCode, got, err, want)
	}
}

// TestWorkflow imports the page's workflow into n8n, and executes it.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t, "n8n")
	n8n := filepath.Join(testenv.Made(t, "internal/e2e/strangers/nightly/n8n/node_modules"), "n8n", "bin", "n8n")
	h := hubtest.Start(t, hubtest.Options{})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ask_echo.json"), workflow(t, h.URL()), 0o600); err != nil {
		t.Fatal(err)
	}
	execute := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), testenv.Tool(t, "node"), append([]string{n8n}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "N8N_USER_FOLDER="+dir, "N8N_DIAGNOSTICS_ENABLED=false",
			"N8N_EXPRESSION_ENGINE=legacy") // the default one needs Node 22
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("n8n %s: %v\n%s%s", args[0], err, out, &errs)
		}
		return out
	}
	execute("import:workflow", "--input=ask_echo.json")
	out := execute("execute", "--id=askecho", "--rawOutput")
	var ran struct {
		Status string
		Data   struct {
			ResultData struct {
				RunData struct {
					Answer []struct {
						Data struct {
							Main [][]struct{ JSON struct{ Text string } }
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(out[max(bytes.IndexByte(out, '{'), 0):], &ran); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := fmt.Sprint(ran.Data.ResultData.RunData.Answer), "[{{[[{{"+said+"}}]]}}]"; ran.Status != "success" || got != want {
		t.Errorf("the execution is %s, and its answer %s; want success, %s", ran.Status, got, want)
	}
}

// workflow returns the workflow of the page for a hub.
func workflow(t *testing.T, url string) []byte {
	t.Helper()
	block := regexp.MustCompile("(?ms)^```json ask_echo.json\n(.*?)^```$").FindStringSubmatch(page(t, "howto/recipes.md", url))
	if block == nil {
		t.Fatal("the page has no workflow")
	}
	return []byte(block[1])
}
