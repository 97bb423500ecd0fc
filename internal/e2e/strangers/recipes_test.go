package strangers

import (
	"encoding/json"
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

// recipes are the programs of docs/howto/recipes.md, with the folders whose packages they use.
var recipes = map[string]string{
	"adk_client.py":       "internal/e2e/strangers/adk",
	"strands_client.py":   "internal/e2e/strangers/strands",
	"langgraph_client.py": "internal/e2e/strangers/frameworks",
	"pydantic_client.py":  "internal/e2e/strangers/frameworks",
	"framework_client.py": "internal/e2e/strangers/frameworks",
	"openai_client.py":    "internal/e2e/interop/openai/python",
	"ai_client.mjs":       "internal/e2e/strangers/js",
	"mcp_client.mjs":      "internal/e2e/strangers/mcp",
}

// TestRecipes runs each program of the page. It must print the answer once, on a line of its own.
func TestRecipes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/howto/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?ms)^```(?:python|js) (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(programs) != len(recipes) {
		t.Errorf("the page has %d programs, want %d", len(programs), len(recipes))
	}
	h := hubtest.Start(t, hubtest.Options{})
	for _, p := range programs {
		t.Run(p[1], func(t *testing.T) {
			t.Parallel()
			cmd := interpreter(t, p[1])
			cmd.Stdin = strings.NewReader(strings.ReplaceAll(p[2], "http://127.0.0.1:4100", h.URL()))
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || strings.Count("\n"+string(out), "\n"+said+"\n") != 1 {
				t.Errorf("%v; it prints %q, want the line %q once\n%s", err, out, said, &errs)
			}
		})
	}
}

// interpreter returns the command that runs a recipe from its standard input.
func interpreter(t *testing.T, recipe string) *exec.Cmd {
	t.Helper()
	if filepath.Ext(recipe) == ".py" {
		venv := testenv.Made(t, recipes[recipe]+"/.venv")
		return exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-")
	}
	cmd := exec.CommandContext(t.Context(), testenv.Tool(t, "node"), "--input-type=module", "-")
	cmd.Dir = filepath.Dir(testenv.Made(t, recipes[recipe]+"/node_modules"))
	return cmd
}

// TestNodeRecipe makes the request that the node of the page describes. The names and the values of its parameters are
// those of version 4.2 of n8n's HTTP Request node; n8n itself needs a newer Node.js than the tests.
func TestNodeRecipe(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/howto/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## n8n\n")
	expression := regexp.MustCompile("`{{ \\$json\\.choices\\[0\\]\\.message\\.content }}`").FindString(text)
	_, text, _ = strings.Cut(text, "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var workflow struct {
		Nodes []struct {
			Name       string  `json:"name"`
			Type       string  `json:"type"`
			Version    float64 `json:"typeVersion"`
			Position   [2]int  `json:"position"`
			Parameters struct {
				Method      string `json:"method"`
				URL         string `json:"url"`
				SendBody    bool   `json:"sendBody"`
				SpecifyBody string `json:"specifyBody"`
				JSONBody    string `json:"jsonBody"`
			} `json:"parameters"`
		} `json:"nodes"`
		Connections map[string]any `json:"connections"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&workflow); err != nil || len(workflow.Nodes) != 1 {
		t.Fatalf("the workflow: %v, %d nodes", err, len(workflow.Nodes))
	}
	node := workflow.Nodes[0]
	p := node.Parameters
	if node.Type != "n8n-nodes-base.httpRequest" || node.Version != 4.2 || !p.SendBody || p.SpecifyBody != "json" || expression == "" {
		t.Errorf("the node is %+v, and its answer %q", node, expression)
	}
	h := hubtest.Start(t, hubtest.Options{})
	url := strings.ReplaceAll(p.URL, "http://127.0.0.1:4100", h.URL())
	req, err := http.NewRequestWithContext(t.Context(), p.Method, url, strings.NewReader(p.JSONBody))
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
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) != 1 || answer.Choices[0].Message.Content != said {
		t.Errorf("the answer is %d %+v, %v; want %q", resp.StatusCode, answer, err, said)
	}
}
