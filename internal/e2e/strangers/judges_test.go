package strangers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// said is the message of each judge. The agent echo answers with it, in a chunk for each word.
const said = "one two three"

// TestAnswerIsShownOnce checks that clients of both protocol versions read the card of a default
// hub at its first address, and show the answer once and whole.
func TestAnswerIsShownOnce(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	for _, judge := range []string{"sdk03", "sdk1", "strands", "adk", "js"} {
		t.Run(judge, func(t *testing.T) {
			t.Parallel()
			shows(t, judge, h.URL())
		})
	}
}

// TestADKBesideAListener: ADK refuses the card of a hub for one interface at another port, and accepts it if
// cards name gRPC by the URL of the hub, which a listener for gRPC does not change.
func TestADKBesideAListener(t *testing.T) {
	t.Parallel()
	h := hubtest.New(t, hubtest.Options{Flags: []string{"--grpc-listen", hubtest.Addr(t)}})
	h.Configure("agents_builtin: true\ncards: {grpc_url: " + h.URL() + "}\n")
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	shows(t, "adk", h.URL())
}

// shows fails unless each call of a judge to the hub shows its message as the answer.
func shows(t *testing.T, judge, url string) {
	t.Helper()
	shown := map[string][]string{}
	out := bytes.TrimSpace(run(t, judge, command(t, judge), url))
	last := out[bytes.LastIndexByte(out, '\n')+1:] // a program may log to its output
	if err := json.Unmarshal(last, &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown) == 0 {
		t.Error("no call was made")
	}
	for call, texts := range shown {
		if got := strings.Join(texts, ""); got != said {
			t.Errorf("%s shows %q, want %q", call, texts, said)
		}
		if call == "send" && len(texts) != 1 {
			t.Errorf("%s shows %d parts, want 1", call, len(texts))
		}
	}
}

// TestContract runs the contract test that a2a-proof derives from the card.
func TestContract(t *testing.T) {
	t.Parallel()
	proof := filepath.Join(filepath.Dir(python(t, "proof")), "a2a-proof")
	h := hubtest.Start(t, hubtest.Options{})
	dir := t.TempDir()
	run(t, dir, []string{proof}, "init", h.URL())
	if out := string(run(t, dir, []string{proof}, "run")); !strings.Contains(out, "1 scenario passed") {
		t.Errorf("a2a-proof says %s", out)
	}
}

// command returns the command of a judge with its script.
func command(t *testing.T, judge string) []string {
	t.Helper()
	if judge != "js" {
		return []string{python(t, judge), "judge.py"}
	}
	return node(t, judge)
}

// node returns the command of a judge that Node runs.
func node(t *testing.T, judge string) []string {
	t.Helper()
	program := testenv.Tool(t, "node")
	testenv.Made(t, "internal/e2e/strangers/"+judge+"/node_modules")
	return []string{program, "judge.js"}
}

// python returns the path of Python in the virtual environment of a judge.
func python(t *testing.T, judge string) string {
	t.Helper()
	return filepath.Join(testenv.Made(t, "internal/e2e/strangers/"+judge+"/.venv"), "bin", "python")
}

// run runs a command in a folder and returns its standard output.
func run(t *testing.T, dir string, command []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], args...)...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, errs.String())
	}
	return out
}
