package interop

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// startForeign starts a program that serves an agent, and returns the URL that it prints. It
// must exit by itself at the end of its input.
func startForeign(t *testing.T, dir string, args []string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	var stderr syncBuffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, wait := firstLine(out)
	t.Cleanup(func() {
		in.Close()
		wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if s := stderr.String(); s != "" && t.Failed() {
			t.Logf("%v says:\n%s", args, s)
		}
	})
	if url == "" {
		t.Fatalf("%v prints no URL", args)
	}
	return url
}

// firstLine returns the first line that a program prints, and a function that waits for the end
// of its output.
func firstLine(out io.Reader) (line string, wait func()) {
	lines := bufio.NewScanner(out)
	if lines.Scan() {
		line = lines.Text()
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(io.Discard, out) })
	return line, wg.Wait
}

// server is an agent that is served with a foreign SDK.
type server struct {
	// name is the name of the peer, and of its files. testdata/servers/NAME.yaml has the
	// expected findings of parley check, testdata/commands/NAME.yaml the commands that fail.
	name, title string
	// speaks is the version of the protocol: v1 or v03.
	speaks string
	// bindings are the bindings in its card.
	bindings []string
	program  func(t *testing.T, dir string) []string
	dir      string
	// lacks are the commands whose calls it does not offer.
	lacks []string
	// forgets is set if it deletes a task that it has canceled.
	forgets bool
}

// noList is the call that v0.3 lacks.
var noList = []string{"list"}

var servers = []server{
	{name: "go-2.4", title: "Go SDK 2.4.0", speaks: v1, bindings: allBindings, program: goProgram("goserver")},
	{name: "js-1.3", title: "JavaScript SDK 1.3.0", speaks: v1, bindings: allBindings, dir: "js", program: node("serve.mjs")},
	{name: "python-1.3", title: "Python SDK 1.3.0", speaks: v1, bindings: allBindings, dir: "python/v1", program: python("serve.py")},
	{name: "js-0.3", title: "JavaScript SDK 0.3.13", speaks: v03, bindings: allBindings, dir: "js03", program: node("serve.mjs"), lacks: noList},
	{
		name: "python-0.3", title: "Python SDK 0.3.26", speaks: v03, bindings: allBindings,
		dir: "python/v03", program: python("serve.py"), lacks: noList,
	},
	{name: "go-0.3", title: "Go SDK 0.3.15", speaks: v03, bindings: jsonRPC, dir: "go03", program: goModule("server"), lacks: noList},
	{name: "trpc-0.2", title: "trpc-a2a-go 0.2.5", speaks: v03, bindings: jsonRPC, dir: "trpc", program: goModule("server"), lacks: noList, forgets: true},
	{
		name: "promptkit-1.5", title: "PromptKit runtime 1.5.11", speaks: promptKit, bindings: jsonRPC,
		dir: "promptkit", program: goModule("server"),
		// It answers a message with its rules, and supports nothing else.
		lacks: []string{"message", "file", "follow up", "get", "list", "cancel"},
	},
}

var jsonRPC = []string{"JSONRPC"}

// TestServers runs parley check on servers that are built with foreign SDKs, and calls them
// with the other commands. The check must report exactly the findings that the server's file
// lists with reasons.
func TestServers(t *testing.T) {
	t.Parallel()
	var book ledger
	t.Cleanup(func() {
		if table, gap := serversTable(t, &book); whole(t, gap) {
			wantPart(t, "servers", table)
		}
	})
	for i := range servers {
		s := &servers[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url := startForeign(t, s.dir, s.program(t, s.dir))
			t.Run("check", func(t *testing.T) {
				s.check(t, url)
				book.note(s.name, "", "check", works)
			})
			failing, err := readFails(filepath.Join("testdata", "commands", s.name+".yaml"), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range s.bindings {
				t.Run(b, func(t *testing.T) { s.command(t, &book, site{url, b}, failing) })
			}
		})
	}
}

func (s *server) check(t *testing.T, url string) {
	known, err := filepath.Abs(filepath.Join("testdata", "servers", s.name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := parley(t, "check", "--url", url, "--known", known)
	if code != 0 {
		t.Errorf("parley check: exit code %d, %s\n%s", code, errs, out)
	}
}

// command runs the commands on a server.
func (s *server) command(t *testing.T, book *ledger, at site, failing []known) {
	for _, c := range commands {
		if slices.Contains(s.lacks, c.name) {
			continue
		}
		reason := accepted(failing, at.binding, c.name)
		t.Run(c.name, func(t *testing.T) {
			failures := try(t, func(tb testing.TB) { c.run(tb, at) })
			book.note(s.name, at.binding, c.name, outcome(failures, reason))
			judge(t, failures, reason)
		})
	}
}

// TestServerFiles checks that every file of findings belongs to a server.
func TestServerFiles(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"servers", "commands"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".yaml")
			if !slices.ContainsFunc(servers, func(s server) bool { return s.name == name }) {
				t.Errorf("%s belongs to no server", f)
			}
		}
	}
}
