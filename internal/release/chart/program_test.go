package chart

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// binary is the program that the tests start.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "parley-chart")
	if err == nil {
		binary, err = build(dir)
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	pgtest.Exit(code)
}

// build returns the path of the program.
func build(dir string) (string, error) {
	if path := os.Getenv("PARLEY_BINARY"); path != "" {
		return path, nil
	}
	path := filepath.Join(dir, "parley")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/parley")
	cmd.Dir = filepath.FromSlash(root)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// parley runs the program and returns its output.
func parley(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("parley %s: %v\n%s%s", strings.Join(args, " "), err, out, &errors)
	}
	return string(out)
}

// process is a running program, whose log the test can wait for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the log has ended

	mu    sync.Mutex // guards the fields below
	lines []string
	news  chan struct{} // closed with each new line
}

// launch starts a command, which ends with the test.
func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, done: make(chan struct{}), news: make(chan struct{})}
	go p.read(bufio.NewScanner(log))
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = p.wait()
	})
	return p
}

// read keeps the lines of the log until the program ends.
func (p *process) read(s *bufio.Scanner) {
	defer close(p.done)
	for s.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

// wait waits for the end of the program.
func (p *process) wait() error {
	<-p.done
	return p.cmd.Wait()
}

// since returns the log from a line on, and a channel that is closed with the next line.
func (p *process) since(n int) (string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines[n:], "\n"), p.news
}

// count returns the number of lines so far.
func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// await waits for a text in the log from a line on.
func (p *process) await(ctx context.Context, t *testing.T, from int, text string) {
	t.Helper()
	for {
		log, news := p.since(from)
		if strings.Contains(log, text) {
			return
		}
		select {
		case <-news:
		case <-p.done:
			log, _ = p.since(0)
			t.Fatalf("%v ended without the record %q:\n%s", p.cmd.Args, text, log)
		case <-ctx.Done():
			t.Fatalf("%v: no record %q:\n%s", p.cmd.Args, text, log)
		}
	}
}
