package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// TestHubScripts runs the scripts that need their own hub and no other program.
func TestHubScripts(t *testing.T) {
	t.Parallel()
	hubScripts(t, "hub", nil)
}

// TestPythonScripts runs the scripts with agents in Python.
func TestPythonScripts(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "python3")
	hubScripts(t, "python", nil)
}

// TestNATSScripts runs the scripts that need a NATS server of their own, whose address is $NATS.
func TestNATSScripts(t *testing.T) {
	t.Parallel()
	program := natstest.Debian(t)
	hubScripts(t, "nats", func(tb testing.TB, env *testscript.Env) { env.Setenv("NATS", natstest.Start(tb, program).URL) })
}

// TestRabbitMQScripts runs the scripts that need a virtual host of RabbitMQ, whose address is $AMQP.
func TestRabbitMQScripts(t *testing.T) {
	t.Parallel()
	server := rabbittest.Start(t)
	hubScripts(t, "rabbitmq", func(tb testing.TB, env *testscript.Env) { env.Setenv("AMQP", server.VHost(tb)) })
}

// hubScripts runs the scripts in a folder. The programs that they need are asked for before the first
// script, or in prepare, which receives the test of its script: t must not end in a command of a script, which
// runs in the goroutine of another test.
//
// $CONFORMANCE is the folder of the conformance files. Hubs, and commands in the background, run $PROGRAM. It is
// the program of the tests in scripts with a broker. All other commands, and $PROGRAM in the scripts without one,
// are $PARLEY_BINARY, if it is set: with the race detector a start takes four times the processor time, and the
// packages of the hub and TestScripts run the same code with it.
func hubScripts(t *testing.T, dir string, prepare func(testing.TB, *testscript.Env)) {
	t.Helper()
	conformance, err := filepath.Abs(filepath.Join("..", "e2e"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	plain := os.Getenv("PARLEY_BINARY")
	if plain != "" && dir == "hub" {
		program = plain
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[hubKey{}] = new(hubProcess)
			env.Values[peerKey{}] = new(hubProcess)
			env.Values[issuersKey{}] = make(map[string]*tlstest.Pair)
			env.Setenv("GORACE", noNap)
			env.Setenv("CONFORMANCE", conformance)
			env.Setenv("PROGRAM", program)
			if prepare != nil {
				prepare(env.T().(testing.TB), env)
			}
			if plain != "" {
				env.Setenv("PATH", filepath.Dir(plain)+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hub": startHub, "peer": peerHub, "signal": signalHub, "says": hubSays, "stopped": hubStopped,
			"fetch": fetch, "shows": shows, "post": post, "getenv": getenv, "exits": exits, "heard": heardExample, "asked": hubAsked,
			"certificate": certificate,
		},
	})
}

type hubKey struct{}

// hubProcess is the hub of a script.
type hubProcess struct {
	cmd  *exec.Cmd
	wait sync.WaitGroup

	mu   sync.Mutex
	more *sync.Cond
	errs bytes.Buffer // guarded by mu
	over bool         // guarded by mu: errs is complete
}

// startHub starts a hub and waits until it serves: hub ARGS... It sets $PARLEY_URL and
// $HUB_ADDR to the address, and writes the output to the file hub.out.
func startHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! hub")
	}
	launch(ts, ts.Value(hubKey{}).(*hubProcess), "hub.out", args)
}

// launch starts a hub as a process and writes its output to a file.
func launch(ts *testscript.TestScript, h *hubProcess, out string, args []string) {
	if !slices.Contains(args, "--listen") {
		n, release, err := testenv.ReservePort() // scripts restart hubs at the same address
		ts.Check(err)
		ts.Defer(release)
		args = append([]string{"--listen", fmt.Sprintf("127.0.0.1:%d", n)}, args...)
	}
	*h = hubProcess{cmd: exec.Command(ts.Getenv("PROGRAM"), append([]string{"serve"}, args...)...)}
	h.more = sync.NewCond(&h.mu)
	h.cmd.Dir = ts.MkAbs(".")
	h.cmd.Env = append(os.Environ(), "GORACE="+noNap, "PARLEY_DATA="+ts.Getenv("PARLEY_DATA"), "PARLEY_CONFIG="+ts.Getenv("PARLEY_CONFIG"))
	stdout, err := h.cmd.StdoutPipe()
	ts.Check(err)
	stderr, err := h.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(h.cmd.Start())
	h.wait.Go(func() { h.collect(stderr) })
	ts.Defer(func() {
		h.cmd.Process.Kill()
		h.wait.Wait()
		h.cmd.Wait()
	})
	ts.Check(os.WriteFile(ts.MkAbs(out), []byte(banner(ts, h, stdout)), 0o644))
}

type peerKey struct{}

// peerHub controls a second hub: peer ARGS... starts it, with its address in $PEER_URL and
// $PEER_ADDR; peer says TEXT waits for a text on its standard error; peer stop ends it.
func peerHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! peer")
	}
	h := ts.Value(peerKey{}).(*hubProcess)
	switch {
	case len(args) == 2 && args[0] == "says":
		h.says(ts, args[1])
	case len(args) == 1 && args[0] == "stop":
		ts.Check(h.cmd.Process.Signal(os.Interrupt))
		h.wait.Wait()
		ts.Check(h.cmd.Wait())
	default:
		url, addr := ts.Getenv("PARLEY_URL"), ts.Getenv("HUB_ADDR")
		launch(ts, h, "peer.out", args)
		ts.Setenv("PEER_URL", ts.Getenv("PARLEY_URL"))
		ts.Setenv("PEER_ADDR", ts.Getenv("HUB_ADDR"))
		ts.Setenv("PARLEY_URL", url)
		ts.Setenv("HUB_ADDR", addr)
	}
}

// banner reads the first output of the hub and sets $PARLEY_URL.
func banner(ts *testscript.TestScript, h *hubProcess, stdout io.Reader) string {
	var b strings.Builder
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		b.WriteString(lines.Text() + "\n")
		if url, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Address "); ok {
			ts.Setenv("PARLEY_URL", strings.TrimSpace(url))
			ts.Setenv("HUB_ADDR", strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(url), "http://"), "https://"))
		}
		var hub struct{ Address string }
		if json.Unmarshal(lines.Bytes(), &hub) == nil { // a hub with JSON logs
			ts.Setenv("PARLEY_URL", hub.Address)
			ts.Setenv("HUB_ADDR", strings.TrimPrefix(strings.TrimPrefix(hub.Address, "http://"), "https://"))
		}
		if strings.HasPrefix(lines.Text(), "Try: ") || hub.Address != "" {
			return b.String()
		}
	}
	h.wait.Wait()
	ts.Fatalf("the hub does not start:\n%s%s", b.String(), h.errs.String())
	return ""
}

// collect reads the standard error of the hub.
func (h *hubProcess) collect(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		h.mu.Lock()
		h.errs.WriteString(lines.Text() + "\n")
		h.mu.Unlock()
		h.more.Broadcast()
	}
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	h.more.Broadcast()
}

// hubSays waits for a text on the standard error of the hub: says TEXT. Of a hub that has ended,
// "! says TEXT" checks that the text was never there.
func hubSays(ts *testscript.TestScript, neg bool, args []string) {
	h := ts.Value(hubKey{}).(*hubProcess)
	switch {
	case len(args) != 1:
		ts.Fatalf("usage: [!] says TEXT")
	case neg:
		h.neverSaid(ts, args[0])
	default:
		h.says(ts, args[0])
	}
}

func (h *hubProcess) neverSaid(ts *testscript.TestScript, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over || strings.Contains(h.errs.String(), text) {
		ts.Fatalf("the hub has not ended, or has written %q:\n%s", text, h.errs.String())
	}
}

func (h *hubProcess) says(ts *testscript.TestScript, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !strings.Contains(h.errs.String(), text) {
		if h.over {
			ts.Fatalf("the hub ended without %q:\n%s", text, h.errs.String())
		}
		h.more.Wait()
	}
}

// signalHub sends a signal to the hub: signal INT|TERM|KILL|HUP.
func signalHub(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill, "HUP": syscall.SIGHUP}
	if neg || len(args) != 1 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal INT|TERM|KILL|HUP")
	}
	ts.Check(ts.Value(hubKey{}).(*hubProcess).cmd.Process.Signal(signals[args[0]]))
}

// hubStopped waits for the end of the hub and checks its exit code: stopped CODE, with -1 for a
// killed hub.
func hubStopped(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stopped CODE")
	}
	h := ts.Value(hubKey{}).(*hubProcess)
	h.wait.Wait()
	err := h.cmd.Wait()
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		ts.Fatalf("%v", err)
	}
	if got := strconv.Itoa(h.cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s:\n%s", got, args[0], h.errs.String())
	}
}

// post sends the JSON in a file to a path of the hub: post PATH FILE ANSWER.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: post PATH FILE ANSWER")
	}
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("PARLEY_URL")+args[0], strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	http.DefaultClient.CloseIdleConnections()
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), body, 0o644))
}

// fetch reads a path of the hub into a file: fetch PATH FILE.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: fetch PATH FILE [KEY]")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), page(ts, args[0], args[2:]...), 0o644))
}

// shows waits until a path of the hub has a text that matches: shows PATH REGEXP [KEY]. It is for work that the hub
// does after an answer.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: shows PATH REGEXP [KEY]")
	}
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	again, end := time.NewTicker(20*time.Millisecond), time.After(2*time.Minute)
	defer again.Stop()
	for {
		body := page(ts, args[0], args[2:]...)
		if want.Match(body) {
			return
		}
		select {
		case <-again.C:
		case <-end:
			ts.Fatalf("%s has no text that matches %q:\n%s", args[0], args[1], body)
		}
	}
}

// page returns the answer of the hub at a path.
func page(ts *testscript.TestScript, path string, key ...string) []byte {
	r, err := http.NewRequest(http.MethodGet, ts.Getenv("PARLEY_URL")+path, nil)
	ts.Check(err)
	for _, k := range key {
		r.Header.Set("X-Api-Key", k)
	}
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	http.DefaultClient.CloseIdleConnections()
	return body
}
