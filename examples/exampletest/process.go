package exampletest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Process is a running program.
type Process struct {
	// URL is the first address that the program has printed.
	URL string

	cmd  *exec.Cmd
	wait func() error

	mu   sync.Mutex // guards said
	said strings.Builder
}

// address matches the address that a program prints when it serves.
var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// Start starts a program in the folder of the test and waits until it has printed the address
// at which it serves. The process is killed when t ends.
func Start(t *testing.T, program string, args ...string) *Process {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd: exec.Command(program, args...)}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	err = p.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		t.Fatalf("start %s: %v", program, err)
	}
	urls := make(chan string, 1)
	var reader sync.WaitGroup
	reader.Go(func() { p.read(out, urls) })
	p.wait = sync.OnceValue(func() error {
		reader.Wait()
		return p.cmd.Wait()
	})
	t.Cleanup(p.Kill)
	if p.URL = <-urls; p.URL == "" {
		t.Fatalf("%s ended (%v) without an address:\n%s", program, p.wait(), p.Output())
	}
	return p
}

// read keeps the output of the process until it ends, and sends the first address.
func (p *Process) read(out io.ReadCloser, urls chan<- string) {
	defer out.Close()
	defer close(urls)
	found := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.said.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if url := address.FindString(lines.Text()); url != "" && !found {
			found = true
			urls <- url
		}
	}
}

// Output returns the output of the process so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// Kill ends the process as "kill -9" does, and waits for its end. It may be called again.
func (p *Process) Kill() {
	// An error means that the process has ended already.
	_ = p.cmd.Process.Kill()
	_ = p.wait()
}

// Interrupt asks the process to stop, as Ctrl-C does, and waits for its end. It returns nil if
// the exit code was 0.
func (p *Process) Interrupt() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.wait()
}
