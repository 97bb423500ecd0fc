package labeltest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the module.
const root = "../../.."

// builders are the values from which requests to models, and answers to hosts of MCP, are built: types,
// and functions that make such a value of any string.
var builders = strings.Fields(`
	llm.Tool llm.Result llm.Request llm.ChatMessage llm.ChatPart llm.ChatText
	guard.Operator
	mcp.Tool mcp.Resource mcp.ResourceTemplate mcp.ResourceContents mcp.CallToolResult mcp.ReadResourceResult mcp.TextContent
	mcp.ResourceLink mcp.EmbeddedResource mcp.ImageContent mcp.ProgressNotificationParams mcp.ElicitParams mcp.ServerOptions
	mcp.Prompt mcp.PromptMessage mcp.GetPromptResult mcp.LoggingMessageParams mcp.CreateMessageParams
	mcpserver.Resource mcpserver.Template mcpserver.Server jsonrpc.Error`)

// paths assigns each function that uses a builder to a row of the table in internal/e2e/threats.md, by the
// beginning of its first cell. Functions with "-" pass on what others of this list have built, or
// have no words of others; the reason stands beside them.
var paths = map[string]string{
	"internal/agents/model chatMessage":  "-", // takes a guard.Text
	"internal/agents/model opening":      "the caller's message",
	"internal/agents/model asked":        "the caller's message",
	"internal/agents/model labelAll":     "the caller's message", // names of rules
	"internal/agents/model labelEnd":     "a question to answer",
	"internal/agents/model frame":        "a question to answer",
	"internal/agents/model turnMessage":  "earlier messages",
	"internal/agents/model conversation": "results of tools",
	"internal/agents/model shown":        "results of tools",
	"internal/agents/model request":      "-", // messages of fit, tools of toolsFor
	"internal/agents/model turn":         "-", // the model's own message
	"internal/agents/model runTool":      "the description of an agent",
	"internal/agents/model delegated":    "the result of `agent_run_*`",
	"internal/agents/model words":        "an error in place of that result",
	"internal/agents/model notice":       "the notice that dispatched work",
	"internal/agents/model echo":         "mistakes of the model",

	"client question": "the output of an agent for a judge",

	"internal/llm/hubtools calls":       "results of agents by the hub's tools",
	"internal/llm/hubtools reportOf":    "results of agents by the hub's tools",
	"internal/llm/hubtools structured":  "results of agents by the hub's tools",
	"internal/llm/hubtools Files":       "files in results",
	"internal/llm/hubtools screen":      "texts in files",
	"internal/llm/hubtools problem":     "errors of the hub",
	"internal/llm/hubtools reason":      "errors of the hub",
	"internal/llm/hubtools finding":     "cards, lists of agents",
	"internal/llm/hubtools registering": "cards, lists of agents",
	"internal/llm/hubtools following":   "lists of tasks",
	"internal/llm/hubtools notes":       "notes: of other conversations",
	"internal/llm/hubtools shown":       "notes of the model",
	"internal/llm/hubtools people":      "answers of people",
	"internal/llm/hubtools label":       "results of agents by the hub's tools",
	"internal/llm/hubtools askHuman":    "answers of people",

	"internal/llm/hubtools tool":     "tools of single skills",
	"internal/llm/hubtools describe": "tools of single skills",
	"internal/llm/hubtools result":   "results and errors of these tools",
	"internal/llm/hubtools address":  "results and errors of these tools",

	"internal/llm/mcp/mcpclient tool":     "tools of MCP servers",
	"internal/llm/mcp/mcpclient describe": "tools of MCP servers",
	"internal/llm/mcp/mcpclient result":   "results and errors of MCP servers",
	"internal/llm/mcp/mcpclient failed":   "results and errors of MCP servers",

	"internal/llm/mcp/endpoint wrap":      "hosts at `/mcp`: progress",
	"internal/llm/mcp/endpoint progress":  "hosts at `/mcp`: progress",
	"internal/llm/mcp/endpoint result":    "hosts at `/mcp`: progress",
	"internal/llm/mcp/endpoint NewServer": "-", // constants

	"internal/llm/mcp/endpoint note":      "hosts at `/mcp`: tasks, artifacts",
	"internal/llm/mcp/endpoint listed":    "hosts at `/mcp`: tasks, artifacts",
	"internal/llm/mcp/endpoint tasks":     "hosts at `/mcp`: tasks, artifacts",
	"internal/llm/mcp/endpoint quote":     "hosts at `/mcp`: tasks, artifacts",
	"internal/llm/mcp/endpoint refusal":   "hosts at `/mcp`: tasks, artifacts",
	"internal/llm/mcp/endpoint Templates": "-", // constants

	"internal/llm/mcp/mcpserver described":      "-", // a tool of the source, labelled there
	"internal/llm/mcp/mcpserver converted":      "-", // a result of the source, labelled there
	"internal/llm/mcp/mcpserver block":          "-", // a part of such a result
	"internal/llm/mcp/mcpserver contents":       "hosts at `/mcp`: results that are too large",
	"internal/llm/mcp/mcpserver keep":           "hosts at `/mcp`: results that are too large",
	"internal/llm/mcp/mcpserver perform":        "-", // an empty result
	"internal/llm/mcp/mcpserver refuse":         "-", // errors of the server
	"internal/llm/mcp/stdio unkept":             "-", // the id of a message, which the host has sent
	"internal/llm/mcp/mcpserver failed":         "-", // errors of the server; those of tools are labelled by the endpoint
	"internal/llm/mcp/mcpserver handle":         "-", // the name of a tool, which the host has sent
	"internal/llm/mcp/mcpserver read":           "-", // the resources of the library
	"internal/llm/mcp/mcpserver readError":      "-", // errors of the library, labelled there
	"internal/llm/mcp/mcpserver subscribe":      "-", // constants
	"internal/llm/mcp/mcpserver serveResources": "-", // constants
	"internal/llm/mcp/mcpserver open":           "-", // the instructions of NewServer
	"internal/llm/mcp/mcpserver send":           "-", // progress, labelled by the endpoint
	"internal/llm/mcp/mcpserver form":           "hosts at `/mcp`: questions",
	"internal/llm/mcp/mcpserver suspend":        "hosts at `/mcp`: questions",
	"internal/llm/mcp/stdio decode":             "-", // errors about messages of the host

	"internal/llm/openai wireOf":              "-", // the request of a model agent, for the wire
	"internal/parts/aguifront appendHistory":  "the caller's message",
	"internal/parts/openaifront writeMessage": "-", // the answer of an agent to its caller
	"internal/parts/openaifront newParts":     "-", // the answer of an agent to its caller
	"internal/agents/model apply":             "the notice that dispatched work",
}

// labellers are functions whose results have labels: a path without a builder uses one of them.
var labellers = strings.Fields("Label Quote QuotePiece Text Own Checked Words")

// Each function that builds a text for a model is assigned to a path, and each path of the table in
// internal/e2e/threats.md has a function.
func TestPathsToModels(t *testing.T) {
	t.Parallel()
	rows := pathsOfDocs(t)
	found := make(map[string]bool)
	for _, folder := range []string{"agent", "client", "internal", "worker"} {
		for site, uses := range sites(t, folder) {
			found[site] = true
			if paths[site] == "" && len(uses.builders) > 0 {
				t.Errorf("%s uses %s, and is assigned to no path to a model: label the words of others in it, add a row to internal/e2e/threats.md "+
					"with the test that holds it, and assign it in this file", site, strings.Join(uses.builders, ", "))
			}
		}
	}
	used := make(map[string]bool)
	for site, path := range paths {
		if !found[site] {
			t.Errorf("%s builds nothing for models any more; remove it from this file", site)
		}
		if path == "-" {
			continue
		}
		at := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, path) })
		if at < 0 {
			t.Errorf("internal/e2e/threats.md has no path %q, which %s needs", path, site)
			continue
		}
		used[rows[at]] = true
	}
	for _, row := range rows {
		if !used[row] {
			t.Errorf("no function is assigned to the path %q of internal/e2e/threats.md", row)
		}
	}
	if len(rows) < 20 {
		t.Errorf("%d paths in internal/e2e/threats.md, want at least 20", len(rows))
	}
}

// pathsOfDocs returns the first cells of the table of paths.
func pathsOfDocs(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(root + "/internal/e2e/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "| Path | Words | Test |\n|---|---|---|\n")
	if !ok {
		t.Fatal("internal/e2e/threats.md has no table of paths")
	}
	var rows []string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			break
		}
		rows = append(rows, strings.TrimPrefix(cells[0], "| "))
	}
	return rows
}

// usage is the use of builders and labellers in a function.
type usage struct {
	builders []string
	labels   bool
}

// sites returns the functions in a folder that use builders or labellers.
func sites(t *testing.T, folder string) map[string]*usage {
	t.Helper()
	all := make(map[string]*usage)
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testing/") || strings.Contains(path, "/e2e/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				collect(all, filepath.ToSlash(pkg)+" "+fn.Name.Name, fn)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// collect adds the use of builders and labellers in a function.
func collect(all map[string]*usage, site string, fn *ast.FuncDecl) {
	names := make(map[string]bool)
	labels := false
	ast.Inspect(fn, func(n ast.Node) bool {
		var e ast.Expr
		switch n := n.(type) {
		case *ast.CompositeLit:
			e = n.Type
			if list, ok := e.(*ast.ArrayType); ok {
				e = list.Elt
			}
		case *ast.CallExpr:
			e = n.Fun
		}
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(builders, x.Name+"."+s.Sel.Name) {
				names[x.Name+"."+s.Sel.Name] = true
			}
			labels = labels || slices.Contains(labellers, s.Sel.Name)
		}
		return true
	})
	if len(names) == 0 && !labels {
		return
	}
	u := all[site]
	if u == nil {
		u = new(usage)
		all[site] = u
	}
	u.builders = slices.Sorted(maps.Keys(names))
	u.labels = labels
}

// The test of paths finds each form in which a builder is used.
func TestPathsRule(t *testing.T) {
	t.Parallel()
	const src = `package p
func a() { _ = llm.Tool{} }
func b() { _ = &mcp.TextContent{} }
func c() { _ = []llm.ChatMessage{{Role: "user"}} }
func d() { _ = llm.ChatText("") }
func (x *T) e() { f(func() { _ = guard.Operator(x.s) }) }
func g() { _ = llm.ToChat(nil) }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*usage)
	for _, decl := range file.Decls {
		fn := decl.(*ast.FuncDecl)
		collect(all, fn.Name.Name, fn)
	}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("found %v, want a to e", got)
	}
}
