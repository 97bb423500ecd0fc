package command

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func startCompanion(t *testing.T, c *Companion, script string) *Running {
	t.Helper()
	c.Command = []string{"/bin/sh", "-c", script}
	r, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestCompanion(t *testing.T) {
	t.Parallel()
	runs := filepath.Join(t.TempDir(), "runs")
	r := startCompanion(t, &Companion{Runs: runs, Env: []string{"WHO=me"}}, `echo "I am $WHO" >&2; cat; exit 7`)
	if _, err := io.WriteString(r, "hello\n"); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); line != "hello\n" || err != nil {
		t.Errorf("read %q, %v", line, err)
	}
	records, err := filepath.Glob(filepath.Join(runs, folderPrefix+"*", recordFile))
	if err != nil || len(records) != 1 {
		t.Fatalf("records = %v, %v, want one", records, err)
	}
	if id := readIdentity(records[0]); id.Pid != r.process.cmd.Process.Pid {
		t.Errorf("the record names process %d, want %d", id.Pid, r.process.cmd.Process.Pid)
	}
	if got := r.Ended(); got != "" {
		t.Errorf("it runs and has ended with %q", got)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := out.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("reading from an ended program: %v", err)
	}
	if got := r.Ended(); got != "exit status 7" {
		t.Errorf("it ended with %q", got)
	}
	if got := strings.TrimSpace(r.Output()); got != "I am me" {
		t.Errorf("it said %q", got)
	}
	wantEmpty(t, runs)
}

// A companion that ignores signals is killed, with its whole group.
func TestStubbornCompanion(t *testing.T) {
	t.Parallel()
	r := startCompanion(t, &Companion{Grace: 10 * time.Millisecond}, `trap "" TERM; sleep 1000 & echo $!; while :; do wait; done`)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	waitGone(t, child)
	if got := r.Ended(); got != "signal: killed" {
		t.Errorf("it ended with %q", got)
	}
}

func TestCompanionThatDoesNotStart(t *testing.T) {
	t.Parallel()
	runs := t.TempDir()
	for _, command := range [][]string{nil, {"/no/such/program"}} {
		if _, err := (&Companion{Command: command, Runs: runs}).Start(); err == nil || !strings.Contains(err.Error(), "program") {
			t.Errorf("Start(%v): %v", command, err)
		}
	}
	wantEmpty(t, runs)
	if _, err := os.Stat(runs); err != nil {
		t.Error(err)
	}
}
