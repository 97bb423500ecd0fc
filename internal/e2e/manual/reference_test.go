package manual

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

var update = flag.Bool("update", false, "write the generated pages of docs again")

// root is the folder of the tree.
var root = filepath.Join("..", "..", "..")

// TestReference compares the generated pages with the program.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, generate := range map[string]func(*testing.T) string{
		"reference/commands.md":      commandPages,
		"reference/configuration.md": configurationPage,
		"reference/http-api.md":      httpPage,
		"reference/metrics.md":       metricsPage,
		"reference/errors.md":        errorsPage,
		"decisions.md":               recordsPage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, filepath.Join(docs, name), generate(t))
		})
	}
}

// same compares a generated page with its file, or writes the file with -update.
func same(t *testing.T, file, page string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(got)); diff != "" {
		t.Errorf("%s is not the generated page; run: go test ./internal/e2e/manual -run TestReference -update\n(-want +got):\n%s", file, diff)
	}
}

// help returns the help of a command.
func help(t *testing.T, command ...string) string {
	t.Helper()
	cmd := exec.Command(hubtest.Binary(t), append(slices.Clone(command), "--help")...)
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("parley %s --help: %v", strings.Join(command, " "), err)
	}
	return trimmed(string(out))
}

// listed matches a command in the list of the help.
var listed = regexp.MustCompile(`(?m)^  ([a-z][a-z -]*?)  +([A-Z].*(?:\n {10,}.*)*)`)

// commandsOf returns the names of all commands with a line about each, in the order of the help.
func commandsOf(t *testing.T) (names, lines []string) {
	t.Helper()
	_, list, ok := strings.Cut(help(t), "\nCommands:\n")
	if !ok {
		t.Fatal("the help has no commands")
	}
	for _, m := range listed.FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
		lines = append(lines, strings.Join(strings.Fields(m[2]), " "))
	}
	if len(names) < 30 {
		t.Fatalf("the help has %d commands; the pattern of this test does not match them", len(names))
	}
	return names, lines
}

func commandPages(t *testing.T) string {
	t.Helper()
	names, lines := commandsOf(t)
	var list, pages strings.Builder
	for i, name := range names {
		fmt.Fprintf(&list, "| [`%s`](#parley-%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), lines[i])
		fmt.Fprintf(&pages, "\n## parley %s\n\n```text\n%s```\n", name, help(t, strings.Fields(name)...))
	}
	return "# Commands\n\nThe help of every command of `parley`. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the task\n" +
		"waits for input, 4 the server is not reachable.\n\n| Command | |\n|---|---|\n" + list.String() + pages.String()
}

// route matches a line with a route of /api/v1, and handler the name of its handler.
var (
	route   = regexp.MustCompile(`"(GET|POST|PUT|DELETE|PATCH) (/[^"]*)"(.*)`)
	handler = regexp.MustCompile(`h\.(\w+)\)|stream: h\.(\w+)`)
)

// uncommented are the meanings of handlers that have no comment.
var uncommented = map[string]string{
	"pause": "Holds new messages for an agent", "resume": "Delivers the messages that a pause has held",
	"redrive": "Repeats the message of a task that hangs", "failTask": "Ends a task as failed", "reassign": "Moves a waiting task to another agent",
	"answerItem": "Answers a question", "approveItem": "Approves a request, or the draft of an answer", "refuseItem": "Refuses a request or a question",
	"showDead": "Answers with a dead letter and its envelope", "note": "Answers with a note", "setNote": "Sets a note",
	"closeSession": "Deletes the notes of a session", "listTrust": "Answers with the trust in callers and agents", "setTrust": "Changes the trust in a caller or an agent",
	"status": "Answers with the state of the hub and the numbers of its tasks",
}

// httpPage lists the routes of /api/v1 with the comments of their handlers.
func httpPage(t *testing.T) string {
	t.Helper()
	source := sources(t, "internal/front/adminapi")
	var rows []string
	for _, m := range route.FindAllStringSubmatch(doubled(source), -1) {
		name := handler.FindStringSubmatch(m[3])
		if name == nil {
			continue
		}
		meaning := commentOf(source, name[1]+name[2])
		if meaning == "" {
			t.Errorf("the handler %s of %s %s has no comment, which would be its meaning in the reference", name[1]+name[2], m[1], m[2])
		}
		rows = append(rows, fmt.Sprintf("| `%s` | `/api/v1%s` | %s |\n", m[1], m[2], meaning))
	}
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) })
	rows = slices.Compact(rows)
	if len(rows) < 40 {
		t.Fatalf("the source has %d routes; the pattern of this test does not match them", len(rows))
	}
	return "# HTTP API of administration\n\nThe routes below `/api/v1` of a hub. Callers read their own tasks and settle their own inbox; keys,\n" +
		"trust, webhooks, dead letters, the audit log and all changes need an administrator. Each command of\n`parley` is a client of these routes. Every answer is JSON; an error has a `status` and a `message`.\n" +
		"Routes of `/events` are streams of server-sent events.\n\n| Method | Path | Handler |\n|---|---|---|\n" + strings.Join(rows, "")
}

// doubled returns source with each route on a line of its own.
func doubled(source string) string {
	return regexp.MustCompile(`, ("(?:GET|POST|PUT|DELETE|PATCH) /)`).ReplaceAllString(source, ",\n$1")
}

func pathOf(row string) string { return strings.Join(strings.Split(row, "|")[2:], "|") }

// sources returns the text of the files of a package without its tests.
func sources(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			b.WriteString(read(t, name))
		}
	}
	return b.String()
}

// commentOf returns the first sentence of the comment of a method, without its name.
func commentOf(source, method string) string {
	if meaning, ok := uncommented[method]; ok {
		return meaning
	}
	m := regexp.MustCompile(`((?:\n//[^\n]*)+)\nfunc \(h \*Handler\) ` + method + `\(`).FindStringSubmatch(source)
	if m == nil {
		return ""
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(m[1], "\n//", " ")), " ")
	text = strings.TrimPrefix(text, method+" ")
	text, _, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(strings.ToUpper(text[:1])+text[1:], ".")
}

// metric matches the registration of a metric in the source.
var metric = regexp.MustCompile(`"(parley\.[a-z0-9_.]+)", (?:"([^"]*)", )?(?:metric\.With\w+\("([^"]*)"\),\s*metric\.WithDescription\()?"([A-Z0-9][^"]+)"`)

func metricsPage(t *testing.T) string {
	t.Helper()
	var rows []string
	for _, dir := range []string{"internal/hub", "internal/telemetry/trace"} {
		for _, m := range metric.FindAllStringSubmatch(sources(t, dir), -1) {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], unitOf(m[2]+m[3]), m[4]))
		}
	}
	slices.Sort(rows)
	if len(rows) < 25 {
		t.Fatalf("the source has %d metrics; the pattern of this test does not match them", len(rows))
	}
	return "# Metrics\n\nThe metrics of a hub at `/metrics`, where dots are underscores, and over OTLP. A family (`parley.server`,\n" +
		"`parley.a2a`, `parley.client`) has `.requests`, `.failures` and `.duration`.\n" +
		"[Telemetry](../telemetry.md#metrics) describes the labels.\n\n| Name | Unit | Meaning |\n|---|---|---|\n" + strings.Join(rows, "")
}

func unitOf(unit string) string {
	switch unit {
	case "":
		return ""
	case "By":
		return "bytes"
	case "s":
		return "seconds"
	}
	return strings.Replace(strings.Trim(unit, "{}")+"s", "trys", "tries", 1)
}

// errorRow matches a row of the table of errors in the source.
var errorRow = regexp.MustCompile(`\{?[a-z0-9]+\.(Err\w+|Deadline\w+|Canceled), (-\d+), (http\.\w+|\w+), (\w+), "(\w+)"`)

func errorsPage(t *testing.T) string {
	t.Helper()
	var rows []string
	for _, m := range errorRow.FindAllStringSubmatch(sources(t, "internal/dialect"), -1) {
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", m[5], m[2], statusOf(m[3]), m[4]))
	}
	slices.Sort(rows)
	if rows = slices.Compact(rows); len(rows) < 20 {
		t.Fatalf("the source has %d errors; the pattern of this test does not match them", len(rows))
	}
	return "# Errors\n\nThe errors of the protocol, by the reason in their details (`ErrorInfo.reason`). An unexpected error is\n" +
		"`INTERNAL_ERROR` with a reference, which finds the record in the log of the hub.\n\n| Reason | JSON-RPC | HTTP | gRPC |\n|---|--:|---|---|\n" +
		strings.Join(rows, "")
}

// statusOf returns an HTTP status as people read it.
func statusOf(name string) string {
	name = strings.TrimPrefix(name, "http.Status")
	if name == "statusClientGone" {
		return "499 Client Closed Request"
	}
	words := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "$1 $2")
	for code := 400; code < 600; code++ {
		if strings.EqualFold(strings.ReplaceAll(statusText(code), " ", ""), name) {
			return fmt.Sprintf("%d %s", code, statusText(code))
		}
	}
	return words
}

// recordsPage lists the decision records.
func recordsPage(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(docs, "adr", "0*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Decision records\n\nThe decisions that could be undone, each with its reasons, in the order in which they were taken.\n\n")
	for _, name := range names {
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, name), "# "), "\n")
		fmt.Fprintf(&b, "- [%s](adr/%s)\n", title, filepath.Base(name))
	}
	return b.String()
}
