package treetest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// parts are the subjects of the main module with their folders, for a table of its size that can be
// compared between years. The longest folder that a package is in decides.
var parts = []struct{ name, dirs string }{
	{"wire", "client grpcbind internal/dialect internal/front/exchange internal/front/httpfront internal/json internal/op internal/outbound/card internal/outbound/peer internal/outbound/transport"},
	{"durable core", "internal/engine internal/store internal/varint push store task"},
	{"bus", "internal/agents/queue internal/bus internal/batch worker"},
	{"MCP and tools", "internal/llm internal/sse"},
	{"kinds of agents", "agent agent/remote internal/agents internal/llm/openai internal/llm/scripted"},
	{"people and policy", "auth internal/audit internal/bm25 internal/directory internal/inbox internal/llm/guard internal/memory internal/notify internal/policy internal/recorder internal/secret internal/trust internal/usertoken"},
	operation: {"operation", ""},
	{"instruments", "internal/check internal/mock"},
	{"PostgreSQL and clusters", "internal/cluster internal/events store/pgstore internal/store/shards internal/store/sqlstore"},
	{"console", "internal/front/console internal/secret/openid internal/telemetry/samples"},
	{"budgets, backups, releases", "internal/backup internal/front/conns internal/membudget internal/peeraddr internal/release internal/store/dump"},
	{"help for tests", "internal/testing internal/e2e internal/parts/rockbot/e2e"},
}

// operation is the part with all folders that no other part names.
const operation = 6

// partOf returns the index of the part that a folder belongs to; that of operation for a folder
// without a part.
func partOf(dir string) int {
	for d := dir; d != "."; d = path.Dir(d) {
		for i, p := range parts {
			if slices.Contains(strings.Fields(p.dirs), d) {
				return i
			}
		}
	}
	return operation
}

// sizes returns a table of the lines of the main module: code, and tests with the suites and other
// help for tests.
func sizes(tr *tree) string {
	code, tests := make([]int, len(parts)), make([]int, len(parts))
	for _, s := range tr.main() {
		i := partOf(s.dir())
		switch {
		case s.test || imports(s, "testing") || parts[i].name == "help for tests":
			tests[i] += s.lines
		default:
			code[i] += s.lines
		}
	}
	var b strings.Builder
	allCode, allTests := 0, 0
	for i, p := range parts {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", p.name, code[i], tests[i])
		allCode, allTests = allCode+code[i], allTests+tests[i]
	}
	fmt.Fprintf(&b, "| all | %d | %d |\n", allCode, allTests)
	return b.String()
}

// main returns the sources of the main module.
func (tr *tree) main() []*source {
	var others []string
	for _, name := range tr.files {
		if dir, ok := strings.CutSuffix(name, "/go.mod"); ok {
			others = append(others, dir+"/")
		}
	}
	return slices.DeleteFunc(slices.Clone(tr.sources), func(s *source) bool {
		return slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(s.path, dir) })
	})
}

func TestSizesRule(t *testing.T) {
	t.Parallel()
	tr := &tree{
		files: []string{"go.mod", "client/sub/go.mod", "client/a.go", "client/a_test.go", "client/sub/b.go", "internal/testing/x.go", "internal/llm/openai/o.go"},
		sources: []*source{
			snippet(t, "client/a.go", "package a\n"), snippet(t, "client/a_test.go", "package a\n\n"),
			snippet(t, "client/sub/b.go", "package b\n"), snippet(t, "internal/testing/x.go", "package x\n"),
			snippet(t, "internal/llm/openai/o.go", "package o\n"),
		},
	}
	got := sizes(tr)
	for _, want := range []string{"| wire | 1 | 2 |", "| kinds of agents | 1 | 0 |", "| help for tests | 0 | 1 |", "| all | 2 | 3 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, got)
		}
	}
	if got := partOf("sdk/go"); got != operation {
		t.Errorf("partOf(sdk/go) = %d, want %d", got, operation)
	}
}
