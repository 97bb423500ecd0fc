package manual

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// constantOf is a constant or a default of a package, by the folder of the package and its name.
type constantOf struct{ dir, name string }

// defaults are the sources of defaults in the tables of docs/limits.md, by key.
var defaults = map[string]constantOf{
	"limits.body":               {"internal/limits", "Body"},
	"limits.spool":              {"internal/limits", "Spool"},
	"limits.body_time":          {"internal/limits", "BodyTime"},
	"limits.write_time":         {"internal/limits", "WriteTime"},
	"limits.keep_alive":         {"internal/limits", "KeepAlive"},
	"limits.streams_per_caller": {"internal/limits", "StreamsPerCaller"},
	"limits.streams":            {"internal/limits", "Streams"},
	"engine.max_runs":           {"internal/limits", "MaxRuns"},
	"engine.max_away":           {"internal/limits", "MaxAway"},
	"engine.max_queued":         {"internal/limits", "MaxQueued"},
	"engine.max_waiting":        {"internal/limits", "MaxWaiting"},
	"engine.max_output":         {"internal/limits", "MaxOutput"},
	"engine.max_wait":           {"internal/limits", "MaxWait"},
	"engine.first_event":        {"internal/limits", "FirstEvent"},
	"engine.agent_silence":      {"internal/limits", "AgentSilence"},
	"engine.cancel_wait":        {"internal/limits", "CancelWait"},
	"engine.drain_timeout":      {"internal/limits", "DrainTimeout"},
	"engine.retention":          {"internal/limits", "Retention"},
	"engine.idle_retention":     {"internal/limits", "IdleRetention"},
	"memory.value":              {"internal/memory", "Value"},
}

// fixed are the bounds without a key, by their subject.
var fixed = []struct {
	name string
	from constantOf
	end  string
}{
	{"request or answer that needs nothing from `limits.memory`", constantOf{"internal/membudget", "Small"}, "it takes memory from `limits.memory` first"},
	{"wait of a request for `limits.memory`", constantOf{"internal/membudget", "defaultWait"}, "429"},
	{"message over gRPC that needs nothing to arrive", constantOf{"grpcbind", "unmetered"}, "it is received once there is memory"},
	{"request head", constantOf{"internal/front/httpfront", "maxHead"}, "431; `RESOURCE_EXHAUSTED`"},
	{"request head that ends its connection", constantOf{"internal/front/httpfront", "readHead"}, "the connection is closed"},
	{"request to `/api/v1`", constantOf{"internal/front/adminapi", "maxBody"}, "413"},
	{"note in a request", constantOf{"internal/front/adminapi", "maxNoteBody"}, "413"},
	{"form of the console", constantOf{"internal/front/console", "maxForm"}, "the form is rejected"},
	{"files in a form", constantOf{"internal/front/console", "maxUpload"}, "the form is rejected"},
	{"notification of a remote agent", constantOf{"agent/remote", "maxCallback"}, "413"},
	{"answer of a webhook", constantOf{"internal/webhooks", "maxAnswer"}, "the rest is not read"},
	{"message to `/mcp`, unless `limits.body` is set", constantOf{"internal/llm/mcp/mcpserver", "Message"}, "413"},
	{"arguments of a tool call at `/mcp`", constantOf{"internal/llm/mcp/mcpserver", "Arguments"}, "the result names the limit"},
	{"result in the answer to a tool call at `/mcp`", constantOf{"internal/llm/mcp/mcpserver", "Result"}, "the part becomes a resource"},
	{"kept results of all callers at `/mcp`", constantOf{"internal/llm/mcp/mcpserver", "maxResults"}, "the oldest is dropped"},
	{"events that MCP clients may ask for again, of all callers", constantOf{"internal/llm/mcp/mcpserver", "maxEvents"}, "the oldest are dropped"},
	{"tool calls of a caller at `/mcp`", constantOf{"internal/llm/mcp/mcpserver", "Calls"}, "the result names the limit"},
	{"MCP sessions of a caller", constantOf{"internal/llm/mcp/mcpserver", "Sessions"}, "429"},
	{"callers of `/mcp`", constantOf{"internal/llm/mcp/mcpserver", "Callers"}, "503"},
	{"message of an MCP server without `max_message`", constantOf{"internal/llm/mcp/mcpclient", "Message"}, "the server is restarted, or the call fails"},
	{"concurrent calls of an MCP server without `calls`", constantOf{"internal/llm/mcp/mcpclient", "Calls"}, "the result names the limit"},
	{"event in the stream of a model, which may contain an image", constantOf{"internal/llm/openai", "maxChunk"}, "the call fails"},
	{"answer of a model", constantOf{"internal/agents/model", "maxAnswer"}, "the run fails"},
	{"console sessions", constantOf{"internal/front/console", "maxSessions"}, "the oldest ends"},
}

// units are those of time in expressions.
var units = strings.NewReplacer("time.Hour", "3600000000000", "time.Minute", "60000000000", "time.Second", "1000000000", "time.Millisecond", "1000000")

// find returns the value of a constant: that of its declaration, or of the default of a field.
func (c constantOf) find(t *testing.T) string {
	t.Helper()
	src := sources(t, filepath.FromSlash(c.dir))
	for _, form := range []string{`(?m)^\s*(?:const )?%s\s*= (.+?)(?:\s*//.*)?$`, `cmp\.Or\([a-z]+\.%s, ([^)]+)\)`, `\{&[a-z]+\.%s, ([^}]+)\}`, `[a-z]+\.%s = ([0-9][^\n]*)`} {
		if m := regexp.MustCompile(fmt.Sprintf(form, c.name)).FindStringSubmatch(src); m != nil {
			return constantValue(t, m[1])
		}
	}
	t.Fatalf("%s has no constant or default %s", c.dir, c.name)
	return ""
}

// constantValue returns the value of an expression as people write it.
func constantValue(t *testing.T, expression string) string {
	t.Helper()
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, units.Replace(expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	n, _ := constant.Int64Val(constant.ToInt(v.Value))
	switch {
	case strings.Contains(expression, "time."):
		return timeOf(time.Duration(n))
	case !strings.Contains(expression, "<<"):
		return strconv.FormatInt(n, 10)
	case n%(1<<30) == 0:
		return fmt.Sprintf("%dGiB", n>>30)
	case n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	}
	return fmt.Sprintf("%dKiB", n>>10)
}

func timeOf(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Minute == 0 && d != 5*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// keyRow matches a row of a key in docs/limits.md.
var keyRow = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([^|]*) \\|")

// limitsPage returns docs/limits.md with the values of the program.
func limitsPage(t *testing.T) string {
	t.Helper()
	page := read(t, filepath.Join(docs, "limits.md"))
	seen := 0
	page = keyRow.ReplaceAllStringFunc(page, func(row string) string {
		m := keyRow.FindStringSubmatch(row)
		from, ok := defaults[m[1]]
		if !ok {
			return row
		}
		seen++
		return fmt.Sprintf("| `%s` | %s |", m[1], from.find(t))
	})
	if seen != len(defaults) {
		t.Errorf("docs/limits.md has %d of the %d keys whose defaults are known", seen, len(defaults))
	}
	const head = "| Bound | Value | When it is reached |\n|---|---|---|\n"
	before, rest, ok := strings.Cut(page, head)
	if !ok {
		t.Fatal("docs/limits.md has no table of fixed bounds")
	}
	rest = rest[len(regexp.MustCompile(`^(\|[^\n]*\n)*`).FindString(rest)):]
	var b strings.Builder
	for _, f := range fixed {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.name, f.from.find(t), f.end)
	}
	return before + head + b.String() + rest
}
