package cli

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-a2a/parley/internal/mock"
)

// TestMockScripts runs the scripts that need "parley mock".
func TestMockScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "mock"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[mockKey{}] = new(mockProcess)
			env.Setenv("GORACE", noNap)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mock": startMock, "interrupt": interruptMock, "exits": exits, "getenv": getenv, "tried": tryMock,
		},
	})
}

type mockKey struct{}

// mockProcess is the mock of a script.
type mockProcess struct {
	cmd  *exec.Cmd
	wait sync.WaitGroup
	errs bytes.Buffer // complete after wait
}

// startMock starts a mock and waits until it serves: mock ARGS... It sets $PARLEY_URL to the
// address of the first agent, and a variable with the name of each agent to that agent's
// address. It writes the output to the file mock.out.
func startMock(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! mock")
	}
	m := ts.Value(mockKey{}).(*mockProcess)
	path, err := exec.LookPath("parley")
	ts.Check(err)
	*m = mockProcess{cmd: exec.Command(path, append([]string{"mock", "--listen", "127.0.0.1:0"}, args...)...)}
	m.cmd.Dir = ts.MkAbs(".")
	m.cmd.Env = append(os.Environ(), "GORACE="+noNap)
	stdout, err := m.cmd.StdoutPipe()
	ts.Check(err)
	stderr, err := m.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(m.cmd.Start())
	m.wait.Go(func() { _, _ = io.Copy(&m.errs, stderr) })
	ts.Defer(func() {
		m.cmd.Process.Kill()
		m.wait.Wait()
		m.cmd.Wait()
	})
	var b strings.Builder
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		b.WriteString(lines.Text() + "\n")
		if rules, url, ok := strings.Cut(lines.Text(), " at "); ok {
			url, _, _ = strings.Cut(url, " ")
			name, _, _ := strings.Cut(rules, ":")
			ts.Setenv(strings.ToUpper(name), url)
			if ts.Getenv("PARLEY_URL") == "" {
				ts.Setenv("PARLEY_URL", url)
			}
		}
		if strings.HasPrefix(lines.Text(), "  -d ") {
			ts.Check(os.WriteFile(ts.MkAbs("mock.out"), []byte(b.String()), 0o644))
			return
		}
	}
	m.wait.Wait()
	ts.Fatalf("the mock does not start:\n%s%s", b.String(), m.errs.String())
}

// interruptMock ends the mock, which must succeed, and writes its standard error to the file
// mock.err.
func interruptMock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: interrupt")
	}
	m := ts.Value(mockKey{}).(*mockProcess)
	ts.Check(m.cmd.Process.Signal(os.Interrupt))
	m.wait.Wait()
	if err := m.cmd.Wait(); err != nil {
		ts.Fatalf("the mock ends with %v:\n%s", err, m.errs.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("mock.err"), m.errs.Bytes(), 0o644))
}

// tryMock runs the example that the mock prints, without a shell, and writes the answer to a
// file: tried FILE.
func tryMock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tried FILE")
	}
	_, example, _ := strings.Cut(ts.ReadFile("mock.out"), "Try:\n")
	words := strings.Fields(example)
	_, body, _ := strings.Cut(example, "-d '")
	req, err := http.NewRequest(http.MethodPost, words[1], strings.NewReader(strings.TrimSuffix(strings.TrimSpace(body), "'")))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), answer, 0o644))
}

// TestMockHelp checks that the script in the help can be served.
func TestMockHelp(t *testing.T) {
	t.Parallel()
	_, script, _ := strings.Cut(helpText, "A script:\n\n")
	script, _, ok := strings.Cut(script, "\n\nExamples")
	c, err := mock.Parse("help.yaml", []byte(script))
	if !ok || err != nil || len(c.Agents[0].Responses) != 3 {
		t.Errorf("Parse(%s) = %v, %v, want an agent with three rules", script, c, err)
	}
}
