package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// unprinted are the commands without -o: they serve, talk or write files, or have
// no result.
var unprinted = []string{
	"serve", "chat", "mcp", "mock", "agent run", "completion", "complete", "init", "backup", "restore", "export", "import",
	"hubs drain", "shards move", "shards drain", "health", "config check", "login", "contexts use", "contexts remove", "man", "audit export",
}

// TestFormatEverywhere checks that every command with a result prints it in the form that is asked for.
func TestFormatEverywhere(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&OS{}, new(commands))
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	for _, leaf := range parser.Model.Leaves(false) {
		leaves++
		name := strings.TrimPrefix(leaf.FullPath(), "parley ")
		name, _, _ = strings.Cut(name, " <")
		name, _, _ = strings.Cut(name, " [")
		has := slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "output" })
		if has == slices.Contains(unprinted, name) {
			t.Errorf("parley %s: -o is %v", name, has)
		}
	}
	if leaves < 50 {
		t.Errorf("%d commands, want more", leaves)
	}
}

// TestMissing: an error names the commands, flags and arguments that are missing.
func TestMissing(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"agent":               `expected "run"`,
		"dead":                `expected one of "list"`,
		"trust":               `expected one of "list", "set"`,
		"agents":              `expected one of "list", "search", "show", "add", "remove", ...`,
		"tasks get":           `expected "<`,
		"completion tcsh":     `<shell> must be one of "bash","zsh","fish","powershell" but got "tcsh"`,
		"serve --log-level x": `--log-level must be one of "debug","info","warn","error","" but got "x"`,
	} {
		parser, err := newParser(&OS{}, new(commands))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = parser.Parse(strings.Fields(line)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s…", line, err, want)
		}
	}
}
