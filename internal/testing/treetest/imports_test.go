package treetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// direction forbids imports. Packages are named without the module path; a name that ends in
// "/..." includes the packages below it.
type direction struct {
	from []string
	// not are packages of the tree that from must not import.
	not []string
	// only, if set, are the only packages of the tree that from may import.
	only []string
	// deep also forbids indirect imports.
	deep bool
	why  string
}

// leaves are packages that do not depend on tasks and may be imported from anywhere.
var leaves = []string{"internal/backoff", "internal/clip", "internal/peeraddr", "internal/sse", "internal/wake", "internal/session", "internal/varint", "internal/json/rawjson", "internal/testing/testenv", "internal/file/datadir", "internal/suggest", "internal/file/atomicfile", "internal/file/diskspace", "internal/usertoken", "internal/registry"}

var (
	stores = []string{"store/...", "internal/store/memstore"}
	fronts = []string{"internal/front/httpfront/...", "grpcbind/...", "internal/front/adminapi/...", "internal/parts/openaifront/...", "internal/parts/aguifront/...", "internal/front/console/...", "internal/parts/rockbot/front/..."}
	edges  = slices.Concat(stores, fronts, []string{"internal/cli/...", "internal/server/...", "internal/config/...", "cmd/..."})
)

// directions are the import rules of internal/README.md.
var directions = []direction{
	{
		from: []string{"task"}, only: leaves, deep: true,
		why: "task names the states of tasks",
	},
	{
		from: []string{"internal/task"}, only: append([]string{"task"}, leaves...), deep: true,
		why: "internal/task says what a task is and what a store must promise; it imports no store",
	},
	{
		from: []string{"internal/testing/suite/tasktest"}, only: append([]string{"task", "internal/task"}, leaves...), deep: true,
		why: "the suite of stores knows tasks alone",
	},
	{
		from: leaves, only: leaves,
		why: "a leaf package knows nobody",
	},
	{
		from: []string{"internal/llm"}, only: leaves, deep: true,
		why: "llm is the contract with language models: values, and no agents, engine or client",
	},
	{
		from: []string{"internal/outbound/httpcall"}, only: leaves, deep: true,
		why: "requests to others know nothing of the protocol",
	},
	{
		from: []string{"internal/telemetry/trace"}, only: leaves, deep: true,
		why: "everybody tells what it does, so who is told knows nobody",
	},
	{
		from: []string{"internal/telemetry/export"}, only: append([]string{"internal/telemetry/trace"}, leaves...), deep: true,
		why: "where spans and metrics leave, nobody knows what they are about",
	},
	{
		from: []string{"internal/testing/transcript"}, only: leaves, deep: true,
		why: "every server's tests may tell transcripts, so they know no server",
	},
	{
		from: stores, only: append([]string{"task", "internal/task", "internal/testing/suite/tasktest", "auth", "internal/directory/dirstore/...", "internal/outbound/card", "internal/inbox", "internal/trust", "internal/memory", "internal/testing/suite/memorytest", "internal/agents/queue", "store/...", "internal/store/sqlstore", "internal/store/sqlstore/tables", "internal/store/dump", "internal/blobstore", "internal/cluster", "internal/tasktext"}, leaves...),
		why: "a store knows task and the words of its texts, the keys of auth, the ledger of directory and its records (internal/outbound/card), the inbox, the entries of trust, the contracts of memory, the dead letters of internal/agents/queue, the catalogue of large parts, the members of a cluster and leaf packages; what two stores share goes into task or internal",
	},
	{
		from: []string{"internal/store/sqlstore/tables"}, only: append([]string{"internal/store/sqlstore", "task", "internal/task", "auth", "internal/directory/dirstore", "internal/outbound/card", "internal/inbox", "internal/trust", "internal/memory", "internal/agents/queue", "internal/cluster", "internal/tasktext"}, leaves...),
		why: "tables know the contracts of their stores and no database",
	},
	{
		from: []string{"internal/directory/dirstore", "internal/testing/suite/dirstoretest"}, only: append([]string{"task", "internal/task", "internal/outbound/card", "internal/directory/dirstore"}, leaves...),
		why: "stores keep ledgers, so they know nothing of the directory",
	},
	{
		from: []string{"internal/inbox", "internal/testing/suite/inboxtest"}, only: append([]string{"task", "internal/task", "internal/inbox"}, leaves...),
		why: "stores keep the inbox, and agents put things there, so it knows neither",
	},
	{
		from: []string{"internal/llm/guard"}, only: leaves, deep: true,
		why: "what a text says does not depend on who reads it",
	},
	{
		from: []string{"internal/trust"}, only: leaves, deep: true,
		why: "stores keep whom the hub trusts; what that means for agents is for internal/agents/approval",
	},
	{
		from: []string{"internal/agents/approval", "internal/file/watch", "internal/file/trustfile"}, not: append([]string{".", "internal/engine/..."}, edges...), deep: true,
		why: "a gate is an executor, which knows what the hub tells executors",
	},
	{
		from: []string{"internal/directory/..."}, not: append([]string{".", "internal/engine/...", "internal/dialect/...", "client/..."}, edges...), deep: true,
		why: "the directory knows cards and names; who composes it knows the engine and the wire",
	},
	{
		from: []string{"internal/bus/..."}, only: append([]string{"auth", "task", "internal/task", "internal/apierror", "internal/bus/..."}, leaves...), deep: true,
		why: "a bus carries envelopes; who sends and who receives them knows the bus",
	},
	{
		from: []string{"internal/engine/..."}, not: append([]string{".", "internal/dialect/...", "client/..."}, edges...), deep: true,
		why: "the engine knows contracts, not who speaks to it nor where tasks are stored",
	},
	{
		from: []string{"internal/dialect/...", "internal/json/a2ajson/...", "internal/op/...", "internal/apierror/..."},
		not:  append([]string{".", "internal/engine/...", "client/..."}, edges...), deep: true,
		why: "a wire shape is values in and bytes out",
	},
	{
		from: []string{"internal/front/httpfront/..."}, not: append([]string{".", "grpcbind/...", "internal/cli/...", "internal/server/...", "client/..."}, stores...), deep: true,
		why: "a front speaks to the engine alone",
	},
	{
		from: []string{"internal/front/surface", "internal/front/exchange", "internal/parts/openaifront", "internal/parts/aguifront"}, not: append([]string{".", "internal/front/httpfront/...", "internal/cli/...", "internal/server/...", "client/..."}, stores...), deep: true,
		why: "a surface knows the engine, and its host by what it is given",
	},
	{
		from: []string{"client/...", "internal/outbound/card/...", "internal/secret/signature", "internal/outbound/peer/...", "internal/llm/...", "internal/mock/..."},
		not:  append([]string{".", "internal/engine/..."}, edges...), deep: true,
		why: "the caller's side must not carry a server, an engine or a store",
	},
	{
		from: []string{"agent"}, only: append([]string{"auth", "task", "internal/task", "internal/apierror", "internal/execution"}, leaves...), deep: true,
		why: "agent is the contract of executors; the bus is for worker and internal/agents/queue",
	},
	{
		from: []string{"agent/remote"}, not: []string{"internal/agents/builtin", "internal/agents/command", "internal/check/testagent", "push"}, deep: true,
		why: "kinds of agents do not know each other",
	},
	{
		from: []string{"agent/...", "internal/agents/...", "auth/...", "internal/secret/certificate"}, not: append([]string{".", "internal/engine/..."}, edges...), deep: true,
		why: "agents and identity are contracts that the engine builds on",
	},
	{
		from: []string{"internal/hub"}, not: []string{"store/sqlitestore/...", ".", "internal/bus/natsbus/...", "internal/bus/amqpbus/...", "grpcbind/...", "internal/cli/...", "internal/server/...", "internal/config/...", "cmd/..."}, deep: true,
		why: "the parts of a hub are given to it; drivers are for the side that opens them",
	},
	{
		from: []string{"."}, not: []string{"store/sqlitestore/...", "grpcbind/...", "internal/cli/...", "internal/server/...", "internal/config/...", "cmd/..."}, deep: true,
		why: "tasks are kept in memory unless an embedder chooses a store; an embedder chooses stores and bindings; the facade must not bring them along",
	},
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	report(t, wrongDirections(list(t), directions), "turn these imports round: what both sides need belongs to the inner one")
}

// TestRulesNamePackages: each package that a rule names exists, so that no rule ends when a package
// moves.
func TestRulesNamePackages(t *testing.T) {
	t.Parallel()
	var all, names []string
	for _, p := range list(t) {
		if ours(p.ImportPath) {
			all = append(all, short(p.ImportPath))
		}
	}
	for _, d := range directions {
		names = slices.Concat(names, d.from, d.only, d.not)
	}
	for dep, from := range edgeOnly {
		names = append(names, from...)
		if ours(dep) {
			names = append(names, short(dep)+"/...")
		}
	}
	names = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(names))), func(n string) bool {
		return n == "nobody" || n == "tests" || slices.ContainsFunc(all, func(p string) bool { return matches(p, []string{n}) })
	})
	report(t, names, "no package has these names, which rules of imports have")
}

func TestImportDirectionsRule(t *testing.T) {
	t.Parallel()
	pkgs := graph(map[string][]string{
		"task":                  {"internal/json/rawjson", "fmt"},
		"internal/json/rawjson": nil,
		"client":                {"auth"},
		"auth":                  {"store/sqlitestore"},
		"store/sqlitestore":     {"task"},
		"internal/deep":         {"internal/deep/er"},
		"internal/deep/er":      {"task"},
		"internal/deep/er/er":   nil,
	})
	mustFind(t, wrongDirections(pkgs, nil), 0)
	mustFind(t, wrongDirections(pkgs, []direction{{from: []string{"task"}, only: leaves}}), 0)
	mustFind(t, wrongDirections(pkgs, []direction{{from: []string{"task"}, only: []string{"auth"}}}), 1)
	mustFind(t, wrongDirections(pkgs, []direction{{from: []string{"client"}, not: stores}}), 0)
	mustFind(t, wrongDirections(pkgs, []direction{{from: []string{"client"}, not: stores, deep: true}}), 1)
	mustFind(t, wrongDirections(pkgs, []direction{{from: []string{"internal/deep/..."}, not: []string{"task"}, deep: true}}), 2)
}

// graph builds packages of the tree from their direct imports.
func graph(imports map[string][]string) map[string]*pkg {
	full := func(names []string) []string {
		var paths []string
		for _, n := range names {
			if _, ok := imports[n]; ok {
				n = module + "/" + n
			}
			paths = append(paths, n)
		}
		return paths
	}
	var reach func(name string) []string
	reach = func(name string) []string {
		deps := full(imports[name])
		for _, n := range imports[name] {
			deps = append(deps, reach(n)...)
		}
		return deps
	}
	pkgs := map[string]*pkg{}
	for name := range imports {
		path := module + "/" + name
		pkgs[path] = &pkg{ImportPath: path, Imports: full(imports[name]), Deps: reach(name)}
	}
	return pkgs
}

func wrongDirections(pkgs map[string]*pkg, rules []direction) []string {
	var problems []string
	for _, r := range rules {
		for _, p := range pkgs {
			if ours(p.ImportPath) && matches(short(p.ImportPath), r.from) {
				problems = append(problems, r.broken(p)...)
			}
		}
	}
	return problems
}

// broken returns the imports of p that r forbids.
func (r *direction) broken(p *pkg) []string {
	imports := p.Imports
	if r.deep {
		imports = p.Deps
	}
	var problems []string
	for _, imp := range imports {
		name := short(imp)
		switch {
		case !ours(imp):
		case matches(name, r.not), r.only != nil && !matches(name, r.only):
			problems = append(problems, short(p.ImportPath)+" imports "+name+": "+r.why)
		}
	}
	return problems
}

// matches reports whether name is one of the patterns.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		base, below := strings.CutSuffix(p, "/...")
		return name == base || below && strings.HasPrefix(name, base+"/")
	})
}

// edgeOnly maps a heavy dependency (a path and everything below it) to the packages that may
// import it directly.
var edgeOnly = map[string][]string{
	"google.golang.org/grpc":                    {"grpcbind/...", "internal/outbound/caller", "internal/cli/...", "internal/server", "internal/check/...", "internal/testing/grpctest", "internal/testing/hubtest"},
	"github.com/a2aproject/a2a-go/v2/a2agrpc":   {"grpcbind/...", "internal/cli/..."},
	"github.com/a2aproject/a2a-go/v2/a2apb":     {"grpcbind/...", "internal/outbound/caller", "internal/check/..."},
	"github.com/a2aproject/a2a-go/v2/a2acompat": {"grpcbind/...", "internal/cli/..."},
	"github.com/a2aproject/a2a-go/a2apb":        {"grpcbind/...", "internal/outbound/caller", "internal/check/..."}, // the messages of v0.3
	"github.com/a2aproject/a2a-go/a2a":          {"nobody"},                                                         // the rest of that SDK is unused
	"github.com/a2aproject/a2a-go/a2asrv":       {"nobody"},
	"github.com/a2aproject/a2a-go/a2aclient":    {"nobody"},
	"google.golang.org/protobuf":                {"grpcbind/...", "internal/outbound/caller", "internal/check/...", "internal/testing/grpctest"},
	"google.golang.org/genproto":                {"grpcbind/...", "internal/outbound/caller", "internal/check/..."},
	"zombiezen.com/go/sqlite":                   {"store/sqlitestore/..."},
	"modernc.org/sqlite":                        {"store/sqlitestore/..."},
	"github.com/alecthomas/kong":                {"internal/cli/..."},
	"github.com/yuin/goldmark":                  {"internal/front/console"},
	"github.com/microcosm-cc/bluemonday":        {"internal/front/console"},
	"github.com/goccy/go-yaml":                  {"internal/file/yamlfile/...", "internal/directory/agentfile/...", "internal/config/...", "internal/check/...", "internal/mock/...", "internal/parts/..."},
	"github.com/fsnotify/fsnotify":              {"internal/file/watch"},
	"github.com/santhosh-tekuri/jsonschema":     {"internal/config/...", "internal/testing/suite/workertest"},
	"github.com/google/go-cmp":                  {"internal/testing/suite/tasktest/...", "internal/testing/suite/dirstoretest", "internal/testing/suite/inboxtest", "internal/testing/suite/memorytest", "internal/testing/suite/bustest", "internal/testing/suite/deadlettertest", "internal/testing/transcript"},
	"pgregory.net/rapid":                        {"internal/testing/suite/tasktest/...", "internal/testing/suite/memorytest"},
	"go.uber.org/goleak":                        {"internal/testing/suite/tasktest/..."},
	"github.com/rogpeppe/go-internal":           {"internal/cli/...", "internal/testing/transcript"},
	"go.opentelemetry.io/otel":                  {"internal/parts/rockbot", "internal/telemetry/trace", "internal/hub", "internal/telemetry/export"},
	"go.opentelemetry.io/otel/sdk":              {"internal/parts/rockbot", "internal/telemetry/export"},
	"go.opentelemetry.io/otel/exporters":        {"internal/telemetry/export"},
	"github.com/prometheus":                     {"internal/telemetry/export"},
	module + "/internal/telemetry/export":       {"internal/server", "internal/parts/rockbot"},
	// internal/hub assembles the engine and the fronts. The other packages here are: server,
	// which supplies its adapters; grpcbind, which calls the engine; the facade, which
	// registers agents with it; and the command, which reads the documents of adminapi.
	module + "/internal/engine":              {"internal/hub", "internal/engine/...", "internal/front/...", "internal/parts/...", "internal/server", "grpcbind", ".", "internal/testing/hubtest"},
	module + "/internal/front":               {"internal/hub", "internal/front/...", "internal/parts/...", "internal/server", "grpcbind", "internal/cli", "internal/testing/hubtest"},
	module + "/internal/hub":                 {".", "internal/server", "internal/cli", "internal/parts/rockbot"},
	module + "/store/sqlitestore":            {"internal/server", "internal/cli", "internal/backup"},
	module + "/store/pgstore":                {"internal/server", "internal/cli", "internal/store/shards"},
	module + "/internal/backup":              {"internal/server", "internal/cli"},
	module + "/grpcbind":                     {"internal/server", "internal/cli", "internal/testing/hubtest"},
	module + "/internal/outbound/caller":     {"grpcbind", "internal/server", "internal/cli", "internal/check/..."},
	module + "/internal/server":              {"internal/cli", "internal/parts/rockbot"},
	module + "/internal/cli":                 {"cmd/..."},
	"github.com/nats-io/nats.go":             {"internal/bus/natsbus/...", "internal/testing/natstest", "internal/testing/suite/workertest"},
	"github.com/rabbitmq/amqp091-go":         {"internal/bus/amqpbus/...", "internal/parts/rockbot/e2e/rockbotpeer", "internal/testing/rabbittest", "internal/testing/suite/workertest"},
	"github.com/go-jose/go-jose":             {"internal/secret/signature", "auth/token/...", "internal/testing/tokentest"},
	module + "/internal/testing/rabbittest":  {"internal/testing/suite/workertest"}, // else tests
	module + "/internal/testing/pgtest":      {"tests"},
	"github.com/jackc/pgx":                   {"store/pgstore", "internal/testing/pgtest"},
	"github.com/nats-io/nats-server/v2":      {"internal/bus/natsbus/embedded"},
	"github.com/modelcontextprotocol/go-sdk": {"internal/llm/mcp/mcpserver", "internal/llm/mcp/mcpclient", "internal/llm/mcp/stdio"},
	module + "/internal/llm/mcp/mcpserver":   {"internal/llm/mcp/endpoint"},
	module + "/internal/llm/mcp/mcpclient":   {"internal/server"},
	module + "/internal/testing/natstest":    {"tests"},
	module + "/internal/testing/transcript":  {"tests"}, // no package may import it, because it defines a flag
	module + "/internal/testing/grpctest":    {"tests"},
	module + "/internal/testing/hubtest":     {"tests"},
	module + "/internal/testing/openaitest":  {"tests"},

	module + "/internal/bus/natsbus/embedded":     {"internal/server", "internal/testing/suite/workertest"},
	module + "/internal/testing/suite/workertest": {"tests"},
}

func TestHeavyDependenciesStayAtTheEdge(t *testing.T) {
	t.Parallel()
	report(t, strays(list(t), edgeOnly), "import these only from the packages named, and hand their values in")
}

func TestHeavyDependenciesRule(t *testing.T) {
	t.Parallel()
	pkgs := graph(map[string][]string{
		"task":     {"google.golang.org/grpc/codes", "google.golang.org/grpcweb"},
		"grpcbind": {"google.golang.org/grpc"},
	})
	mustFind(t, strays(pkgs, edgeOnly), 1)
}

func strays(pkgs map[string]*pkg, allowed map[string][]string) []string {
	var problems []string
	for _, p := range pkgs {
		if !ours(p.ImportPath) {
			continue
		}
		for _, imp := range p.Imports {
			for dep, from := range allowed {
				if under(imp, dep) && !matches(short(p.ImportPath), from) {
					problems = append(problems, short(p.ImportPath)+" imports "+imp+", which belongs to "+strings.Join(from, " and "))
				}
			}
		}
	}
	return problems
}

// under reports whether an import path is dep or below it.
func under(importPath, dep string) bool {
	return importPath == dep || strings.HasPrefix(importPath, dep+"/")
}

// facadeBudget are the third-party modules that an embedder of the root package inherits.
var facadeBudget = []string{
	"github.com/a2aproject/a2a-go/v2",
	"github.com/google/uuid",
	"github.com/go-json-experiment/json", // part of the standard library from Go 1.27 on
	"golang.org/x/sync",
	"go.opentelemetry.io/otel",
	"go.opentelemetry.io/otel/trace",
	"go.opentelemetry.io/otel/metric",
	// Dependencies of the OpenTelemetry API.
	"go.opentelemetry.io/otel/log",
	"go.opentelemetry.io/auto/sdk",
	"github.com/go-logr/logr",
	"github.com/go-logr/stdr",
	"github.com/cespare/xxhash/v2",
}

// facadeDenied are the modules that embedders must never inherit, with the alternative.
var facadeDenied = map[string]string{
	"google.golang.org/grpc":                 "gRPC belongs to grpcbind",
	"go.opentelemetry.io/otel/sdk":           "the SDK belongs to internal/telemetry/export",
	"go.opentelemetry.io/otel/sdk/metric":    "the SDK belongs to internal/telemetry/export",
	"google.golang.org/protobuf":             "protocol buffers belong to grpcbind",
	"zombiezen.com/go/sqlite":                "SQLite belongs to store/sqlitestore",
	"modernc.org/sqlite":                     "SQLite belongs to store/sqlitestore",
	"github.com/jackc/pgx/v5":                "PostgreSQL belongs to store/pgstore",
	"github.com/nats-io/nats.go":             "NATS belongs to internal/bus/natsbus",
	"github.com/rabbitmq/amqp091-go":         "RabbitMQ belongs to internal/bus/amqpbus",
	"github.com/nats-io/nats-server/v2":      "the NATS server belongs to internal/bus/natsbus/embedded",
	"github.com/go-jose/go-jose/v4":          "signatures belong to internal/secret/signature and auth/token",
	"github.com/modelcontextprotocol/go-sdk": "MCP belongs to internal/llm/mcp/mcpserver and internal/llm/mcp/mcpclient",
	"github.com/alecthomas/kong":             "the command line belongs to internal/cli",
	"github.com/goccy/go-yaml":               "files that people write belong to internal/file/yamlfile",
}

func TestFacadeBudget(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if pkgs[module] == nil || pkgs[module].Name == "" {
		t.Fatalf("there is no package %s", module)
	}
	report(t, overBudget(pkgs, module), "an embedder inherits these; move what needs them to an edge package")
}

func TestFacadeBudgetRule(t *testing.T) {
	t.Parallel()
	third := func(mod string) *pkg { return &pkg{Module: &struct{ Path string }{mod}} }
	pkgs := map[string]*pkg{
		module:      {Deps: []string{"fmt", "grpc", "uuid", "other"}},
		"fmt":       {Standard: true},
		"grpc":      third("google.golang.org/grpc"),
		"uuid":      third("github.com/google/uuid"),
		"other":     third("example.com/other"),
		"unrelated": third("example.com/unrelated"),
	}
	mustFind(t, overBudget(pkgs, module), 2)
}

func overBudget(pkgs map[string]*pkg, root string) []string {
	extra := map[string]bool{}
	for _, dep := range pkgs[root].Deps {
		p := pkgs[dep]
		if p == nil || p.Standard || p.Module == nil || ours(p.Module.Path) || slices.Contains(facadeBudget, p.Module.Path) {
			continue
		}
		extra[p.Module.Path] = true
	}
	var problems []string
	for mod := range maps.Keys(extra) {
		why := facadeDenied[mod]
		if why == "" {
			why = "not in the budget"
		}
		problems = append(problems, mod+": "+why)
	}
	return problems
}
