package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a program that tests ask for with [Tool].
type program struct {
	install string   // the command that installs it on Debian
	places  []string // patterns of paths that are preferred to PATH
	names   []string // other names of it
}

// programs are all programs that tests ask for. A test asks for each one that it starts, directly or
// through a script, if the smallest system with Git and Go does not have it.
var programs = map[string]program{
	"bash":            {install: "part of each Debian"},
	"caddy":           {install: "apt-get install caddy"},
	"chromium":        {install: "apt-get install chromium", names: []string{"chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}},
	"curl":            {install: "apt-get install curl"},
	"go":              {install: "https://go.dev/doc/install"},
	"haproxy":         {install: "apt-get install haproxy", places: []string{"/usr/sbin/haproxy"}},
	"java":            {install: "apt-get install openjdk-17-jdk-headless"},
	"nats-server":     {install: "apt-get install nats-server", places: []string{"/usr/sbin/nats-server"}}, // where PATH is not the superuser's
	"nginx":           {install: "apt-get install nginx", places: []string{"/usr/sbin/nginx"}},
	"node":            {install: "https://nodejs.org/en/download (20 or later)"},
	"npm":             {install: "https://nodejs.org/en/download (20 or later)"},
	"openssl":         {install: "apt-get install openssl"},
	"pgbouncer":       {install: "apt-get install pgbouncer", places: []string{"/usr/sbin/pgbouncer"}},
	"pgrep":           {install: "apt-get install procps"},
	"postgres":        {install: "apt-get install postgresql", places: []string{"/usr/lib/postgresql/*/bin/postgres"}},
	"python3":         {install: "apt-get install python3 python3-venv"},
	"rabbitmq-server": {install: "apt-get install rabbitmq-server", places: []string{"/usr/lib/rabbitmq/bin/rabbitmq-server"}}, // the wrapper in PATH changes to another user
	"setsid":          {install: "part of each Debian"},
	"sh":              {install: "part of each Unix"},
	"socat":           {install: "apt-get install socat"},
	"systemd-analyze": {install: "apt-get install systemd"},
	"traefik":         {install: ".ci/venvs", places: []string{".venv/bin/traefik"}}, // beside the tests that ask for it
}

// made are the files and folders of the tree that tests ask for with [Made], by the end of their path, and the
// commands that make them.
var made = map[string]string{
	".ci/bin/nats-server": "go build -o .ci/bin/ github.com/nats-io/nats-server/v2",
	".venv":               ".ci/venvs",
	"node_modules":        "npm ci, in that folder",
	"dist":                "npm ci && npm run build, in that folder",
	"target":              ".ci/classes",
	"target/debug":        ".ci/rust",
}

// Find returns the path of a program of the table, and whether the machine has it.
func Find(name string) (path string, ok bool) {
	p := programs[name]
	for _, pattern := range p.places {
		found, _ := filepath.Glob(pattern) // the patterns are valid
		slices.Sort(found)
		for _, f := range slices.Backward(found) { // the newest version
			if path, err := exec.LookPath(f); err == nil {
				path, err = filepath.Abs(path)
				return path, err == nil
			}
		}
	}
	for _, n := range append([]string{name}, p.names...) {
		if path, err := exec.LookPath(n); err == nil {
			return path, true
		}
	}
	return "", false
}

// Tool returns the path of a program of the table. Without the program it skips or fails tb.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	p, listed := programs[name]
	if !listed {
		tb.Fatalf("testenv: tests ask for the program %s, and package testenv does not list how to install it", name)
	}
	path, _ := Find(name)
	met(tb, path, "program "+name+" ("+p.install+")")
	return path
}

// Made returns the absolute path of a file or folder below the root of the tree that a command makes, such as
// an environment of Python. Without it, Made skips or fails tb.
func Made(tb testing.TB, path string) string {
	tb.Helper()
	how := ""
	for end, command := range made {
		if strings.HasSuffix("/"+path, "/"+end) {
			how = command
		}
	}
	if how == "" {
		tb.Fatalf("testenv: tests ask for %s, and package testenv does not list the command that makes it", path)
	}
	absolute := filepath.Join(root(tb), filepath.FromSlash(path))
	if _, err := os.Stat(absolute); err != nil {
		met(tb, "", path+" ("+how+")")
	}
	return absolute
}

// root returns the root of the tree. Modules below it have a go.mod, too, so the search looks for .ci.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".ci")); err == nil {
			return dir
		}
	}
	tb.Fatal("testenv: the working directory is outside of the tree")
	return ""
}
