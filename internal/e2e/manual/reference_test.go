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
		"reference/errors.md":        errorsPage,
		"decisions.md":               recordsPage,
		"limits.md":                  limitsPage,
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
	_, list, ok := strings.Cut(help(t), "\nCall agents:\n") // the first group
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

// flagEntry matches a flag in a help, with all lines about it.
var flagEntry = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+).*\n(?: {12,}[^- ].*\n)*`)

// commonFlags returns the flags that many commands have, each as one line of a help.
func commonFlags(helps []string) []string {
	const many = 20
	var flags []string
	count := map[string]int{}
	for _, text := range helps {
		for _, entry := range flagEntry.FindAllString(text, -1) {
			flag := strings.Join(strings.Fields(entry), " ")
			if count[flag]++; count[flag] == 1 {
				flags = append(flags, flag)
			}
		}
	}
	return slices.DeleteFunc(flags, func(flag string) bool { return count[flag] < many })
}

// withoutFlags returns a help without these flags, and their names except help and quiet.
func withoutFlags(text string, flags []string) (short string, names []string) {
	short = flagEntry.ReplaceAllStringFunc(text, func(entry string) string {
		if !slices.Contains(flags, strings.Join(strings.Fields(entry), " ")) {
			return entry
		}
		if name := flagEntry.FindStringSubmatch(entry)[1]; name != "help" && name != "quiet" {
			names = append(names, "`--"+name+"`")
		}
		return ""
	})
	short = strings.TrimSuffix(strings.TrimRight(strings.ReplaceAll(short, "Flags:\n\n", "Flags:\n"), "\n"), "\n\nFlags:")
	return short + "\n", names
}

func commandPages(t *testing.T) string {
	t.Helper()
	names, lines := commandsOf(t)
	helps := make([]string, len(names))
	for i, name := range names {
		helps[i] = help(t, strings.Fields(name)...)
	}
	flags := commonFlags(helps)
	if len(flags) < 5 {
		t.Fatalf("many commands have the flags %q; the pattern of this test does not match them", flags)
	}
	var list, pages strings.Builder
	for i, name := range names {
		fmt.Fprintf(&list, "| [`%s`](#parley-%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), lines[i])
		text, others := withoutFlags(helps[i], flags)
		fmt.Fprintf(&pages, "\n## parley %s\n\n```text\n%s```\n", name, text)
		if len(others) > 0 {
			fmt.Fprintf(&pages, "\n[Common flags](#common-flags): %s.\n", strings.Join(others, ", "))
		}
	}
	return "# Commands\n\nThe help of every command of `parley`. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the task\n" +
		"waits for input, 4 the server is not reachable.\n\n| Command | |\n|---|---|\n" + list.String() +
		"\n## Common flags\n\nEvery command has `--help` and `--quiet`.\n\n```text\n" + strings.Join(flags, "\n") + "\n```\n" + pages.String()
}

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
	b.WriteString("# Decision records\n\nDecisions that someone could undo, each with its reasons and the road not taken. Numbers are not reused.\n\n")
	for _, name := range names {
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, name), "# "), "\n")
		fmt.Fprintf(&b, "- [%s](adr/%s)\n", title, filepath.Base(name))
	}
	return b.String()
}
