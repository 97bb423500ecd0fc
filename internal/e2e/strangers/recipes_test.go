package strangers

import (
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
