package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// process is the client of a foreign SDK, in a process of its own that implements the line
// protocol of this package. It uses the SDK's own version of the protocol; spoken converts from
// and to v1.0.
type process struct {
	in io.Writer

	mu    sync.Mutex // guards the fields below, and writing to in
	last  int
	waits map[int]chan line
	// gone is closed when the process has closed its output.
	gone chan struct{}
}

// line is one line of a process's output.
type line struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Event  json.RawMessage `json:"event"`
	End    bool            `json:"end"`
	Error  *refusal        `json:"error"`
}

var errGone = errors.New("the process has ended")

// startProcess starts a program, which must end by itself when its input does.
func startProcess(t *testing.T, dir string, args []string) *process {
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
	p := &process{in: in, waits: make(map[int]chan line), gone: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { p.read(out) })
	t.Cleanup(func() {
		in.Close()
		wg.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if s := stderr.String(); s != "" && t.Failed() {
			t.Logf("%v says:\n%s", args, s)
		}
	})
	return p
}

// read passes the lines to the waiting steps.
func (p *process) read(out io.Reader) {
	defer close(p.gone)
	lines := bufio.NewReader(out)
	for {
		b, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			fmt.Fprintf(os.Stderr, "a peer prints %q: %v\n", b, err)
			_, _ = io.Copy(io.Discard, out)
			return
		}
		p.mu.Lock()
		wait := p.waits[l.ID]
		p.mu.Unlock()
		if wait != nil {
			wait <- l
		}
	}
}

// begin starts a step and returns the channel of its lines.
func (p *process) begin(c call) (id int, lines <-chan line, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	wait := make(chan line, 1000)
	p.waits[p.last] = wait
	b, err := json.Marshal(struct {
		ID int `json:"id"`
		call
	}{p.last, c})
	if err == nil {
		_, err = p.in.Write(append(b, '\n'))
	}
	return p.last, wait, err
}

func (p *process) forget(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waits, id)
}

// next waits for a line.
func (p *process) next(ctx context.Context, lines <-chan line) (line, error) {
	select {
	case l := <-lines:
		if l.Error != nil {
			return l, l.Error
		}
		return l, nil
	case <-ctx.Done():
		return line{}, context.Cause(ctx)
	case <-p.gone:
		return line{}, errGone
	}
}

func (p *process) do(ctx context.Context, c call) (json.RawMessage, error) {
	id, lines, err := p.begin(c)
	if err != nil {
		return nil, err
	}
	defer p.forget(id)
	l, err := p.next(ctx, lines)
	return l.Result, err
}

func (p *process) stream(ctx context.Context, c call) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		id, lines, err := p.begin(c)
		if err != nil {
			yield(nil, err)
			return
		}
		defer p.forget(id)
		for {
			l, err := p.next(ctx, lines)
			if err != nil {
				yield(nil, err)
				return
			}
			if l.End {
				return
			}
			if !yield(l.Event, nil) {
				p.stop(id)
				return
			}
		}
	}
}

// stop ends the client's side of a stream.
func (p *process) stop(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.in, "{\"op\":\"stop\",\"params\":%d}\n", id)
}
