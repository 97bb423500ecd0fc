// Package exampletest runs the examples as a user would: it builds the program, starts it as a
// process of its own and calls it at the address that it prints.
//
// # Guarantees
//
// A process does not outlive the test that started it. If a program ends before it has printed
// an address, the test fails with the complete output.
//
// # Non-guarantees
//
// The package observes only the output of a process. If a program neither prints an address nor
// ends, the test waits until its own time-out.
//
// # Concurrency
//
// A Process may be used by one test at a time. One goroutine reads its output, until the
// process ends.
//
// # Testing
//
// The tests of the examples are its tests.
package exampletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

// Build builds the command in dir, which is relative to the folder of the test, and returns the
// path of the program.
func Build(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, out)
	}
	return program
}

// Parley builds the command parley.
func Parley(t *testing.T) string {
	t.Helper()
	return Build(t, filepath.Join("..", "..", "cmd", "parley"))
}

// Run runs a program to its end. It returns its standard output, without surrounding white
// space, and its exit code.
func Run(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// Settings of the machine must not redirect the program.
	cmd.Env = append(os.Environ(), "PARLEY_URL=", "PARLEY_API_KEY=", "PARLEY_DATA=", "PARLEY_CONFIG=")
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("run %s: %v", program, err)
	}
	t.Logf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), cmd.ProcessState, &stdout, &stderr)
	return strings.TrimSpace(stdout.String()), cmd.ProcessState.ExitCode()
}

// Dial returns a client for the agent at url that sends key as its token, if it is not empty.
func Dial(t *testing.T, url, key string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), url, client.Options{Key: key})
	if err != nil {
		t.Fatalf("dial %s: %v", url, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the client of %s: %v", url, err)
		}
	})
	return c
}

// Say returns a request that sends text.
func Say(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// Answer returns the text of the message in the status of task, which must be completed.
func Answer(t *testing.T, task *a2a.Task) string {
	t.Helper()
	if task == nil || task.Status.State != a2a.TaskStateCompleted || task.Status.Message == nil {
		t.Fatalf("got the task %+v, want a completed one with a message", task)
	}
	var text strings.Builder
	for _, p := range task.Status.Message.Parts {
		text.WriteString(p.Text())
	}
	return text.String()
}
