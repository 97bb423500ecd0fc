package cli

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

type sdkKey struct{}

// noNap prevents commands that were built with the race detector from sleeping for a second
// before they exit.
const noNap = "atexit_sleep_ms=0"

// TestScripts runs the scripts of the commands that work with any server. $SDK is the address
// of the official SDK's server with the agents of startSDK.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			sdk := startSDK(env.Defer)
			env.Values[sdkKey{}] = sdk
			env.Setenv("SDK", sdk.url)
			env.Setenv("GORACE", noNap)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"started":    started,
			"subscribed": subscribed,
			"getenv":     getenv,
			"exits":      exits,
		},
	})
}

// started waits until an agent of the SDK's server has begun a run: started AGENT
// VAR puts the id of its task into VAR.
func started(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: started AGENT VAR")
	}
	a := ts.Value(sdkKey{}).(*sdkServer).agents[args[0]]
	if a == nil {
		ts.Fatalf("no agent %q", args[0])
	}
	ts.Setenv(args[1], string(<-a.started))
}

// subscribed waits until a client has subscribed to a task over HTTP+JSON.
func subscribed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: subscribed")
	}
	<-ts.Value(sdkKey{}).(*sdkServer).subscribed
}

// exits runs a command that must end with the given exit code: exits CODE COMMAND ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// getenv puts the first line of a file, such as stdout, into a variable, or the first
// group of a pattern in the file: getenv VAR FILE [PATTERN].
func getenv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: getenv VAR FILE [PATTERN]")
	}
	text := ts.ReadFile(args[1])
	if len(args) == 2 {
		line, _, _ := strings.Cut(text, "\n")
		ts.Setenv(args[0], line)
		return
	}
	found := regexp.MustCompile(args[2]).FindStringSubmatch(text)
	if len(found) < 2 {
		ts.Fatalf("no %s in %q", args[2], text)
	}
	ts.Setenv(args[0], found[1])
}
